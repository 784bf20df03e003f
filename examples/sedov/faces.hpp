// SPDX-License-Identifier: BSD-3-Clause
//
// What a block gives to the ghost cells of the block behind one of its faces, and what that block makes of it.
//
// Blocks are numbers of this rank's blocks, counted from 0; `side` is always that of the block whose ghost cells they are, and `quadrant`
// the part of the coarser block's face, as in Beside.
#pragma once

#include "mesh.hpp"

namespace sedov {

inline constexpr std::size_t face_values = state_variables.size() * ghost_cells * block_cells * block_cells;
inline constexpr std::size_t means_values = face_values / 4;
// One layer with a border of one cell, and another without.
inline constexpr std::size_t coarse_values =
    state_variables.size() * ((block_cells / 2 + 2) * (block_cells / 2 + 2) + block_cells / 2 * block_cells / 2);

// A block of the same level: two layers. Mirrored: the block's own, in reverse, at a face of the domain.
enum class Layers { as_they_are, mirrored };
void read_layers(const Mesh& mesh, int axis, Side side, int block, Layers layers, double* values);
void write_layers(Mesh& mesh, int axis, Side side, int block, const double* values);

// A finer block gives a quadrant of the ghost cells: means of eight cells.
void read_layers_of_means(const Mesh& mesh, int axis, Side side, int block, double* values);
void write_quadrant(Mesh& mesh, int axis, Side side, int quadrant, int block, const double* values);

// A coarser block gives its cells, of which the finer one makes ghost cells by linear interpolation with limited slopes. The border of
// the coarse cells may be ghost cells of the coarser block, as of its last exchange along the axes across: one to four sweeps old. That
// changes slopes only, by as much as a step changes the gas, and what is positive stays positive.
void read_coarse(const Mesh& mesh, int axis, Side side, int quadrant, int block, double* values);
void write_interpolated(Mesh& mesh, int axis, Side side, int block, const double* values);

}  // namespace sedov
