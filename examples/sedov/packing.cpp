// SPDX-License-Identifier: BSD-3-Clause
#include "packing.hpp"

namespace sedov {

BlockTable block_table(const Mesh& mesh) {
  BlockTable table;
  for (int block = mesh.first_block(); block < mesh.first_block() + mesh.block_count(); ++block) {
    const int level = mesh.tree().level(block);
    table.levels.push_back(level);
    table.parents.push_back(mesh.tree().parent(block));
    for (const double lower : mesh.lower(block)) {
      table.boxes.push_back(lower);
      table.boxes.push_back(lower + mesh.block_width(level));
    }
  }
  return table;
}

void pack(const Mesh& mesh, Variable variable, std::vector<double>& packed) {
  packed.clear();
  for (int block = 0; block < mesh.block_count(); ++block) {
    const double* cells = mesh.interior(block, variable);
    for (int z = 0; z < block_cells; ++z) {
      for (int y = 0; y < block_cells; ++y) {
        const double* row = cells + z * cell_stride[2] + y * cell_stride[1];
        packed.insert(packed.end(), row, row + block_cells);
      }
    }
  }
}

}  // namespace sedov
