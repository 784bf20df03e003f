// SPDX-License-Identifier: BSD-3-Clause
//
// VTK's HDF5 files: docs/formats/vtkhdf.md.
#include "session/grids/vtkhdf.hpp"

#include <algorithm>
#include <numeric>

namespace glean::session {
namespace {

// Three numbers, x first, of an array that has the slowest dimension first.
std::vector<double> xyz_of(const std::vector<double>& slowest_first, double otherwise) {
  std::vector<double> xyz(slowest_first.rbegin(), slowest_first.rend());
  xyz.resize(3, otherwise);
  return xyz;
}

class VtkhdfConvention final : public Convention {
 public:
  [[nodiscard]] std::string flaw_of_name(std::string_view name) const override {
    return name.find('/') != name.npos ? "VTK has no groups of variables: it has a slash" : "";
  }

  void describe(Program& /*program*/, int /*grid*/) const override {}

  [[nodiscard]] Contribution contribution(const Program& program) const override {
    Contribution mine;
    add_point_types(program, mine);
    add_mesh_counts(program, mine);
    if (const auto* amr = the_amr_grid(program)) add_amr_levels(*amr, mine);
    return mine;
  }

  [[nodiscard]] FileView view(Program& program, const Totals& totals, const std::optional<std::string>& time_unit) const override {
    require_what_it_holds(program);
    number_meshes(program, totals);
    FileView view;
    FileBuilder file(view);
    view.definitions.grids = program.definitions().grids;
    view.definitions.grids.front().dimensions.clear();
    view.routes.resize(program.variables().size());
    switch (program.definitions().grids.front().kind) {
      case mesh::GridKind::uniform: describe_image(program, file); break;
      case mesh::GridKind::unstructured: describe_mesh(program, totals, view, file); break;
      default: describe_amr(program, totals, view, file); break;
    }
    add_vtkhdf_groups(file, "");
    add_variables(program, view, file);
    add_attributes(program, view);
    if (is_series(program.definitions())) {
      add_steps(program, view, file);
    } else if (time_unit) {
      view.time = file.variable("VTKHDF/FieldData/TimeValue", mesh::Type::float64, {1});
    }
    if (time_unit && !time_unit->empty()) file.attribute(view.time, "units", *time_unit);
    return view;
  }

 private:
  [[nodiscard]] static const mesh::AmrGrid* the_amr_grid(const Program& program) {
    return program.definitions().grids.size() == 1 ? std::get_if<mesh::AmrGrid>(&program.mesh(0)) : nullptr;
  }

  static void require_what_it_holds(const Program& program) {
    std::vector<std::string> problems;
    const mesh::Definitions& definitions = program.definitions();
    const std::size_t grids = definitions.grids.size();
    if (grids != 1) problems.push_back("it holds one grid, and " + std::to_string(grids) + (grids == 1 ? " is" : " are") + " defined");
    for (const mesh::GridDefinition& grid : definitions.grids) {
      if (grid.kind == mesh::GridKind::rectilinear || grid.kind == mesh::GridKind::curvilinear) {
        problems.push_back("readers of VTKHDF do not know rectilinear and curvilinear grids: the format vtk has them");
      }
      if (grid.kind == mesh::GridKind::uniform && grid.dimensions.size() > 3) problems.push_back("its grid has at most three dimensions");
    }
    for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
      const mesh::VariableDefinition& variable = definitions.variables[v];
      const bool per_step = definitions.per_step(static_cast<int>(v));
      if (per_step && !may_be_series(definitions)) {
        problems.push_back("of this grid it holds one step, and variable '" + variable.name + "' has a record for each");
      } else if (per_step && variable.grid < 0) {
        problems.push_back("variable '" + variable.name + "' has records and is on no grid");
      } else if (!per_step && variable.grid >= 0 && may_be_series(definitions) && is_series(definitions)) {
        problems.push_back("variable '" + variable.name + "' has no records, and others on the grid have");
      } else if (variable.grid < 0 && variable.dimensions.size() > 2) {
        problems.push_back("variable '" + variable.name + "' is on no grid and has more than two dimensions");
      }
      if (variable.external == mesh::Type::text) problems.push_back("VTK does not read text: variable '" + variable.name + "'");
    }
    require_none(problems, "a VTKHDF file cannot be made", "open an output for each step, and for each grid");
  }

