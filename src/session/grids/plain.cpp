// SPDX-License-Identifier: BSD-3-Clause
//
// Files of arrays, NetCDF above all: what the program defines is what is in the file, with coordinates beside it (docs/meshes.md).
#include <algorithm>
#include <cstring>
#include <set>

#include "session/grids/file_builder.hpp"

namespace glean::session {
namespace {

// What a grid adds to the variables of the program, and what of it this rank puts.
class PlainView {
 public:
  PlainView(Program& program, const Totals& totals, FormatLimits limits, FileView& view)
      : program_(program), totals_(totals), limits_(limits), view_(view), file_(view) {}

  void add_grids() {
    std::size_t point_list = 0, mesh = 0;
    for (int g = 0; g < static_cast<int>(program_.definitions().grids.size()); ++g) {
      switch (program_.definitions().grids[static_cast<std::size_t>(g)].kind) {
        case mesh::GridKind::rectilinear: add_rectilinear(g); break;
        case mesh::GridKind::curvilinear: add_curvilinear(g, point_type(totals_.least[point_list++])); break;
        case mesh::GridKind::unstructured: add_mesh(g, point_type(totals_.least[point_list++]), mesh++); break;
        case mesh::GridKind::uniform: add_point_coordinates(g); break;
        case mesh::GridKind::amr: break;
      }
    }
  }

 private:
  [[nodiscard]] const mesh::GridDefinition& grid(int id) const { return program_.definitions().grids[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const mesh::DimensionDefinition& dimension(int id) const {
    return view_.definitions.dimensions[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] mesh::Type integers(std::uint64_t largest) const {
    return limits_.has_64_bit_integers && largest > largest_int32 ? mesh::Type::int64 : mesh::Type::int32;
  }

  // Variables along one dimension, which rank 0 puts.
  int add_line(const std::string& name, std::vector<int> dimensions, const std::vector<double>& values) {
    const int variable = file_.variable_over(name, mesh::Type::float64, std::move(dimensions));
    const mesh::Shape shape = view_.definitions.shape(variable);
    if (program_.rank() == 0) file_.put(variable, mesh::whole(shape), mesh::Type::float64, values);
    return variable;
  }

  // Where a variable is on the points along a dimension, these have coordinates.
  void add_points_along(int cells, const std::vector<double>& points) {
    const std::string name = dimension(cells).name + "_points";
    const auto& known = view_.definitions.dimensions;
    const std::uint64_t length = dimension(cells).length + 1;   // another of that name is the program's own
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.name == name && each.length == length; });
    if (found != known.end()) add_line(name, {static_cast<int>(found - known.begin())}, points);
  }

  void add_point_coordinates(int g) {
    const auto& uniform = std::get<mesh::UniformGrid>(program_.mesh(g));
    for (std::size_t d = 0; d < uniform.shape.size(); ++d) {
      std::vector<double> points;
      for (std::uint64_t i = 0; program_.rank() == 0 && i <= uniform.shape[d]; ++i) {
        points.push_back(uniform.origin[d] + static_cast<double>(i) * uniform.spacing[d]);
      }
      add_points_along(grid(g).dimensions[d], points);
    }
  }

  // Centres of cells, with their bounds as CF has them.
  void add_rectilinear(int g) {
    const auto& rectilinear = std::get<mesh::RectilinearGrid>(program_.mesh(g));
    const int two = two_ends();
    for (std::size_t d = 0; d < rectilinear.coordinates.size(); ++d) {
      const std::vector<double>& points = rectilinear.coordinates[d];
      std::vector<double> centres, bounds;
      for (std::size_t i = 0; i + 1 < points.size(); ++i) {
        centres.push_back(0.5 * (points[i] + points[i + 1]));
        bounds.insert(bounds.end(), {points[i], points[i + 1]});
      }
      const int along = grid(g).dimensions[d];
      const std::string name = dimension(along).name;
      const int centre = add_line(name, {along}, centres);
      file_.attribute(centre, "bounds", name + "_bounds");
      view_.definitions.grids[static_cast<std::size_t>(g)].coordinates.push_back(add_line(name + "_bounds", {along, two}, bounds));
      add_points_along(along, points);
    }
  }

  int two_ends() {
    const auto& known = view_.definitions.dimensions;
    const auto found = std::find_if(known.begin(), known.end(), [](const auto& each) { return each.name == "bounds" && each.length == 2; });
    return found != known.end() ? static_cast<int>(found - known.begin()) : file_.named_dimension("bounds", 2);
  }

  // x, y, z of the points as three variables. Of cells: the mean of their corners.
  void add_curvilinear(int g, mesh::Type type) {
    const auto& curvilinear = std::get<mesh::CurvilinearGrid>(program_.mesh(g));
    const std::vector<int> cells = grid(g).dimensions;
    std::vector<int> points;
    for (const int id : cells) {
      const std::string name = dimension(id).name + "_points";
      const std::uint64_t length = dimension(id).length + 1;
      const auto& known = view_.definitions.dimensions;
      const auto found =
          std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.name == name && each.length == length; });
      points.push_back(found != known.end() ? static_cast<int>(found - known.begin()) : file_.named_dimension(name, length));
    }
    for (int c = 0; c < 3; ++c) {
      const std::string name(1, "xyz"[c]);
      const int at_points = file_.variable_over(name + "_points", type, points), at_centres = file_.variable_over(name, type, cells);
      std::uint64_t first = 0;
      for (const mesh::Box& block : curvilinear.blocks) {
        if (!block.empty()) first += put_block(curvilinear, block, first, c, at_points, at_centres);
      }
      view_.definitions.grids[static_cast<std::size_t>(g)].coordinates.push_back(at_points);
    }
    name_coordinates(g, "z y x", "z_points y_points x_points");
  }

