// SPDX-License-Identifier: BSD-3-Clause
#include "session/grids/program.hpp"

#include <algorithm>
#include <utility>

namespace glean::session {
namespace {

using mesh::Box;

[[noreturn]] void refuse(base::Errc code, const std::string& what, const std::string& hint = {}) { throw base::Error(code, what, hint); }
[[noreturn]] void refuse(const std::string& what, const std::string& hint = {}) { refuse(base::Errc::invalid_argument, what, hint); }

std::string text(const mesh::Shape& shape) {
  std::string all;
  for (const auto extent : shape) all += (all.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + all + "]";
}

std::string kind_of(const mesh::Mesh& mesh) {
  constexpr const char* names[] = {"uniform grid", "rectilinear grid", "curvilinear grid", "unstructured mesh", "AMR grid"};
  static_assert(std::size(names) == std::variant_size_v<mesh::Mesh>);
  return names[mesh.index()];
}

void require_good(const mesh::Mesh& mesh, int rank) {
  const std::vector<std::string> flaws = std::visit([](const auto& each) { return flaws_of(each); }, mesh);
  if (flaws.empty()) return;
  std::string all;
  for (const std::string& flaw : flaws) all += (all.empty() ? "" : "; ") + flaw;
  refuse("the " + kind_of(mesh) + " of rank " + std::to_string(rank) + " cannot be used: " + all,
         "docs/meshes.md says how each mesh is described");
}

const std::vector<Box>* boxes_of(const mesh::Mesh& mesh) {
  if (const auto* uniform = std::get_if<mesh::UniformGrid>(&mesh)) return &uniform->blocks;
  if (const auto* rectilinear = std::get_if<mesh::RectilinearGrid>(&mesh)) return &rectilinear->blocks;
  if (const auto* curvilinear = std::get_if<mesh::CurvilinearGrid>(&mesh)) return &curvilinear->blocks;
  return nullptr;
}

}  // namespace

int Program::define_dimension(std::string_view name, std::uint64_t length, bool unlimited) {
  for (const auto& dimension : definitions_.dimensions) {
    if (dimension.name == name) refuse("dimension '" + dimension.name + "' is defined already");
    if (unlimited && dimension.unlimited) refuse("'" + dimension.name + "' is unlimited already: a file has one such dimension");
  }
  definitions_.dimensions.push_back({std::string(name), length, unlimited});
  return static_cast<int>(definitions_.dimensions.size()) - 1;
}

int Program::dimension_for(const std::string& name, std::uint64_t length) {
  const auto& known = definitions_.dimensions;
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.name == name && each.length == length; });
  return found != known.end() ? static_cast<int>(found - known.begin()) : define_dimension(name, length, false);
}

int Program::unlimited_dimension() const {
  const auto& known = definitions_.dimensions;
  const auto found = std::find_if(known.begin(), known.end(), [](const auto& each) { return each.unlimited; });
  return found == known.end() ? -1 : static_cast<int>(found - known.begin());
}

