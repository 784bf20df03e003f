// SPDX-License-Identifier: BSD-3-Clause
//
// The blocks of the simulation: where they lie, which rank holds them, and their cells in memory.
//
// A uniform grid of blocks of 16 x 16 x 16 cells with two layers of ghost cells, as FLASH's mesh without
// refinement: every block has level 1 and no parent. Blocks are numbered along a Morton curve and every rank
// holds a run of consecutive numbers, which is what PARAMESH does; a rank may hold none.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <vector>

namespace sedov {

inline constexpr int block_cells = 16;   // in each direction
inline constexpr int ghost_cells = 2;
inline constexpr int padded_cells = block_cells + 2 * ghost_cells;
// In x, y and z.
inline constexpr std::array<std::ptrdiff_t, 3> cell_stride = {1, padded_cells, padded_cells * padded_cells};
inline constexpr std::ptrdiff_t variable_stride = padded_cells * padded_cells * padded_cells;

// The mesh variables in FLASH's order, which is the alphabet's. Plot files hold the 1st, 6th and 7th of them:
// density, pressure and temperature.
enum Variable { dens, eint, ener, gamc, game, pres, temp, velx, vely, velz, variable_count };
inline constexpr std::array<const char*, variable_count> variable_names = {
    "dens", "eint", "ener", "gamc", "game", "pres", "temp", "velx", "vely", "velz"};
inline constexpr std::ptrdiff_t block_stride = variable_count * variable_stride;

using Position = std::array<int, 3>;   // of a block among the blocks: x, y, z

class Mesh {
 public:
  // `blocks` in x, y and z; the longest side of the domain, which starts at the origin, is `domain_width`
  // long, and cells are cubes. Every rank keeps the numbering of all blocks (8 bytes each). Local.
  Mesh(MPI_Comm comm, const Position& blocks, double domain_width);

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int blocks_total() const { return static_cast<int>(positions_.size()); }
  [[nodiscard]] int first_block() const { return first_block_; }
  [[nodiscard]] int block_count() const { return block_count_; }
  [[nodiscard]] const Position& blocks() const { return blocks_; }
  [[nodiscard]] double cell_width() const { return cell_width_; }
  [[nodiscard]] double block_width() const { return cell_width_ * block_cells; }
  // The length of the shortest side.
  [[nodiscard]] double domain_width() const;

  // The place of any block, by number.
  [[nodiscard]] const Position& position(int block) const {
    return positions_[static_cast<std::size_t>(block)];
  }
  [[nodiscard]] int block_at(const Position& position) const;
  [[nodiscard]] bool inside(const Position& position) const;
  [[nodiscard]] int owner(int block) const;
  // Corner of a block with the smallest coordinates: x, y, z.
  [[nodiscard]] std::array<double, 3> lower(int block) const;

  // First ghost cell of a variable of one of this rank's blocks; cells are `cell_stride` apart.
  [[nodiscard]] double* cells(int local_block, int variable) {
    return data_.data() + local_block * block_stride + variable * variable_stride;
  }
  [[nodiscard]] const double* cells(int local_block, int variable) const {
    return data_.data() + local_block * block_stride + variable * variable_stride;
  }
  // First cell that is not a ghost.
  [[nodiscard]] const double* interior(int local_block, int variable) const {
    return cells(local_block, variable) + ghost_cells * (cell_stride[0] + cell_stride[1] + cell_stride[2]);
  }

 private:
  MPI_Comm comm_;
  int ranks_ = 1;
  Position blocks_;
  double cell_width_;
  std::vector<Position> positions_;   // by block number
  std::vector<int> numbers_;          // by position, x fastest
  int first_block_ = 0;
  int block_count_ = 0;
  std::vector<double> data_;          // [local block][variable][z][y][x], with ghost cells
};

}  // namespace sedov
