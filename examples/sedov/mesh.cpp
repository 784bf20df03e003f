// SPDX-License-Identifier: BSD-3-Clause
#include "mesh.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sedov {

namespace {

// Parents go with the leaf behind them, which is their first descendant without children.
std::vector<int> cut_into_runs(const Tree& tree, int ranks) {
  std::vector<int> starts;
  std::int64_t leaves_before = 0;
  for (int block = 0; block < tree.size(); ++block) {
    // More than one, if there are more ranks than leaves: those before the last get none.
    while (static_cast<int>(starts.size()) < ranks &&
           std::int64_t{tree.leaves()} * static_cast<std::int64_t>(starts.size()) / ranks <= leaves_before) {
      starts.push_back(block);
    }
    leaves_before += tree.is_leaf(block) ? 1 : 0;
  }
  starts.resize(static_cast<std::size_t>(ranks) + 1, tree.size());
  return starts;
}

}  // namespace

Mesh::Mesh(MPI_Comm comm, const Position& blocks, double domain_width, int levels)
    : Mesh(comm, Tree(blocks),
           domain_width / (*std::max_element(blocks.begin(), blocks.end()) * block_cells * (1 << (levels - 1))), levels) {}

Mesh::Mesh(MPI_Comm comm, Tree tree, double cell_width, int levels)
    : comm_(comm), tree_(std::move(tree)), levels_(levels), cell_width_(cell_width) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  starts_ = cut_into_runs(tree_, ranks);
  first_block_ = first_block_of(rank);
  block_count_ = first_block_of(rank + 1) - first_block_;
  // Room for one block on ranks without any, so that a pointer to the first is always one.
  data_.assign(static_cast<std::size_t>(std::max(block_count_, 1) * block_stride), 0.0);
}

Mesh Mesh::with(Tree tree) const { return {comm_, std::move(tree), cell_width_, levels_}; }

void Mesh::become(Mesh other) {
  const int generation = generation_ + 1;
  *this = std::move(other);
  generation_ = generation;
}

int Mesh::owner(int block) const {
  // The last rank whose first block is not behind this one.
  return static_cast<int>(std::upper_bound(starts_.begin(), starts_.end(), block) - starts_.begin()) - 1;
}

double Mesh::domain_width() const {
  return *std::min_element(blocks().begin(), blocks().end()) * block_width(1);
}

std::array<double, 3> Mesh::lower(int block) const {
  const Place place = tree_.place(block);
  const double width = block_width(place.level);
  return {place.at[0] * width, place.at[1] * width, place.at[2] * width};
}

}  // namespace sedov