  // Old readers get the data of a single step only; those of version 2 get all.
  [[nodiscard]] static bool may_be_series(const mesh::Definitions& definitions) {
    return definitions.grids.size() == 1 && definitions.grids[0].kind == mesh::GridKind::uniform;
  }
  [[nodiscard]] static bool is_series(const mesh::Definitions& definitions) {
    for (int v = 0; v < static_cast<int>(definitions.variables.size()); ++v) {
      if (definitions.per_step(v)) return true;
    }
    return false;
  }

  static void add_type(FileBuilder& file, std::string_view type, std::int64_t version = 1) {
    file.attribute(-1, "VTKHDF/Version", mesh::Type::int64, std::vector<std::int64_t>{version, 0});
    file.attribute(-1, "VTKHDF/Type", type);
  }

  static void describe_image(const Program& program, FileBuilder& file) {
    const auto& grid = std::get<mesh::UniformGrid>(program.mesh(0));
    add_type(file, "ImageData", is_series(program.definitions()) ? 2 : 1);
    std::vector<std::int64_t> extent(6, 0);
    for (std::size_t d = 0; d < grid.shape.size(); ++d) {
      extent[2 * (grid.shape.size() - 1 - d) + 1] = static_cast<std::int64_t>(grid.shape[d]);
    }
    file.attribute(-1, "VTKHDF/WholeExtent", mesh::Type::int64, extent);
    file.attribute(-1, "VTKHDF/Origin", mesh::Type::float64, xyz_of(grid.origin, 0));
    file.attribute(-1, "VTKHDF/Spacing", mesh::Type::float64, xyz_of(grid.spacing, 1));
    file.attribute(-1, "VTKHDF/Direction", mesh::Type::float64, std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  }

  // A rank that has points or cells is a part, and the first is one if no rank has any: readers want at least one.
  static void describe_mesh(const Program& program, const Totals& totals, FileView& view, FileBuilder& file) {
    add_type(file, "UnstructuredGrid");
    const auto& mesh = std::get<mesh::UnstructuredMesh>(program.mesh(0));
    const MeshCounts before = mesh_counts(totals.before, 0), all = mesh_counts(totals.all, 0);
    const std::uint64_t parts = std::max<std::uint64_t>(all.parts, 1);
    const std::uint64_t cells = mesh.types.size(), points = mesh.points.count(), ids = mesh.connectivity.size();
    const bool is_part = cells + points != 0 || (all.parts == 0 && program.rank() == 0);
    const auto counts = [&](const char* name, std::uint64_t mine) {
      const int variable = file.variable(std::string(vtkhdf_root) + name, mesh::Type::int64, {parts});
      if (is_part) file.put(variable, {{before.parts}, {1}}, mesh::Type::uint64, std::vector<std::uint64_t>{mine});
    };
    counts("NumberOfPoints", points);
    counts("NumberOfCells", cells);
    counts("NumberOfConnectivityIds", ids);
    const int coordinates = file.variable("VTKHDF/Points", point_type(totals.least[0]), {all.points, 3});
    file.put_bytes(coordinates, {{before.points, 0}, {points, 3}}, mesh.points.type, mesh.points.bytes);
    const int connectivity = file.variable("VTKHDF/Connectivity", mesh::Type::int64, {all.connectivity});
    file.put(connectivity, {{before.connectivity}, {ids}}, mesh::Type::int64, mesh.connectivity);
    const int offsets = file.variable("VTKHDF/Offsets", mesh::Type::int64, {all.cells + parts});
    if (is_part) file.put(offsets, {{before.cells + before.parts}, {cells + 1}}, mesh::Type::int64, mesh.offsets);
    const int types = file.variable("VTKHDF/Types", mesh::Type::uint8, {all.cells});
    file.put(types, {{before.cells}, {cells}}, mesh::Type::uint8, mesh.types);
    view.definitions.grids.front().coordinates = {coordinates, connectivity, offsets, types};
  }

  // A record of each array is a step: where it begins is its number.
  static void add_steps(const Program& program, FileView& view, FileBuilder& file) {
    file.counting_attribute("VTKHDF/Steps/NSteps");
    view.time = file.record_variable("VTKHDF/Steps/Values", mesh::Type::float64, {});
    for (const mesh::VariableDefinition& variable : program.definitions().variables) {
      if (variable.grid < 0) continue;
      const std::string group = variable.centring == mesh::Centring::points ? "PointDataOffsets/" : "CellDataOffsets/";
      view.record_numbers.push_back(file.record_variable("VTKHDF/Steps/" + group + variable.name, mesh::Type::int64, {}));
    }
    for (const char* group : {"CellDataOffsets/", "PointDataOffsets/"}) file.attribute(-1, std::string("VTKHDF/Steps/") + group, "");
  }

  static void describe_amr(const Program& program, const Totals& totals, FileView& view, FileBuilder& file) {
    add_type(file, "OverlappingAMR");
    view_amr(program, totals, view);
  }

  // What is on no grid is field data: a list, or one of tuples. In a series readers want to know where each step of it begins: there it is
  // a dataset that they do not look at.
  static void add_variables(const Program& program, FileView& view, FileBuilder& file) {
    const mesh::Definitions& definitions = program.definitions();
    for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
      const mesh::VariableDefinition& defined = definitions.variables[v];
      if (view.routes[v].map) continue;   // of an AMR grid: it is there
      const mesh::Shape shape = definitions.shape(static_cast<int>(v));
      const std::string group = defined.grid >= 0         ? vtkhdf_group("", defined.centring)
                                : is_series(definitions) ? std::string()
                                                         : std::string(vtkhdf_root) + "FieldData/";
      const bool per_step = definitions.per_step(static_cast<int>(v));
      const int made = per_step ? file.record_variable(group + defined.name, defined.external, shape)
                                : file.variable(group + defined.name, defined.external, shape);
      view.routes[v].variable = made;
      file[made].fill = defined.fill;
      file[made].grid = defined.grid;
      file[made].centring = defined.centring;
      file[made].components = defined.components;
      const auto* image = std::get_if<mesh::UniformGrid>(&program.mesh(0));
      if (image == nullptr || defined.grid < 0 || defined.centring == mesh::Centring::cells) continue;
      view.routes[v].map = own_points(made, image->blocks, image->shape, defined.components);
    }
  }

