// SPDX-License-Identifier: BSD-3-Clause
//
// Grids as dimensions and variables of the file; the definitions say which of these belong to which grid.
#include <limits>

#include "session/output_impl.hpp"

namespace glean {

namespace {

void require_argument(bool good, const std::string& what) {
  if (!good) throw base::Error(base::Errc::invalid_argument, what);
}

}  // namespace

template <class T>
int Output::Impl::add_coordinates(std::string_view name, std::span<const Dimension> dimensions, const Box& box,
                                   std::span<const T> values) {
  const Variable variable = define_variable(name, type_of<T>(), dimensions, {box}, {});
  const auto bytes = std::as_bytes(values);
  coordinates_.push_back({variable, {bytes.begin(), bytes.end()}});
  return variable.id;
}

Grid Output::Impl::add_grid(mesh::GridDefinition grid, std::vector<mesh::Box> blocks) {
  definitions_.grids.push_back(std::move(grid));
  grid_blocks_.push_back(std::move(blocks));
  return {static_cast<int>(definitions_.grids.size()) - 1};
}

Grid Output::Impl::define_grid(const UniformGrid& grid) {
  require(Phase::defining, "define_grid");
  const std::size_t dimensions = grid.shape.size();
  require_argument(dimensions >= 1 && grid.origin.size() == dimensions && grid.spacing.size() == dimensions,
                   "a uniform grid needs shape, origin and spacing of the same number of dimensions");
  std::vector<std::string> names = grid.dimension_names;
  if (names.empty()) {
    require_argument(dimensions <= 3, "a uniform grid of more than three dimensions needs dimension_names");
    const char* xyz[] = {"z", "y", "x"};
    names.assign(xyz + (3 - dimensions), xyz + 3);
  }
  require_argument(names.size() == dimensions, "a uniform grid needs one name for each dimension");

  mesh::GridDefinition definition{mesh::GridKind::uniform, {}, {}, grid.origin, grid.spacing};
  for (std::size_t d = 0; d < dimensions; ++d) definition.dimensions.push_back(define_dimension(names[d], grid.shape[d], false).id);
  for (std::size_t d = 0; d < dimensions; ++d) {
    // Rank 0 puts the coordinates.
    std::vector<double> centres(core_->rank() == 0 ? grid.shape[d] : 0);
    for (std::size_t i = 0; i < centres.size(); ++i) {
      centres[i] = grid.origin[d] + (static_cast<double>(i) + 0.5) * grid.spacing[d];
    }
    const Dimension along{definition.dimensions[d]};
    definition.coordinates.push_back(add_coordinates<double>(names[d], std::span(&along, 1), {{0}, {centres.size()}}, centres));
  }
  std::vector<mesh::Box> blocks;
  for (const auto& block : grid.blocks) blocks.push_back({block.start, block.count});
  return add_grid(std::move(definition), std::move(blocks));
}

Grid Output::Impl::define_grid(const AmrGrid& grid) {
  require(Phase::defining, "define_grid");
  const std::size_t dimensions = grid.cells_per_block.size();
  const std::uint64_t mine = grid.blocks.size();
  require_argument(dimensions >= 1 && dimensions <= 3, "an AMR grid has one to three dimensions");
  require_argument(grid.first_block <= grid.blocks_total && mine <= grid.blocks_total - grid.first_block,
                   "blocks " + std::to_string(grid.first_block) + " to " + std::to_string(grid.first_block + mine) +
                       " do not lie in an AMR grid of " + std::to_string(grid.blocks_total) + " blocks");
  std::vector<std::int32_t> levels, parents;
  std::vector<double> bounds;
  for (const auto& block : grid.blocks) {
    require_argument(block.lower.size() == dimensions && block.upper.size() == dimensions,
                     "the bounding box of an AMR block needs " + std::to_string(dimensions) + " lower and upper bounds");
    require_argument(block.parent >= -1 && block.parent < static_cast<std::int64_t>(grid.blocks_total) &&
                         block.parent <= std::numeric_limits<std::int32_t>::max(),
                     "parent " + std::to_string(block.parent) + " of an AMR block is no block of the grid");
    levels.push_back(block.level);
    parents.push_back(static_cast<std::int32_t>(block.parent));
    for (std::size_t d = 0; d < dimensions; ++d) {
      bounds.push_back(block.lower[d]);
      bounds.push_back(block.upper[d]);
    }
  }

  const Dimension blocks = define_dimension("blocks", grid.blocks_total, false);
  mesh::GridDefinition definition{mesh::GridKind::amr, {blocks.id}, {}, {}, {}};
  const char* names[] = {"nzb", "nyb", "nxb"};
  for (std::size_t d = 0; d < dimensions; ++d) {
    definition.dimensions.push_back(define_dimension(names[3 - dimensions + d], grid.cells_per_block[d], false).id);
  }
  const Dimension bound_dimensions[] = {blocks, define_dimension("ndim", dimensions, false),
                                        define_dimension("lo_hi", 2, false)};
  const Box per_block{{grid.first_block}, {mine}};
  definition.coordinates = {add_coordinates<std::int32_t>("lrefine", std::span(&blocks, 1), per_block, levels),
                            add_coordinates<std::int32_t>("parent", std::span(&blocks, 1), per_block, parents),
                            add_coordinates<double>("bndbox", bound_dimensions, {{grid.first_block, 0, 0}, {mine, dimensions, 2}}, bounds)};

  mesh::Box block{{grid.first_block}, {mine}};
  block.start.resize(1 + dimensions, 0);
  block.count.insert(block.count.end(), grid.cells_per_block.begin(), grid.cells_per_block.end());
  return add_grid(std::move(definition), {std::move(block)});
}

}  // namespace glean
