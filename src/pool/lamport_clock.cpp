// SPDX-License-Identifier: BSD-3-Clause
#include "pool/lamport_clock.hpp"

#include <algorithm>

namespace glean::pool {
namespace {

bool is_written_by_nodes(const OutputSlot& slot) {
  return slot.state.load(std::memory_order_acquire) == OutputState::open && slot.is_bytes.load(std::memory_order_relaxed) != 0;
}

}  // namespace

void raise_tick(OutputSlot& slot, std::uint64_t tick) {
  std::uint64_t word = slot.writes.begun.load();
  for (;;) {
    const WriteStamp next = WriteStamp::of(word);
    if (next.order >= tick) return;
    if (slot.writes.begun.compare_exchange_weak(word, WriteStamp{tick, next.number}.word())) {
      slot.writes.raised_at_write.store(next.number);
      return;
    }
  }
}

std::uint64_t proposed_tick(const Pool& pool) {
  bool has_written = false;
  for (std::uint32_t index = 0; index < output_slots && !has_written; ++index) {
    const OutputSlot& slot = pool.slot(index);
    has_written = is_written_by_nodes(slot) && writes_begun(slot) != slot.writes.raised_at_write.load();
  }
  // Last: a rank that has raised a slot has raised this one before, so if nothing seems to be written, it is later than all that is.
  const std::uint64_t tick = pool.header().lamport_tick.load();
  return has_written ? std::min(tick + 1, WriteStamp::last_order) : tick;
}

void raise_tick(const Pool& pool, std::uint64_t tick) {
  raise(pool.header().lamport_tick, tick);
  for (std::uint32_t index = 0; index < output_slots; ++index) {
    OutputSlot& slot = pool.slot(index);
    if (is_written_by_nodes(slot)) raise_tick(slot, tick);
  }
}

}  // namespace glean::pool