  static void add_attributes(const Program& program, FileView& view) {
    for (const mesh::Attribute& attribute : program.definitions().attributes) {
      std::vector<int> owners{-1};
      if (attribute.variable >= 0) {
        owners.clear();
        const FileView::Route& route = view.routes[static_cast<std::size_t>(attribute.variable)];
        if (route.variable >= 0) owners.push_back(route.variable);
        for (std::size_t f = 0; route.variable < 0 && f < view.level_of.size(); ++f) {
          if (view.level_of[f] == attribute.variable) owners.push_back(static_cast<int>(f));
        }
      }
      for (const int owner : owners) {
        mesh::Attribute& added = view.definitions.attributes.emplace_back(attribute);
        added.variable = owner;
      }
    }
  }
};

}  // namespace

std::string vtkhdf_group(const std::string& below, mesh::Centring centring) {
  return vtkhdf_root + below + (centring == mesh::Centring::points ? "PointData/" : "CellData/");
}

void add_vtkhdf_groups(FileBuilder& file, const std::string& below) {
  for (const char* group : {"CellData/", "PointData/", "FieldData/"}) file.attribute(-1, vtkhdf_root + below + group, "");
}

std::unique_ptr<Convention> make_vtkhdf_convention() { return std::make_unique<VtkhdfConvention>(); }

}  // namespace glean::session
