// SPDX-License-Identifier: BSD-3-Clause
//
// Cells of one level made of cells of another: means of eight, and eight that have the one as their mean. Mass, energy and momentum are
// kept but for rounding.
//
// Blocks are numbers of this rank's blocks, counted from 0. Values of a block are [state variable][z][y][x] without ghost cells.
#pragma once

#include "gas.hpp"
#include "mesh.hpp"

namespace sedov {

inline constexpr int half_cells = block_cells / 2;
inline constexpr std::size_t block_values = state_variables.size() * block_cells * block_cells * block_cells;
inline constexpr std::size_t octant_values = block_values / 8;

// The gas of a cell, `offset` from the first ghost cell.
[[nodiscard]] inline Primitive gas_of(const Mesh& mesh, int block, std::ptrdiff_t offset) {
  Primitive gas;
  for (std::size_t i = 0; i < gas.size(); ++i) gas[i] = mesh.cells(block, state_variables[i])[offset];
  return gas;
}

inline void set_gas(Mesh& mesh, int block, std::ptrdiff_t offset, const Primitive& gas) {
  for (std::size_t i = 0; i < gas.size(); ++i) mesh.cells(block, state_variables[i])[offset] = gas[i];
}

// Of the eight cells of which the one at `offset` has the smallest coordinates.
[[nodiscard]] Primitive mean_gas(const Mesh& mesh, int block, std::ptrdiff_t offset);

void read_block(const Mesh& mesh, int block, double* values);
// The ghost cells at the faces get what is next to them, so that nothing is undefined until Halo fills them.
void write_block(Mesh& mesh, int block, const double* values);

// A block at half of its resolution: `octant_values`. And these as one of eight parts of its parent.
void read_means(const Mesh& mesh, int block, double* values);
void write_octant(Mesh& mesh, int parent, int child, const double* values);

// What a new child of a block has, by linear interpolation of mass, energy and momentum with limited slopes; where this would leave a
// cell without positive pressure all eight are as their parent. Reads one layer of ghost cells at the faces.
void read_child(const Mesh& mesh, int parent, int child, double* values);

}  // namespace sedov
