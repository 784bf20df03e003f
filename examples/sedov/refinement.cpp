// SPDX-License-Identifier: BSD-3-Clause
#include "refinement.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sedov {

namespace {

double squared_error(const double* cell) {
  double seconds = 0, firsts = 0;
  for (const std::ptrdiff_t stride : cell_stride) {
    const double below = cell[-2 * stride], here = *cell, above = cell[2 * stride];
    const double second = above - 2 * here + below;
    const double first = std::abs(above - here) + std::abs(here - below);
    const double filter = ripple_filter * (std::abs(above) + 2 * std::abs(here) + std::abs(below));
    seconds += second * second;
    firsts += (first + filter) * (first + filter);
  }
  return seconds / firsts;
}

// What every rank wants of its blocks, of all blocks.
std::vector<Change> wanted_changes(const Mesh& mesh) {
  int ranks = 1;
  MPI_Comm_size(mesh.comm(), &ranks);
  std::vector<Change> wanted(static_cast<std::size_t>(mesh.blocks_total()), Change::keep);
  for (int local = 0; local < mesh.block_count(); ++local) {
    if (!mesh.is_leaf(local)) continue;
    const double error = estimate_error(mesh, local);
    Change& change = wanted[static_cast<std::size_t>(mesh.first_block() + local)];
    if (error > refine_above && mesh.level(local) < mesh.levels()) change = Change::refine;
    if (error < coarsen_below) change = Change::coarsen;
  }

  std::vector<int> counts, offsets;
  for (int rank = 0; rank < ranks; ++rank) {
    offsets.push_back(mesh.first_block_of(rank));
    counts.push_back(mesh.first_block_of(rank + 1) - mesh.first_block_of(rank));
  }
  static_assert(sizeof(Change) == 1);
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, wanted.data(), counts.data(), offsets.data(), MPI_BYTE, mesh.comm());
  return wanted;
}

}  // namespace

double estimate_error(const Mesh& mesh, int local_block) {
  double largest = 0;
  for (const Variable variable : {dens, pres}) {
    const double* cells = mesh.interior(local_block, variable);
    for (int z = 0; z < block_cells; ++z) {
      for (int y = 0; y < block_cells; ++y) {
        const double* row = cells + y * cell_stride[1] + z * cell_stride[2];
        for (int x = 0; x < block_cells; ++x) largest = std::max(largest, squared_error(row + x));
      }
    }
  }
  return std::sqrt(largest);
}

bool adapt(Mesh& mesh, Halo& halo) {
  halo.exchange();
  const Tree next = mesh.tree().changed(wanted_changes(mesh));
  if (next == mesh.tree()) return false;
  restrict_to_parents(mesh);
  redistribute(mesh, next);
  halo.exchange();
  return true;
}

}  // namespace sedov