int Program::define_variable(std::string_view name, mesh::Type external, std::span<const int> dimensions, std::vector<Box> blocks,
                             const VariableChoice& choice) {
  const std::string text_name(name);
  for (const auto& variable : definitions_.variables) {
    if (variable.name == name) refuse("variable '" + text_name + "' is defined already");
  }
  mesh::VariableDefinition variable{text_name, external, {}, choice.fill};
  VariableInfo info;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const int id = dimensions[d];
    if (id < 0 || static_cast<std::size_t>(id) >= definitions_.dimensions.size()) {
      refuse(base::Errc::not_found, "dimension " + std::to_string(d) + " of variable '" + text_name + "' is not defined");
    }
    const auto& dimension = definitions_.dimensions[static_cast<std::size_t>(id)];
    if (dimension.unlimited && d != 0) {
      refuse("variable '" + text_name + "': the unlimited dimension '" + dimension.name + "' must be the first one");
    }
    variable.dimensions.push_back(id);
    if (!dimension.unlimited) info.shape.push_back(dimension.length);
  }
  if (choice.per_step && info.shape.size() == dimensions.size()) {
    refuse("variable '" + text_name + "' is per step, but has no unlimited dimension",
           "put what define_unlimited returned in front of its dimensions");
  }
  for (Box& block : blocks) {
    if (block.start.size() != info.shape.size() || block.count.size() != info.shape.size()) {
      refuse("a block of variable '" + text_name + "' has " + std::to_string(block.count.size()) + " dimensions, the variable has " +
             std::to_string(info.shape.size()));
    }
    if (!mesh::whole(info.shape).contains(block)) {
      refuse("block " + mesh::to_string(block) + " does not lie in variable '" + text_name + "' of shape " + text(info.shape));
    }
    if (!block.empty()) info.blocks.push_back(std::move(block));
  }
  definitions_.variables.push_back(std::move(variable));
  variables_.push_back(std::move(info));
  return static_cast<int>(variables_.size()) - 1;
}

int Program::define_grid_variable(std::string_view name, mesh::Type external, int grid, const VariableChoice& choice) {
  if (grid < 0 || static_cast<std::size_t>(grid) >= definitions_.grids.size()) {
    refuse(base::Errc::not_found, "variable '" + std::string(name) + "' is defined on a grid that '" + path_ + "' does not have");
  }
  if (choice.components == 0 || choice.components > mesh::most_components) {
    refuse("variable '" + std::string(name) + "' cannot have " + std::to_string(choice.components) + " components",
           "1 of a scalar, 3 of a vector, 9 of a tensor");
  }
  const auto& cells = definitions_.grids[static_cast<std::size_t>(grid)].dimensions;
  std::vector<int> dimensions = choice.centring == mesh::Centring::points ? point_dimensions(grid) : cells;
  if (choice.components > 1) {
    dimensions.push_back(dimension_for("components_" + std::to_string(choice.components), choice.components));
  }
  if (choice.per_step) {
    const int unlimited = unlimited_dimension();
    dimensions.insert(dimensions.begin(), unlimited >= 0 ? unlimited : define_dimension("time", 0, true));
  }
  const int variable = define_variable(name, external, dimensions, blocks_of(grid, choice), choice);
  mesh::VariableDefinition& definition = definitions_.variables[static_cast<std::size_t>(variable)];
  definition.grid = grid;
  definition.centring = choice.centring;
  definition.components = choice.components;
  return variable;
}

void Program::define_attribute(int variable, std::string_view name, mesh::Type type, std::span<const std::byte> values) {
  definitions_.attributes.push_back({variable, std::string(name), type, {values.begin(), values.end()}});
}

int Program::define_grid(mesh::Mesh mesh, std::vector<std::string> names) {
  require_good(mesh, rank_);
  mesh::GridDefinition grid;
  mesh::Shape shape;
  std::vector<std::string> usual;
  int points = -1;
  if (const auto* uniform = std::get_if<mesh::UniformGrid>(&mesh)) {
    grid = {mesh::GridKind::uniform, {}, {}, uniform->origin, uniform->spacing};
    shape = uniform->shape;
    usual = {"z", "y", "x"};
  } else if (const auto* rectilinear = std::get_if<mesh::RectilinearGrid>(&mesh)) {
    grid.kind = mesh::GridKind::rectilinear;
    shape = rectilinear->shape();
    usual = {"z", "y", "x"};
  } else if (const auto* curvilinear = std::get_if<mesh::CurvilinearGrid>(&mesh)) {
    grid.kind = mesh::GridKind::curvilinear;
    shape = curvilinear->shape;
    usual = {"k", "j", "i"};
  } else if (const auto* amr = std::get_if<mesh::AmrGrid>(&mesh)) {
    grid = {mesh::GridKind::amr, {define_dimension("blocks", amr->blocks_total, false)}, {}, {}, {}};
    shape = amr->cells_per_block;
    usual = {"nzb", "nyb", "nxb"};
  } else {
    grid = {mesh::GridKind::unstructured, {define_dimension("cells", 0, false)}, {}, {}, {}};
    points = define_dimension("points", 0, false);
  }
  if (names.empty() && shape.size() > usual.size()) refuse("a grid of more than three dimensions needs dimension_names");
  if (names.empty()) names.assign(usual.end() - static_cast<std::ptrdiff_t>(shape.size()), usual.end());
  if (names.size() != shape.size()) refuse("a " + kind_of(mesh) + " needs one name for each dimension");
  for (std::size_t d = 0; d < shape.size(); ++d) grid.dimensions.push_back(define_dimension(names[d], shape[d], false));
  definitions_.grids.push_back(std::move(grid));
  meshes_.push_back(std::move(mesh));
  points_of_mesh_.push_back(points);
  return static_cast<int>(meshes_.size()) - 1;
}

