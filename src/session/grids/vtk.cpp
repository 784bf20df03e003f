// SPDX-License-Identifier: BSD-3-Clause
//
// VTK's legacy files: docs/formats/vtk.md. The format itself writes what is said of the grid in text; here are the arrays.

#include "base/error.hpp"
#include "base/log.hpp"
#include "mesh/cells.hpp"
#include "session/grids/file_builder.hpp"

namespace glean::session {
namespace {

// No program's: what it calls its variables has no control characters.
constexpr char points_name[] = "points\1", cells_name[] = "cells\1", types_name[] = "types\1", along_name[] = "along\1";

class VtkConvention final : public Convention {
 public:
  [[nodiscard]] std::string flaw_of_name(std::string_view) const override { return {}; }

  void describe(Program& /*program*/, int /*grid*/) const override {}

  [[nodiscard]] Contribution contribution(const Program& program) const override {
    Contribution mine;
    add_point_types(program, mine);
    add_mesh_counts(program, mine);
    return mine;
  }

  [[nodiscard]] FileView view(Program& program, const Totals& totals, const std::optional<std::string>& time_unit) const override {
    require_what_it_holds(program, totals);
    number_meshes(program, totals);
    FileView view;
    FileBuilder file(view);
    mesh::GridDefinition grid = program.definitions().grids.front();
    std::vector<int> dimensions;
    if (grid.kind != mesh::GridKind::unstructured) {
      for (const int id : grid.dimensions) {
        const auto& along = program.definitions().dimensions[static_cast<std::size_t>(id)];
        dimensions.push_back(file.named_dimension(along.name, along.length));
      }
    }
    if (const auto* each = std::get_if<mesh::RectilinearGrid>(&program.mesh(0))) grid.coordinates = add_lines(program, *each, file);
    if (const auto* each = std::get_if<mesh::CurvilinearGrid>(&program.mesh(0))) grid.coordinates = add_points(*each, totals, file);
    if (const auto* each = std::get_if<mesh::UnstructuredMesh>(&program.mesh(0))) {
      grid.coordinates = add_mesh(*each, totals, file);
      dimensions = {file.dimension(mesh_counts(totals.all, 0).cells)};
    }
    grid.dimensions = dimensions;
    view.definitions.grids = {grid};
    view.routes.resize(program.variables().size());
    for (std::size_t v = 0; v < program.variables().size(); ++v) add_variable(program, v, view, file);
    add_title(program, view);
    if (time_unit) view.time = file.variable("TIME", mesh::Type::float64, {1});
    return view;
  }

 private:
  static void require_what_it_holds(const Program& program, const Totals& totals) {
    std::vector<std::string> problems;
    const mesh::Definitions& definitions = program.definitions();
    const std::size_t grids = definitions.grids.size();
    if (grids != 1) problems.push_back("it holds one grid, and " + std::to_string(grids) + (grids == 1 ? " is" : " are") + " defined");
    for (const mesh::GridDefinition& grid : definitions.grids) {
      if (grid.kind == mesh::GridKind::amr) problems.push_back("it holds no AMR grids: the format vtkhdf does");
      if (grid.kind == mesh::GridKind::uniform && grid.dimensions.size() > 3) problems.push_back("its grid has at most three dimensions");
    }
    if (grids == 1 && definitions.grids[0].kind == mesh::GridKind::unstructured) {
      const MeshCounts all = mesh_counts(totals.all, 0);
      if (all.points > largest_int32) {
        problems.push_back("it has 32-bit numbers of points, and the mesh has " + std::to_string(all.points) + " points");
      }
    }
    for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
      const mesh::VariableDefinition& variable = definitions.variables[v];
      if (definitions.per_step(static_cast<int>(v))) {
        problems.push_back("it holds one step, and variable '" + variable.name + "' has a record for each");
      } else if (variable.grid < 0 && variable.dimensions.size() > 2) {
        problems.push_back("variable '" + variable.name + "' is on no grid and has more than two dimensions");
      }
    }
    require_none(problems, "a legacy VTK file cannot be made", "open an output for each step and each grid; vtkhdf holds larger ones");
  }

  static std::vector<int> add_lines(const Program& program, const mesh::RectilinearGrid& grid, FileBuilder& file) {
    std::vector<int> made;
    for (std::size_t d = 0; d < grid.coordinates.size(); ++d) {
      const std::vector<double>& along = grid.coordinates[d];
      made.push_back(file.variable(along_name + std::to_string(d), mesh::Type::float64, {along.size()}));
      if (program.rank() == 0) file.put(made.back(), {{0}, {along.size()}}, mesh::Type::float64, along);
    }
    return made;
  }

