// SPDX-License-Identifier: BSD-3-Clause
//
// In which order writes of bytes of several nodes take effect: a logical clock (Lamport 1978) whose ticks are called epochs. A write is
// made in the epoch of its node. A node's epoch only grows: when ranks of several nodes synchronize, all that they write after it is in a
// later epoch than all that any of them has written before; and when a node hears of a later one.
#pragma once

#include <cstdint>

#include "pool/pool.hpp"

namespace glean::pool {

// How many writes ranks of this node have numbered so far.
[[nodiscard]] inline std::uint64_t writes_begun(const OutputSlot& slot) { return WriteStamp::of(slot.writes_begun.load()).number; }
// Makes the word at least so much. True: it was less.
inline bool raise(Atomic<std::uint64_t>& word, std::uint64_t value) {
  std::uint64_t found = word.load();
  while (found < value && !word.compare_exchange_weak(found, value)) {}
  return found < value;
}
// In which the next one is made.
[[nodiscard]] inline std::uint64_t epoch_of(const OutputSlot& slot) { return WriteStamp::of(slot.writes_begun.load()).epoch; }

// To synchronize: the greatest of what all ranks say is the epoch of them all afterwards. Not a new one as long as this node has written
// nothing in the last. Local.
[[nodiscard]] std::uint64_t proposed_epoch(const Pool& pool);
// Of this node, and of the outputs that are open; an earlier one changes nothing. Local.
void raise_epoch(const Pool& pool, std::uint64_t epoch);
// The same of one output.
void raise_epoch(OutputSlot& slot, std::uint64_t epoch);

}  // namespace glean::pool
