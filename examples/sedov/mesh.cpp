// SPDX-License-Identifier: BSD-3-Clause
#include "mesh.hpp"

#include <algorithm>
#include <cstdint>

namespace sedov {

namespace {

std::uint64_t morton_key(const Position& position) {
  std::uint64_t key = 0;
  for (int bit = 0; bit < 21; ++bit) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto coordinate = static_cast<std::uint64_t>(position[static_cast<std::size_t>(axis)]);
      key |= ((coordinate >> bit) & 1U) << (3 * bit + axis);
    }
  }
  return key;
}

}  // namespace

Mesh::Mesh(MPI_Comm comm, const Position& blocks, double domain_width)
    : comm_(comm), blocks_(blocks),
      cell_width_(domain_width / (*std::max_element(blocks.begin(), blocks.end()) * block_cells)) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks_);

  for (int z = 0; z < blocks[2]; ++z) {
    for (int y = 0; y < blocks[1]; ++y) {
      for (int x = 0; x < blocks[0]; ++x) positions_.push_back({x, y, z});
    }
  }
  std::sort(positions_.begin(), positions_.end(),
            [](const Position& a, const Position& b) { return morton_key(a) < morton_key(b); });
  numbers_.resize(positions_.size());
  for (int block = 0; block < blocks_total(); ++block) {
    const Position& at = position(block);
    numbers_[static_cast<std::size_t>(at[0] + blocks_[0] * (at[1] + blocks_[1] * at[2]))] = block;
  }

  const std::int64_t total = blocks_total();
  first_block_ = static_cast<int>(total * rank / ranks_);
  block_count_ = static_cast<int>(total * (rank + 1) / ranks_) - first_block_;
  // Room for one block on ranks without any, so that a pointer to the first is always one.
  data_.assign(static_cast<std::size_t>(std::max(block_count_, 1) * block_stride), 0.0);
}

double Mesh::domain_width() const {
  return *std::min_element(blocks_.begin(), blocks_.end()) * block_width();
}

bool Mesh::inside(const Position& position) const {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (position[axis] < 0 || position[axis] >= blocks_[axis]) return false;
  }
  return true;
}

int Mesh::block_at(const Position& position) const {
  const int place = position[0] + blocks_[0] * (position[1] + blocks_[1] * position[2]);
  return numbers_[static_cast<std::size_t>(place)];
}

int Mesh::owner(int block) const {
  // The last rank whose first block, total * rank / ranks rounded down, is not behind this one.
  return static_cast<int>(((std::int64_t{block} + 1) * ranks_ - 1) / blocks_total());
}

std::array<double, 3> Mesh::lower(int block) const {
  const Position& at = position(block);
  return {at[0] * block_width(), at[1] * block_width(), at[2] * block_width()};
}

}  // namespace sedov
