// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks as cells of no structure: lines, quadrilaterals or hexahedra.
#pragma once

#include <cstdint>
#include <vector>

#include "convert/semantics.hpp"
#include "convert/target.hpp"

namespace glean::convert {

// All blocks but those all of whose children are there.
[[nodiscard]] std::vector<std::size_t> blocks_without_covered(const Blocks& blocks);

struct BlockCells {
  std::uint64_t points = 0, cells = 0;
  int points_per_cell = 0;
  // Points, connectivity, offsets, types and levels as VTK has them, made block by block; their places are not set. They keep a reference
  // to the blocks.
  std::vector<Computed> arrays;
};

// Each block has points of its own, and its cells are in the order of its elements.
[[nodiscard]] BlockCells cells_of_blocks(const Blocks& blocks, const std::vector<std::size_t>& which);

}  // namespace glean::convert
