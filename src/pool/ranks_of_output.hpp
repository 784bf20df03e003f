// SPDX-License-Identifier: BSD-3-Clause
//
// How far the ranks of this node are with an output, as they have said it: all that they recorded before is in their journals.
#pragma once

#include <vector>

#include "pool/pool.hpp"

namespace glean::pool {

struct RanksOfOutput {
  std::uint32_t steps_ended = rank_steps;   // by all
  std::uint32_t most_ended = 0;             // by any
  bool all_closed = true, any_closed = false;
  bool all_abandoned = true, any_abandoned = false;
};

// Local, does not block, allocates nothing.
[[nodiscard]] RanksOfOutput ranks_of_output(const Pool& pool, std::uint32_t slot) noexcept;

// Ranks of the job.
[[nodiscard]] std::vector<int> ranks_before_step(const Pool& pool, std::uint32_t slot, std::uint64_t steps);   // have ended fewer
[[nodiscard]] std::vector<int> ranks_with_output_open(const Pool& pool, std::uint32_t slot);
[[nodiscard]] std::vector<int> ranks_that_abandoned(const Pool& pool, std::uint32_t slot);

}  // namespace glean::pool