  // Returns how many points the block has.
  std::uint64_t put_block(const mesh::CurvilinearGrid& curvilinear, const mesh::Box& block, std::uint64_t first, int component,
                          int at_points, int at_centres) {
    const mesh::Box all = mesh::points_of(block), own = mesh::own_points_of(block, curvilinear.shape);
    mesh::Shape strides(all.count.size(), 1);   // among the points of the block
    for (std::size_t d = strides.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * all.count[d];
    std::vector<std::uint64_t> corners{0};
    for (const std::uint64_t stride : strides) {
      for (std::size_t c = corners.size(); c-- > 0;) corners.push_back(corners[c] + stride);
    }
    std::vector<double> points, centres;
    points.reserve(own.elements());
    centres.reserve(block.elements());
    for_each(own.count, strides, [&](std::uint64_t position) { points.push_back(curvilinear.points.at(first + position, component)); });
    for_each(block.count, strides, [&](std::uint64_t position) {
      double sum = 0;
      for (const std::uint64_t corner : corners) sum += curvilinear.points.at(first + position + corner, component);
      centres.push_back(sum / static_cast<double>(corners.size()));
    });
    file_.put(at_points, own, mesh::Type::float64, points);
    file_.put(at_centres, block, mesh::Type::float64, centres);
    return all.elements();
  }

  // Calls visit(position) for each index below `count`, row-major.
  template <class Visit>
  static void for_each(const mesh::Shape& count, const mesh::Shape& strides, Visit visit) {
    mesh::Shape at(count.size(), 0);
    std::uint64_t position = 0;
    for (std::uint64_t left = mesh::elements_of(count); left > 0; --left) {
      visit(position);
      for (std::size_t d = at.size(); d-- > 0;) {
        position += strides[d];
        if (++at[d] < count[d]) break;
        position -= at[d] * strides[d];
        at[d] = 0;
      }
    }
  }

  void name_coordinates(int g, const char* of_cells, const char* of_points) {
    for (std::size_t v = 0; v < program_.variables().size(); ++v) {
      const mesh::VariableDefinition& variable = program_.definitions().variables[v];
      if (variable.grid != g) continue;
      file_.attribute(static_cast<int>(v), "coordinates", variable.centring == mesh::Centring::points ? of_points : of_cells);
    }
  }

  // As UGRID names things, with cells of any shape: their points are a list with offsets.
  void add_mesh(int g, mesh::Type type, std::size_t index) {
    const auto& mesh = std::get<mesh::UnstructuredMesh>(program_.mesh(g));
    const MeshCounts before = mesh_counts(totals_.before, index), all = mesh_counts(totals_.all, index);
    if (!limits_.has_empty_dimensions && (all.cells == 0 || all.points == 0)) {
      throw base::Error(base::Errc::invalid_argument, "the mesh of all ranks together has no cells, and NetCDF has no empty dimensions",
                        "the formats hdf5, vtkhdf and vtk have empty meshes");
    }
    const int cells = grid(g).dimensions.front(), points = program_.points_dimension_of_mesh(g);
    const int ends = file_.named_dimension("cell_offsets", all.cells + 1), ids = file_.named_dimension("cell_points", all.connectivity);
    const int topology = file_.variable_over("mesh", mesh::Type::int32, {});
    file_.attribute(topology, "cf_role", "mesh_topology");
    file_.attribute(topology, "node_coordinates", "mesh_x mesh_y mesh_z");
    file_.attribute(topology, "cell_types", "mesh_types");
    file_.attribute(topology, "cell_offsets", "mesh_offsets");
    file_.attribute(topology, "cell_connectivity", "mesh_connectivity");
    if (program_.rank() == 0) file_.put(topology, mesh::Box{}, mesh::Type::int32, std::vector<std::int32_t>{0});
    std::vector<int> coordinates;
    const std::size_t size = mesh::size_of(mesh.points.type);
    for (int c = 0; c < 3; ++c) {
      coordinates.push_back(file_.variable_over(std::string("mesh_") + "xyz"[c], type, {points}));
      std::vector<std::byte> along(mesh.points.count() * size);
      for (std::uint64_t p = 0; p < mesh.points.count(); ++p) {
        std::memcpy(along.data() + p * size, mesh.points.bytes.data() + (3 * p + static_cast<std::uint64_t>(c)) * size, size);
      }
      file_.put_bytes(coordinates.back(), {{before.points}, {mesh.points.count()}}, mesh.points.type, along);
    }
    add_cells(mesh, before, all, {cells, ends, ids}, coordinates);
    view_.definitions.grids[static_cast<std::size_t>(g)].coordinates = coordinates;
    for (std::size_t v = 0; v < program_.variables().size(); ++v) {
      const mesh::VariableDefinition& variable = program_.definitions().variables[v];
      if (variable.grid != g) continue;
      file_.attribute(static_cast<int>(v), "mesh", "mesh");
      file_.attribute(static_cast<int>(v), "location", variable.centring == mesh::Centring::points ? "node" : "cell");
    }
  }

  struct CellDimensions {
    int cells, ends, ids;
  };
  void add_cells(const mesh::UnstructuredMesh& mesh, const MeshCounts& before, const MeshCounts& all, CellDimensions dimensions,
                 std::vector<int>& coordinates) {
    const std::uint64_t cells = mesh.types.size();
    const int types = file_.variable_over("mesh_types", mesh::Type::int8, {dimensions.cells});   // VTK's numbers, all below 127
    file_.put(types, {{before.cells}, {cells}}, mesh::Type::uint8, mesh.types);
    const std::uint64_t largest = std::max(all.points, all.connectivity);
    if (!limits_.has_64_bit_integers && largest > largest_int32) {
      throw base::Error(base::Errc::invalid_argument, "the mesh has more than 2^31 - 1 points or points of cells, and the format has no "
                        "numbers for them", "cdf5, hdf5 and vtkhdf have 64-bit integers");
    }
    const int offsets = file_.variable_over("mesh_offsets", integers(largest), {dimensions.ends});
    std::vector<std::int64_t> begins, ids;
    for (std::size_t c = 0; c < cells; ++c) begins.push_back(mesh.offsets[c] + static_cast<std::int64_t>(before.connectivity));
    for (const std::int64_t point : mesh.connectivity) ids.push_back(point + static_cast<std::int64_t>(before.points));
    file_.put(offsets, {{before.cells}, {cells}}, mesh::Type::int64, begins);
    if (program_.rank() == 0) {
      file_.put(offsets, {{all.cells}, {1}}, mesh::Type::int64, std::vector<std::int64_t>{static_cast<std::int64_t>(all.connectivity)});
    }
    const int connectivity = file_.variable_over("mesh_connectivity", integers(largest), {dimensions.ids});
    file_.attribute(connectivity, "start_index", mesh::Type::int32, std::vector<std::int32_t>{0});
    file_.put(connectivity, {{before.connectivity}, {mesh.connectivity.size()}}, mesh::Type::int64, ids);
    coordinates.insert(coordinates.end(), {connectivity, offsets, types});
  }

  Program& program_;
  const Totals& totals_;
  FormatLimits limits_;
  FileView& view_;
  FileBuilder file_;
};

class PlainConvention final : public Convention {
 public:
  explicit PlainConvention(FormatLimits limits) : limits_(limits) {}

