// SPDX-License-Identifier: BSD-3-Clause
//
// The pointer that all ranks of a raw output share (MPI-IO's shared file pointer): a word. Its upper bits say how often it was
// set by a call of all ranks: the rank that comes first afterwards starts from there, and no rank waits for another that sets it.
#pragma once

#include <cstdint>

#include "pool/atomic.hpp"

namespace glean::pool {

struct SharedMove {
  std::uint64_t times_set = 0, start = 0;   // how often it was set, as this rank knows, and where to the last time
  std::uint64_t by = 0;
};

inline constexpr std::uint64_t no_position = ~std::uint64_t{0};   // it would go too far

// Returns where it was.
[[nodiscard]] inline std::uint64_t move_shared(Atomic<std::uint64_t>& word, const SharedMove& move) {
  constexpr int position_bits = 48;
  constexpr std::uint64_t position_mask = (std::uint64_t{1} << position_bits) - 1;
  std::uint64_t seen = word.load();
  for (;;) {
    // Another rank may be further on, which has set it already.
    const auto ahead = static_cast<std::int16_t>(static_cast<std::uint16_t>((seen >> position_bits) - move.times_set));
    const std::uint64_t times_set = ahead < 0 ? move.times_set : seen >> position_bits;
    const std::uint64_t position = ahead < 0 ? move.start : seen & position_mask;
    const std::uint64_t next = position + move.by;
    if (next > position_mask) return no_position;
    if (word.compare_exchange_weak(seen, (times_set & 0xffff) << position_bits | next)) return position;
  }
}

}  // namespace glean::pool
