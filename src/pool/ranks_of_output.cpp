// SPDX-License-Identifier: BSD-3-Clause
#include "pool/ranks_of_output.hpp"

#include <algorithm>

namespace glean::pool {
namespace {

template <class Condition>
std::vector<int> ranks_where(const Pool& pool, std::uint32_t slot, Condition holds) {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (holds(pool.rank_progress(slot, rank).load(std::memory_order_acquire))) ranks.push_back(pool.job_rank(rank));
  }
  return ranks;
}

}  // namespace

RanksOfOutput ranks_of_output(const Pool& pool, std::uint32_t slot) noexcept {
  RanksOfOutput ranks;
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    const std::uint32_t progress = pool.rank_progress(slot, rank).load(std::memory_order_acquire);
    const bool closed = (progress & rank_closed) != 0, abandoned = (progress & rank_abandoned) != 0;
    ranks.steps_ended = std::min(ranks.steps_ended, progress & rank_steps);
    ranks.most_ended = std::max(ranks.most_ended, progress & rank_steps);
    ranks.all_closed &= closed;
    ranks.any_closed |= closed;
    ranks.all_abandoned &= abandoned;
    ranks.any_abandoned |= abandoned;
  }
  return ranks;
}

std::vector<int> ranks_before_step(const Pool& pool, std::uint32_t slot, std::uint64_t steps) {
  return ranks_where(pool, slot, [&](std::uint32_t progress) { return (progress & rank_steps) < steps; });
}

std::vector<int> ranks_with_output_open(const Pool& pool, std::uint32_t slot) {
  return ranks_where(pool, slot, [](std::uint32_t progress) { return (progress & rank_closed) == 0; });
}

std::vector<int> ranks_that_abandoned(const Pool& pool, std::uint32_t slot) {
  return ranks_where(pool, slot, [](std::uint32_t progress) { return (progress & rank_abandoned) != 0; });
}

}  // namespace glean::pool
