// SPDX-License-Identifier: BSD-3-Clause
//
// Through GLEAN: one file for each output, with the mesh that it has then. The solution is put from where the program has it, point after
// point, and a rank without cells puts nothing.
#include <glean/glean.hpp>
#include <span>
#include <stdexcept>

#include "writer.hpp"

namespace phasta {

namespace {

static_assert(sizeof(State) == 5 * sizeof(double), "puts go over the numbers of all points");

class GleanWriter final : public Writer {
 public:
  GleanWriter(MPI_Comm comm, const WriterSettings& settings) : comm_(comm), settings_(settings), session_(comm) {
    int is_same = MPI_UNEQUAL;
    MPI_Comm_compare(comm, session_.application_comm(), &is_same);
    if (is_same == MPI_UNEQUAL) throw std::runtime_error("every rank has a part here: GLEAN's mode `dedicated` cannot set one aside");
  }

  void write(const Snapshot& snapshot) override;
  void finish() override { session_.close(); }

 private:
  [[nodiscard]] glean::Grid define_mesh(glean::Output& output, const Part& part);
  [[nodiscard]] std::uint64_t points_before(std::uint64_t mine) const;

  MPI_Comm comm_;
  WriterSettings settings_;
  glean::Session session_;
  std::vector<glean::CellType> types_;
  std::vector<std::int64_t> connectivity_;
};

glean::Grid GleanWriter::define_mesh(glean::Output& output, const Part& part) {
  types_.assign(part.cells.size(), glean::CellType::tetra);
  connectivity_.clear();
  for (const auto& cell : part.cells) connectivity_.insert(connectivity_.end(), cell.begin(), cell.end());
  const double* first = part.points.empty() ? nullptr : part.points.front().data();
  return output.define_grid(glean::UnstructuredMesh{glean::Points(first, part.points.size(), 3), types_, {}, connectivity_});
}

std::uint64_t GleanWriter::points_before(std::uint64_t mine) const {
  std::uint64_t before = 0;
  MPI_Exscan(&mine, &before, 1, MPI_UINT64_T, MPI_SUM, comm_);
  int rank = 0;
  MPI_Comm_rank(comm_, &rank);
  return rank == 0 ? 0 : before;   // rank 0 is given nothing
}

void GleanWriter::write(const Snapshot& snapshot) {
  const bool is_hdf = settings_.format == FileFormat::vtkhdf;
  glean::Output output = session_.open(settings_.directory + "/" + solution_name(snapshot.step, settings_.format),
                                       is_hdf ? glean::Format::vtkhdf : glean::Format::vtk);
  output.set_time(snapshot.time);
  const glean::Grid mesh = define_mesh(output, snapshot.part);
  const auto define = [&](const char* name, int components) {
    return output.define_variable(name, glean::Type::float64, mesh, {.centring = glean::Centring::points, .components = components});
  };
  const glean::Variable pressure = define("pressure", 1), velocity = define("velocity", 3), temperature = define("temperature", 1);

  const std::uint64_t points = snapshot.solution.size(), first = points_before(points);
  output.begin_step();
  if (points != 0) {
    const State& state = snapshot.solution.front();
    const std::uint64_t start[] = {first, 0}, scalars[] = {points}, vectors[] = {points, 3};
    const std::ptrdiff_t strides[] = {5, 1};   // from one point to the next, and from x to y to z
    output.put(pressure, std::span(start, 1), scalars, &state.pressure, std::span(strides, 1));
    output.put(velocity, start, vectors, state.velocity.data(), strides);
    output.put(temperature, std::span(start, 1), scalars, &state.temperature, std::span(strides, 1));
  }
  output.end_step();
  output.close();
}

}  // namespace

std::unique_ptr<Writer> make_glean_writer(MPI_Comm comm, const WriterSettings& settings) {
  return std::make_unique<GleanWriter>(comm, settings);
}

}  // namespace phasta
