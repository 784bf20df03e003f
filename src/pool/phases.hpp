// SPDX-License-Identifier: BSD-3-Clause
//
// In which order writes of bytes of one node take effect: collective calls on an output are one after the other, whatever the time at
// which each rank makes them. A rank's phase is how many of them it has begun and ended, both counted: it is odd inside of a call. What a
// rank writes has its phase in its stamp, and goes into the file when all ranks are in that phase or a later one: so ranks need not wait
// for each other to write, and nobody finds in the file what another has written in a later call than his own.
#pragma once

#include <cstdint>
#include <vector>

#include "pool/pool.hpp"

namespace glean::pool {

// No rank will write in an earlier one any more.
inline constexpr std::uint32_t last_phase = static_cast<std::uint32_t>(WriteStamp::last_epoch);

// The least of the ranks that have not closed the output; last_phase if all have.
[[nodiscard]] std::uint32_t least_phase(const Pool& pool, std::uint32_t slot);
[[nodiscard]] bool any_is_past_phase(const Pool& pool, std::uint32_t slot, std::uint32_t phase);
// Those that are not there yet.
[[nodiscard]] std::vector<int> node_ranks_before_phase(const Pool& pool, std::uint32_t slot, std::uint32_t phase);
// The same by their numbers in the session, for messages.
[[nodiscard]] std::vector<int> ranks_before_phase(const Pool& pool, std::uint32_t slot, std::uint32_t phase);

}  // namespace glean::pool
