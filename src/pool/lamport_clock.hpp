// SPDX-License-Identifier: BSD-3-Clause
//
// The order in which writes of bytes of several nodes take effect: a logical clock (Lamport 1978). A write is made in the tick of its
// node. A node's tick only grows: when ranks of several nodes synchronize, so that all that they write afterwards is in a later tick than
// all that any of them has written before; and when a node hears of a later one.
#pragma once

#include <cstdint>

#include "pool/pool.hpp"

namespace glean::pool {

// How many writes ranks of this node have numbered so far.
[[nodiscard]] inline std::uint64_t writes_begun(const OutputSlot& slot) { return WriteStamp::of(slot.writes.begun.load()).number; }
// Makes the word at least so much. True: it was less.
inline bool raise(Atomic<std::uint64_t>& word, std::uint64_t value) {
  std::uint64_t found = word.load();
  while (found < value && !word.compare_exchange_weak(found, value)) {}
  return found < value;
}
// The tick in which the next one is made.
[[nodiscard]] inline std::uint64_t tick_of(const OutputSlot& slot) { return WriteStamp::of(slot.writes.begun.load()).order; }

// To synchronize: the greatest of what all ranks say is the tick of them all afterwards. Not a new one as long as this node has written
// nothing in the last. Local.
[[nodiscard]] std::uint64_t proposed_tick(const Pool& pool);
// Raises the tick of this node, and of the outputs that are open; an earlier one changes nothing. Local.
void raise_tick(const Pool& pool, std::uint64_t tick);
// Raises that of one output.
void raise_tick(OutputSlot& slot, std::uint64_t tick);

}  // namespace glean::pool
