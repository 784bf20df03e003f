// SPDX-License-Identifier: BSD-3-Clause
//
// The order in which writes of bytes of one node take effect: collective calls on an output are one after the other, whatever the time at
// which each rank makes them. A rank's collective count is how many of them it has begun and ended, both counted: it is odd inside of a
// call. What a rank writes has the rank's count in its stamp, and goes into the file when all ranks have counted as far: so ranks need not
// wait for each other to write, and no rank finds in the file what another has written in a later call than its own.
#pragma once

#include <cstdint>
#include <vector>

#include "pool/pool.hpp"

namespace glean::pool {

// No rank will write with a lower count any more.
inline constexpr std::uint32_t last_collective_count = static_cast<std::uint32_t>(WriteStamp::last_order);

// The least of the ranks that have not closed the output; last_collective_count if all have.
[[nodiscard]] std::uint32_t least_collective_count(const Pool& pool, std::uint32_t slot);
[[nodiscard]] bool any_is_past_collective_count(const Pool& pool, std::uint32_t slot, std::uint32_t collective_count);
// Those that have not counted as far; and the same by their numbers in the session, for messages.
[[nodiscard]] std::vector<int> node_ranks_before_collective_count(const Pool& pool, std::uint32_t slot, std::uint32_t collective_count);
[[nodiscard]] std::vector<int> ranks_before_collective_count(const Pool& pool, std::uint32_t slot, std::uint32_t collective_count);

}  // namespace glean::pool