  static std::vector<int> add_points(const mesh::CurvilinearGrid& grid, const Totals& totals, FileBuilder& file) {
    mesh::Shape shape;
    for (const std::uint64_t cells : grid.shape) shape.push_back(cells + 1);
    shape.push_back(3);
    const int points = file.variable(points_name, point_type(totals.least[0]), shape);
    const std::size_t size = 3 * mesh::size_of(grid.points.type);
    std::uint64_t first = 0;
    for (const mesh::Box& block : grid.blocks) {
      if (block.empty()) continue;
      const mesh::Box all = mesh::points_of(block);
      mesh::Box own = mesh::own_points_of(block, grid.shape);
      const mesh::Rows rows({mesh::Shape(all.count.size(), 0), own.count}, all.count);
      std::vector<std::byte> values;
      for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
        const auto from = grid.points.bytes.begin() + static_cast<std::ptrdiff_t>((first + rows.position(row)) * size);
        values.insert(values.end(), from, from + static_cast<std::ptrdiff_t>(rows.row_elements() * size));
      }
      own.start.push_back(0);
      own.count.push_back(3);
      file.put_bytes(points, std::move(own), grid.points.type, values);
      first += all.elements();
    }
    return {points};
  }

  static std::vector<int> add_mesh(const mesh::UnstructuredMesh& mesh, const Totals& totals, FileBuilder& file) {
    const MeshCounts before = mesh_counts(totals.before, 0), all = mesh_counts(totals.all, 0);
    const std::uint64_t points = mesh.points.count(), cells = mesh.types.size();
    const int coordinates = file.variable(points_name, point_type(totals.least[0]), {all.points, 3});
    file.put_bytes(coordinates, {{before.points, 0}, {points, 3}}, mesh.points.type, mesh.points.bytes);
    // How many points each cell has, then these.
    std::vector<std::int64_t> numbers;
    numbers.reserve(cells + mesh.connectivity.size());
    for (std::size_t c = 0; c < cells; ++c) {
      numbers.push_back(mesh.offsets[c + 1] - mesh.offsets[c]);
      for (std::int64_t i = mesh.offsets[c]; i < mesh.offsets[c + 1]; ++i) {
        numbers.push_back(mesh.connectivity[static_cast<std::size_t>(i)] + static_cast<std::int64_t>(before.points));
      }
      if (mesh.types[c] != mesh::lagrange_hexahedron_cell) continue;
      const auto count = static_cast<std::size_t>(mesh.offsets[c + 1] - mesh.offsets[c]);
      mesh::swap_lagrange_edges(std::span(numbers).last(count), *mesh::lagrange_order(count));
    }
    const int cell_points = file.variable(cells_name, mesh::Type::int32, {all.cells + all.connectivity});
    file.put(cell_points, {{before.cells + before.connectivity}, {numbers.size()}}, mesh::Type::int64, numbers);
    const int types = file.variable(types_name, mesh::Type::int32, {all.cells});
    file.put(types, {{before.cells}, {cells}}, mesh::Type::uint8, mesh.types);
    return {coordinates, cell_points, types};
  }

  static void add_variable(const Program& program, std::size_t v, FileView& view, FileBuilder& file) {
    const mesh::VariableDefinition& defined = program.definitions().variables[v];
    const mesh::Shape shape = program.definitions().shape(static_cast<int>(v));
    const int made = view.routes[v].variable = file.variable(defined.name, defined.external, shape);
    file[made].fill = defined.fill;
    file[made].grid = defined.grid;
    file[made].centring = defined.centring;
    file[made].components = defined.components;
    if (defined.grid < 0 || defined.centring == mesh::Centring::cells) return;
    const mesh::Mesh& mesh = program.mesh(0);
    if (const auto* each = std::get_if<mesh::UniformGrid>(&mesh)) {
      view.routes[v].map = own_points(made, each->blocks, each->shape, defined.components);
    } else if (const auto* each = std::get_if<mesh::RectilinearGrid>(&mesh)) {
      view.routes[v].map = own_points(made, each->blocks, each->shape(), defined.components);
    } else if (const auto* each = std::get_if<mesh::CurvilinearGrid>(&mesh)) {
      view.routes[v].map = own_points(made, each->blocks, each->shape, defined.components);
    }
  }

  // All that the format has room for.
  static void add_title(const Program& program, FileView& view) {
    std::string left_out;
    for (const mesh::Attribute& attribute : program.definitions().attributes) {
      if (attribute.changes) {
        throw base::Error(base::Errc::unsupported,
                          "attribute '" + attribute.name + "' cannot change: legacy VTK files have no attributes", "Format::vtkhdf has");
      }
      const bool is_title = attribute.variable < 0 && attribute.name == "title" && attribute.type == mesh::Type::text;
      const bool is_fill = attribute.variable >= 0 && attribute.name == "_FillValue";
      const int owner = is_fill ? view.routes[static_cast<std::size_t>(attribute.variable)].variable : -1;
      if (is_title || is_fill) view.definitions.attributes.push_back({owner, attribute.name, attribute.type, attribute.values});
      else left_out += (left_out.empty() ? "'" : ", '") + attribute.name + "'";
    }
    if (left_out.empty() || program.rank() != 0) return;
    base::log(base::LogLevel::info, "'{}': legacy VTK files have no attributes, {} left out", program.path(), left_out);
  }
};

}  // namespace

std::unique_ptr<Convention> make_vtk_convention() { return std::make_unique<VtkConvention>(); }

}  // namespace glean::session