std::vector<int> Program::point_dimensions(int grid) {
  const mesh::GridDefinition definition = definitions_.grids[static_cast<std::size_t>(grid)];
  if (definition.kind == mesh::GridKind::unstructured) return {points_dimension_of_mesh(grid)};
  std::vector<int> dimensions;
  for (const int id : definition.dimensions) {
    const mesh::DimensionDefinition along = definitions_.dimensions[static_cast<std::size_t>(id)];
    const bool counts_blocks = definition.kind == mesh::GridKind::amr && dimensions.empty();
    dimensions.push_back(counts_blocks ? id : dimension_for(along.name + "_points", along.length + 1));
  }
  return dimensions;
}

// Of an unstructured mesh none, until it is numbered.
std::vector<Box> Program::blocks_of(int grid, const VariableChoice& choice) const {
  const bool of_points = choice.centring == mesh::Centring::points;
  std::vector<Box> blocks;
  if (const auto* cells = boxes_of(mesh(grid))) {
    for (const Box& block : *cells) {
      if (!block.empty()) blocks.push_back(of_points ? points_of(block) : block);
    }
  } else if (const auto* amr = std::get_if<mesh::AmrGrid>(&mesh(grid))) {
    Box& block = blocks.emplace_back(Box{{amr->first_block}, {amr->blocks.size()}});
    for (const std::uint64_t count : amr->cells_per_block) {
      block.start.push_back(0);
      block.count.push_back(of_points ? count + 1 : count);
    }
  }
  for (Box& block : blocks) {
    if (choice.components == 1) break;
    block.start.push_back(0);
    block.count.push_back(choice.components);
  }
  return blocks;
}

void Program::number(int grid, const Numbers& numbers) {
  const auto& mesh = std::get<mesh::UnstructuredMesh>(this->mesh(grid));
  const int cells_id = definitions_.grids[static_cast<std::size_t>(grid)].dimensions.front(), points_id = points_dimension_of_mesh(grid);
  definitions_.dimensions[static_cast<std::size_t>(cells_id)].length = numbers.cells;
  definitions_.dimensions[static_cast<std::size_t>(points_id)].length = numbers.points;
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    const mesh::VariableDefinition& definition = definitions_.variables[v];
    if (definition.grid != grid) continue;
    const bool of_points = definition.centring == mesh::Centring::points;
    Box block{{of_points ? numbers.first_point : numbers.first_cell}, {of_points ? mesh.points.count() : mesh.types.size()}};
    if (definition.components > 1) {
      block.start.push_back(0);
      block.count.push_back(definition.components);
    }
    variables_[v].shape = definitions_.shape(static_cast<int>(v));
    variables_[v].blocks.clear();
    if (!block.empty()) variables_[v].blocks.push_back(std::move(block));
  }
}

}  // namespace glean::session
