// SPDX-License-Identifier: BSD-3-Clause
//
// Meshes with refinement: blocks by FLASH's names (of NetCDF and HDF5), and those of VTKHDF, as one picture of a plane.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "view/dataset.hpp"
#include "view/slices.hpp"

namespace glean::view {

// Everything along z, y, x: the slowest first. What is beyond the dimensions of the mesh has one cell from 0 to 1.
struct ViewBlock {
  int level = 0;
  std::array<double, 3> lower{}, upper{};
};

struct BlockField {
  std::string name;
  std::string units;
  std::array<std::uint64_t, 3> cells{1, 1, 1};   // of a block; of VTKHDF of each its own
  std::vector<int> variables;                    // [0], or of each level
};

struct BlockGrid {
  int dimensions = 3;
  bool is_vtkhdf = false;
  std::vector<ViewBlock> blocks;                        // of VTKHDF level after level
  std::vector<std::array<std::uint64_t, 3>> cells;      // of each block of VTKHDF
  std::vector<std::uint64_t> first_cell;                // of these, in the arrays of their level
  std::array<double, 3> lower{}, upper{};               // of all
  std::array<std::uint64_t, 3> finest{1, 1, 1};         // cells along the domain, as wide as the narrowest
  std::vector<BlockField> fields;
  std::vector<int> mesh_variables;                      // that say where blocks are
};

// Nothing where there are no blocks. Throws base::Error where there are, and what says so cannot be.
[[nodiscard]] std::optional<BlockGrid> find_blocks(const Dataset& dataset);

struct BlockPicture {
  std::uint64_t width = 1, height = 1;
  int row_axis = -1, column_axis = 2;                   // of z, y, x; -1: none
  double position = 0;                                  // of the plane
  std::vector<float> values;                            // NaN where no block is
  std::vector<std::array<double, 5>> boxes;             // of the blocks: left, top, right, bottom, as fractions of the picture; level
};

// Finer blocks cover coarser ones.
[[nodiscard]] BlockPicture draw_blocks(const Dataset& dataset, const BlockGrid& grid, const BlockField& field, std::uint64_t record,
                                       const SliceRequest& request);

}  // namespace glean::view
