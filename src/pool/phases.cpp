// SPDX-License-Identifier: BSD-3-Clause
#include "pool/phases.hpp"

#include <algorithm>

namespace glean::pool {
namespace {

std::uint32_t phase_of(const Pool& pool, std::uint32_t slot, int rank) {
  const std::uint32_t phase = pool.rank_phase(slot, rank).load(std::memory_order_acquire);
  return (pool.rank_progress(slot, rank).load(std::memory_order_acquire) & rank_closed) != 0 ? last_phase : phase;
}

}  // namespace

std::uint32_t least_phase(const Pool& pool, std::uint32_t slot) {
  std::uint32_t least = last_phase;
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) least = std::min(least, phase_of(pool, slot, rank));
  return least;
}

bool any_is_past_phase(const Pool& pool, std::uint32_t slot, std::uint32_t phase) {
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (pool.rank_phase(slot, rank).load(std::memory_order_acquire) > phase) return true;
  }
  return false;
}

std::vector<int> node_ranks_before_phase(const Pool& pool, std::uint32_t slot, std::uint32_t phase) {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (phase_of(pool, slot, rank) < phase) ranks.push_back(rank);
  }
  return ranks;
}

std::vector<int> ranks_before_phase(const Pool& pool, std::uint32_t slot, std::uint32_t phase) {
  std::vector<int> ranks = node_ranks_before_phase(pool, slot, phase);
  for (int& rank : ranks) rank = pool.job_rank(rank);
  return ranks;
}

}  // namespace glean::pool
