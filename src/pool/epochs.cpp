// SPDX-License-Identifier: BSD-3-Clause
#include "pool/epochs.hpp"

#include <algorithm>

namespace glean::pool {
namespace {

bool is_written_by_nodes(const OutputSlot& slot) {
  return slot.state.load(std::memory_order_acquire) == OutputState::open && slot.is_bytes.load(std::memory_order_relaxed) != 0;
}

}  // namespace

void raise_epoch(OutputSlot& slot, std::uint64_t epoch) {
  std::uint64_t word = slot.writes_begun.load();
  for (;;) {
    const WriteStamp next = WriteStamp::of(word);
    if (next.epoch >= epoch) return;
    if (slot.writes_begun.compare_exchange_weak(word, WriteStamp{epoch, next.number}.word())) {
      slot.raised_at_write.store(next.number);
      return;
    }
  }
}

std::uint64_t proposed_epoch(const Pool& pool) {
  bool has_written = false;
  for (std::uint32_t index = 0; index < output_slots && !has_written; ++index) {
    const OutputSlot& slot = pool.slot(index);
    has_written = is_written_by_nodes(slot) && writes_begun(slot) != slot.raised_at_write.load();
  }
  // Last: who has raised a slot has raised this one before, so if nothing seems to be written, it is later than all that is.
  const std::uint64_t epoch = pool.header().epoch.load();
  return has_written ? std::min(epoch + 1, WriteStamp::last_epoch) : epoch;
}

void raise_epoch(const Pool& pool, std::uint64_t epoch) {
  raise(pool.header().epoch, epoch);
  for (std::uint32_t index = 0; index < output_slots; ++index) {
    OutputSlot& slot = pool.slot(index);
    if (is_written_by_nodes(slot)) raise_epoch(slot, epoch);
  }
}

}  // namespace glean::pool
