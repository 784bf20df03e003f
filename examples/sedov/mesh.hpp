// SPDX-License-Identifier: BSD-3-Clause
//
// The blocks of the simulation: where they lie, which rank holds them, and their cells in memory.
//
// Blocks of 16 x 16 x 16 cells with two layers of ghost cells, refined as a tree (tree.hpp) tells. Blocks without children, the leaves,
// cover the domain: in them the gas is computed. Their parents hold means, for files and for the time when their children go.
// Every rank holds a run of consecutive blocks of the Morton curve with as many leaves as the others, which is what PARAMESH does; a
// rank may hold none.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <vector>

#include "tree.hpp"

namespace sedov {

inline constexpr int block_cells = 16;   // in each direction
inline constexpr int ghost_cells = 2;
inline constexpr int padded_cells = block_cells + 2 * ghost_cells;
// In x, y and z.
inline constexpr std::array<std::ptrdiff_t, 3> cell_stride = {1, padded_cells, padded_cells * padded_cells};
inline constexpr std::ptrdiff_t variable_stride = padded_cells * padded_cells * padded_cells;
// From the first ghost cell to the first cell that is none.
inline constexpr std::ptrdiff_t to_interior = ghost_cells * (cell_stride[0] + cell_stride[1] + cell_stride[2]);

// The mesh variables in FLASH's order, which is the alphabet's. Plot files hold the 1st, 6th and 7th of them:
// density, pressure and temperature.
enum Variable { dens, eint, ener, gamc, game, pres, temp, velx, vely, velz, variable_count };
inline constexpr std::array<const char*, variable_count> variable_names = {
    "dens", "eint", "ener", "gamc", "game", "pres", "temp", "velx", "vely", "velz"};
inline constexpr std::ptrdiff_t block_stride = variable_count * variable_stride;
// What the state of the gas consists of; the other variables follow from it (Hydro::complete_state).
inline constexpr std::array<Variable, 5> state_variables = {dens, pres, velx, vely, velz};

class Mesh {
 public:
  // `blocks` of level 1 in x, y and z; the longest side of the domain, which starts at the origin, is `domain_width`
  // long, and cells are cubes. Blocks may have levels up to `levels`, but all are of level 1 at first. Local.
  Mesh(MPI_Comm comm, const Position& blocks, double domain_width, int levels = 1);

  // Another mesh of the same domain, with the blocks of `tree` and all cells zero. Local.
  [[nodiscard]] Mesh with(Tree tree) const;
  // Takes the blocks of `other`, which comes from with(). What was worked out from the blocks before is out of date, as
  // generation() shows. Local.
  void become(Mesh other);
  [[nodiscard]] int generation() const { return generation_; }

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] const Tree& tree() const { return tree_; }
  [[nodiscard]] int levels() const { return levels_; }   // at most
  [[nodiscard]] int blocks_total() const { return tree_.size(); }
  [[nodiscard]] int first_block() const { return first_block_; }
  [[nodiscard]] int block_count() const { return block_count_; }
  [[nodiscard]] int first_block_of(int rank) const { return starts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int owner(int block) const;
  [[nodiscard]] const Position& blocks() const { return tree_.roots(); }   // of level 1

  // Of the finest level that there may be.
  [[nodiscard]] double cell_width() const { return cell_width_; }
  [[nodiscard]] double cell_width(int level) const { return cell_width_ * (1 << (levels_ - level)); }
  [[nodiscard]] double block_width(int level) const { return cell_width(level) * block_cells; }
  // The length of the shortest side.
  [[nodiscard]] double domain_width() const;
  // Corner of any block with the smallest coordinates: x, y, z.
  [[nodiscard]] std::array<double, 3> lower(int block) const;

  // Of one of this rank's blocks, counted from 0.
  [[nodiscard]] int level(int local_block) const { return tree_.level(first_block_ + local_block); }
  [[nodiscard]] bool is_leaf(int local_block) const { return tree_.is_leaf(first_block_ + local_block); }
  // First ghost cell of a variable of one of this rank's blocks; cells are `cell_stride` apart.
  [[nodiscard]] double* cells(int local_block, int variable) {
    return data_.data() + local_block * block_stride + variable * variable_stride;
  }
  [[nodiscard]] const double* cells(int local_block, int variable) const {
    return data_.data() + local_block * block_stride + variable * variable_stride;
  }
  // First cell that is not a ghost.
  [[nodiscard]] const double* interior(int local_block, int variable) const { return cells(local_block, variable) + to_interior; }

 private:
  Mesh(MPI_Comm comm, Tree tree, double cell_width, int levels);

  MPI_Comm comm_;
  Tree tree_;
  int levels_;
  double cell_width_;
  int generation_ = 0;
  std::vector<int> starts_;   // the first block of each rank, and the number of blocks
  int first_block_ = 0;
  int block_count_ = 0;
  std::vector<double> data_;   // [local block][variable][z][y][x], with ghost cells
};

}  // namespace sedov
