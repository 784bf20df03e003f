// SPDX-License-Identifier: BSD-3-Clause
#include "pool/collective_count.hpp"

#include <algorithm>

namespace glean::pool {
namespace {

std::uint32_t count_of(const Pool& pool, std::uint32_t slot, int rank) {
  const std::uint32_t count = pool.collective_count(slot, rank).load(std::memory_order_acquire);
  return (pool.rank_progress(slot, rank).load(std::memory_order_acquire) & rank_closed) != 0 ? last_collective_count : count;
}

}  // namespace

std::uint32_t least_collective_count(const Pool& pool, std::uint32_t slot) {
  std::uint32_t least = last_collective_count;
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) least = std::min(least, count_of(pool, slot, rank));
  return least;
}

bool any_is_past_collective_count(const Pool& pool, std::uint32_t slot, std::uint32_t collective_count) {
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (pool.collective_count(slot, rank).load(std::memory_order_acquire) > collective_count) return true;
  }
  return false;
}

std::vector<int> node_ranks_before_collective_count(const Pool& pool, std::uint32_t slot, std::uint32_t collective_count) {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (count_of(pool, slot, rank) < collective_count) ranks.push_back(rank);
  }
  return ranks;
}

std::vector<int> ranks_before_collective_count(const Pool& pool, std::uint32_t slot, std::uint32_t collective_count) {
  std::vector<int> ranks = node_ranks_before_collective_count(pool, slot, collective_count);
  for (int& rank : ranks) rank = pool.job_rank(rank);
  return ranks;
}

}  // namespace glean::pool