  [[nodiscard]] std::string flaw_of_name(std::string_view) const override { return {}; }

  void describe(Program& program, int grid) const override {
    if (const auto* uniform = std::get_if<mesh::UniformGrid>(&program.mesh(grid))) describe_uniform(program, grid, *uniform);
    if (const auto* amr = std::get_if<mesh::AmrGrid>(&program.mesh(grid))) describe_amr(program, grid, *amr);
  }

  [[nodiscard]] Contribution contribution(const Program& program) const override {
    Contribution mine;
    add_point_types(program, mine);
    add_mesh_counts(program, mine);
    return mine;
  }

  [[nodiscard]] FileView view(Program& program, const Totals& totals, const std::optional<std::string>& time_unit) const override {
    number_meshes(program, totals);
    FileView view;
    view.definitions = program.definitions();
    for (std::size_t v = 0; v < program.variables().size(); ++v) {
      const mesh::VariableDefinition& variable = program.definitions().variables[v];
      FileView::Route& route = view.routes.emplace_back();
      route.variable = static_cast<int>(v);
      if (variable.grid >= 0 && variable.centring == mesh::Centring::points) {
        route.map = map_of_points(route.variable, program.mesh(variable.grid), variable.components);
      }
      view.blocks.push_back(program.variables()[v].blocks);
    }
    for (Program::Coordinates& coordinates : program.coordinates()) {
      std::size_t at = 0;
      const mesh::Type type = program.definitions().variables[static_cast<std::size_t>(coordinates.variable)].external;
      for (const mesh::Box& block : program.variables()[static_cast<std::size_t>(coordinates.variable)].blocks) {
        const std::size_t bytes = block.elements() * mesh::size_of(type);
        const auto from = coordinates.values.begin() + static_cast<std::ptrdiff_t>(at);
        view.first_puts.push_back({coordinates.variable, block, type, {from, from + static_cast<std::ptrdiff_t>(bytes)}});
        at += bytes;
      }
    }
    PlainView(program, totals, limits_, view).add_grids();
    if (time_unit) add_time(program, view, *time_unit);
    require_names_apart(view);
    return view;
  }

