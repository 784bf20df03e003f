// SPDX-License-Identifier: BSD-3-Clause
//
// Through GLEAN: the mesh and the fields are put, and the program goes on. No rank sends anything to another one, and none knows where in a
// file its elements come to lie.
#include <glean/glean.hpp>
#include <span>
#include <stdexcept>

#include "writer.hpp"

namespace nekcem {

namespace {

// What this rank has of the mesh, which does not change.
struct CellList {
  std::vector<float> points;   // x, y, z, as NekCEM writes them
  std::vector<glean::CellType> types;
  std::vector<std::int64_t> offsets;        // empty where all cells have eight points
  std::vector<std::int64_t> connectivity;
};

void add_lagrange_cells(const Mesh& mesh, CellList& list) {
  const std::size_t elements = mesh.local_elements(), each = mesh.points_per_element(), n = mesh.points_along();
  list.types.assign(elements, glean::CellType::lagrange_hexahedron);
  list.connectivity.resize(elements * each);
  for (std::size_t element = 0; element <= elements; ++element) list.offsets.push_back(static_cast<std::int64_t>(element * each));
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t place = glean::lagrange_hexahedron_point(i, j, k, n - 1), point = mesh.point(i, j, k);
        for (std::size_t first = 0; first < list.connectivity.size(); first += each) {
          list.connectivity[first + place] = static_cast<std::int64_t>(first + point);
        }
      }
    }
  }
}

CellList cells_of(const Mesh& mesh, Cells shape) {
  CellList list;
  list.points.reserve(3 * mesh.local_elements() * mesh.points_per_element());
  mesh.for_points([&](std::size_t, double x, double y, double z) {
    for (const double at : {x, y, z}) list.points.push_back(static_cast<float>(at));
  });
  if (shape == Cells::lagrange) {
    add_lagrange_cells(mesh, list);
    return list;
  }
  mesh.for_hexahedra([&](const std::array<std::size_t, 8>& corners) {
    list.connectivity.insert(list.connectivity.end(), corners.begin(), corners.end());
  });
  list.types.assign(list.connectivity.size() / 8, glean::CellType::hexahedron);
  return list;
}

class GleanWriter final : public Writer {
 public:
  GleanWriter(MPI_Comm comm, const WriterSettings& settings) : settings_(settings), session_(comm) {
    int is_same = MPI_UNEQUAL;
    MPI_Comm_compare(comm, session_.application_comm(), &is_same);
    if (is_same == MPI_UNEQUAL) throw std::runtime_error("every rank has elements here: GLEAN's mode `dedicated` cannot set one aside");
    MPI_Comm node;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int rank = 0;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    has_drain_threads_ = rank == 0;
  }

  void write(const Snapshot& snapshot) override;
  void finish() override { session_.close(); }
  // GLEAN's report has these times: the files are written when this rank does not look.
  [[nodiscard]] const std::vector<FileTime>& file_times() const override { return times_; }
  [[nodiscard]] bool writes_files() const override { return has_drain_threads_; }
  [[nodiscard]] std::int64_t output_bytes(const Snapshot& snapshot) const override;

 private:
  WriterSettings settings_;
  glean::Session session_;
  bool has_drain_threads_ = false;   // unless settings of GLEAN have another process drain
  CellList cells_;                   // made for the first output
  std::vector<float> vectors_;
  std::vector<FileTime> times_;
};

void GleanWriter::write(const Snapshot& snapshot) {
  if (cells_.points.empty()) cells_ = cells_of(snapshot.mesh, settings_.cells);
  const bool is_hdf = settings_.format == FileFormat::vtkhdf;
  const std::string path = settings_.directory + "/" + file_name(settings_.way, 1, snapshot.number, 0) + (is_hdf ? "hdf" : "");
  glean::Output output = session_.open(path, is_hdf ? glean::Format::vtkhdf : glean::Format::vtk);
  output.define_attribute("title", title_of(snapshot));
  output.set_time(snapshot.time);
  const glean::Grid grid = output.define_grid(glean::UnstructuredMesh{cells_.points, cells_.types, cells_.offsets, cells_.connectivity});
  std::vector<glean::Variable> variables;
  for (const Snapshot::Vectors& field : snapshot.fields) {
    const std::string name = field.name.substr(0, field.name.find(' '));   // NekCEM fills names up with blanks
    variables.push_back(output.define_variable(name, glean::Type::float32, grid, {.centring = glean::Centring::points, .components = 3}));
  }
  output.begin_step();
  for (std::size_t f = 0; f < variables.size(); ++f) {
    const Snapshot::Vectors& field = snapshot.fields[f];
    vectors_.resize(3 * field.x->size());
    for (std::size_t i = 0; i < field.x->size(); ++i) {
      vectors_[3 * i] = static_cast<float>((*field.x)[i]);
      vectors_[3 * i + 1] = static_cast<float>((*field.y)[i]);
      vectors_[3 * i + 2] = static_cast<float>((*field.z)[i]);
    }
    output.put(variables[f], vectors_);
  }
  output.end_step();
  output.close();
}

// Of the arrays: text and gaps are less than a thousandth.
std::int64_t GleanWriter::output_bytes(const Snapshot& snapshot) const {
  const Mesh& mesh = snapshot.mesh;
  const auto each = static_cast<std::int64_t>(mesh.points_per_element()), order = static_cast<std::int64_t>(mesh.box().order);
  const bool is_lagrange = settings_.cells == Cells::lagrange;
  const std::int64_t points = mesh.elements() * each, cells = mesh.elements() * (is_lagrange ? 1 : order * order * order);
  const std::int64_t points_of_cells = cells * (is_lagrange ? each : 8);
  const std::int64_t of_cells = settings_.format == FileFormat::vtk ? 4 * (points_of_cells + 2 * cells) : 8 * points_of_cells + 9 * cells;
  return points * 12 * (1 + static_cast<std::int64_t>(snapshot.fields.size())) + of_cells;
}

}  // namespace

std::unique_ptr<Writer> make_glean_writer(MPI_Comm comm, const WriterSettings& settings) {
  return std::make_unique<GleanWriter>(comm, settings);
}

}  // namespace nekcem
