// SPDX-License-Identifier: BSD-3-Clause
//
// What libraries want in one piece: cells without their ghosts, and what describes the blocks. PnetCDF's and HDF5's writers
// share it.
#pragma once

#include <vector>

#include "mesh.hpp"

namespace sedov {

// What FLASH says of this rank's blocks: level, parent (its number, or -1), and the lower and upper end in x, y and z.
struct BlockTable {
  std::vector<int> levels, parents;
  std::vector<double> boxes;
};

[[nodiscard]] BlockTable block_table(const Mesh& mesh);
// The cells of all blocks of this rank, [block][z][y][x], in place of what `packed` had.
void pack(const Mesh& mesh, Variable variable, std::vector<double>& packed);

}  // namespace sedov