 private:
  static void describe_uniform(Program& program, int grid, const mesh::UniformGrid& uniform) {
    const std::vector<int> dimensions = program.definitions().grids[static_cast<std::size_t>(grid)].dimensions;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      // Rank 0 puts the coordinates.
      std::vector<double> centres(program.rank() == 0 ? uniform.shape[d] : 0);
      for (std::size_t i = 0; i < centres.size(); ++i) centres[i] = uniform.origin[d] + (static_cast<double>(i) + 0.5) * uniform.spacing[d];
      const std::string name = program.definitions().dimensions[static_cast<std::size_t>(dimensions[d])].name;
      const int made = program.add_coordinates<double>(name, std::span(&dimensions[d], 1), {{0}, {centres.size()}}, centres);
      program.definitions().grids[static_cast<std::size_t>(grid)].coordinates.push_back(made);
    }
  }

  static void describe_amr(Program& program, int grid, const mesh::AmrGrid& amr) {
    std::vector<std::int32_t> levels, parents;
    std::vector<double> bounds;
    for (const mesh::AmrBlock& block : amr.blocks) {
      levels.push_back(block.level);
      parents.push_back(static_cast<std::int32_t>(block.parent));
      for (std::size_t d = 0; d < block.lower.size(); ++d) bounds.insert(bounds.end(), {block.lower[d], block.upper[d]});
    }
    const std::uint64_t dimensions = amr.cells_per_block.size(), mine = amr.blocks.size();
    const int blocks = program.definitions().grids[static_cast<std::size_t>(grid)].dimensions.front();
    const int of_bounds[] = {blocks, program.define_dimension("ndim", dimensions, false), program.define_dimension("lo_hi", 2, false)};
    const mesh::Box per_block{{amr.first_block}, {mine}};
    std::vector<int> made = {
        program.add_coordinates<std::int32_t>("lrefine", std::span(&blocks, 1), per_block, levels),
        program.add_coordinates<std::int32_t>("parent", std::span(&blocks, 1), per_block, parents),
        program.add_coordinates<double>("bndbox", of_bounds, {{amr.first_block, 0, 0}, {mine, dimensions, 2}}, bounds)};
    program.definitions().grids[static_cast<std::size_t>(grid)].coordinates = std::move(made);
  }

