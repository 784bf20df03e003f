// SPDX-License-Identifier: BSD-3-Clause
//
// Block-structured refinement as FLASH has it: every block has as many cells, and a block of one level is half as wide as one of the level
// below it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace glean::mesh {

// Along x, y, z; there are three of everything, whatever the dimensions of the mesh.
struct BlockMesh {
  int dimensions = 3;
  std::array<std::uint64_t, 3> cells{1, 1, 1};   // of a block; 1 beyond `dimensions`
  std::vector<std::int32_t> levels;              // of each block, from 1 on
  std::vector<std::int32_t> parents;             // -1: none
  std::vector<double> bounds;                    // of each block, lower and upper along each axis; 0 and 1 beyond `dimensions`

  [[nodiscard]] std::size_t blocks() const { return levels.size(); }
  [[nodiscard]] double lower(std::size_t block, int axis) const { return bounds[6 * block + 2 * static_cast<std::size_t>(axis)]; }
  [[nodiscard]] double upper(std::size_t block, int axis) const { return bounds[6 * block + 2 * static_cast<std::size_t>(axis) + 1]; }
  [[nodiscard]] std::uint64_t cells_per_block() const { return cells[0] * cells[1] * cells[2]; }
  [[nodiscard]] int children_per_block() const { return 1 << dimensions; }
};

// Where blocks are, in whole blocks of their level.
struct BlockPositions {
  std::array<double, 3> lower{};        // of the domain
  std::array<double, 3> root_width{};   // of a block of level 1
  std::vector<std::array<std::int64_t, 3>> of_block;

  // Of a block; half of that of the level before. Not beyond the mesh's dimensions.
  [[nodiscard]] double width(std::int32_t level, int axis) const;
};

// Everything that is wrong, a sentence each, such as "block 3: its parent 7 is of level 3, and it is of level 2 itself". Where there is
// nothing, `positions` are set. Bounds may be off by a hundredth of a block's width, as single precision leaves them. It looks at all
// blocks of a complete file, where flaws_of(AmrGrid) looks at those that one rank defines: here widths halve from level to level,
// children lie in their parents, and parents make no cycle, all of which relations_of() relies on. Local. O(blocks).
[[nodiscard]] std::vector<std::string> locate(const BlockMesh& mesh, BlockPositions& positions);

// What follows of it. -1: there is no such block.
struct BlockRelations {
  std::vector<std::int32_t> children;      // [block][child], x fastest
  std::vector<std::int32_t> neighbours;    // [block][lower x, upper x, lower y, …], of the same level
  std::vector<std::int32_t> which_child;   // of its parent, from 1 on
  std::vector<std::int32_t> node_types;    // 1: it has no children; 2: one of them has none; 3: all of them have
};

// `positions` as locate() has set them, of a mesh with which nothing is wrong. Local. O(blocks).
[[nodiscard]] BlockRelations relations_of(const BlockMesh& mesh, const BlockPositions& positions);

}  // namespace glean::mesh