  [[nodiscard]] static std::unique_ptr<PutMap> map_of_points(int variable, const mesh::Mesh& mesh, std::uint32_t components) {
    if (const auto* each = std::get_if<mesh::UniformGrid>(&mesh)) return own_points(variable, each->blocks, each->shape, components);
    if (const auto* each = std::get_if<mesh::RectilinearGrid>(&mesh)) return own_points(variable, each->blocks, each->shape(), components);
    if (const auto* each = std::get_if<mesh::CurvilinearGrid>(&mesh)) return own_points(variable, each->blocks, each->shape, components);
    return nullptr;   // each block, or rank, has its own
  }

  // The coordinate of the unlimited dimension, or a single number.
  static void add_time(const Program& program, FileView& view, const std::string& unit) {
    FileBuilder file(view);
    const int unlimited = program.unlimited_dimension();
    const std::string name = unlimited < 0 ? "time" : program.definitions().dimensions[static_cast<std::size_t>(unlimited)].name;
    view.time = file.variable_over(name, mesh::Type::float64, unlimited < 0 ? std::vector<int>{} : std::vector<int>{unlimited});
    if (program.rank() == 0) view.blocks.back().push_back({});
    if (!unit.empty()) file.attribute(view.time, "units", unit);
    if (unlimited >= 0) file.attribute(view.time, "axis", "T");
  }

  static void require_names_apart(const FileView& view) {
    std::set<std::string> variables, dimensions;
    std::vector<std::string> problems;
    for (const auto& variable : view.definitions.variables) {
      if (!variables.insert(variable.name).second) problems.push_back("there are two variables '" + variable.name + "'");
    }
    for (const auto& dimension : view.definitions.dimensions) {
      if (!dimensions.insert(dimension.name).second) problems.push_back("there are two dimensions '" + dimension.name + "'");
    }
    require_none(problems, "what a grid or the time is called has a name that is taken", "give variables and dimensions other names");
  }

  FormatLimits limits_;
};

}  // namespace

std::unique_ptr<Convention> make_plain_convention(FormatLimits limits) { return std::make_unique<PlainConvention>(limits); }

}  // namespace glean::session
