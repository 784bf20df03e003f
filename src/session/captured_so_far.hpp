// SPDX-License-Identifier: BSD-3-Clause
//
// What was captured of a raw output up to some moment, for a rank that waits until it is in the file.
#pragma once

#include <cstdint>

#include "pool/lamport_clock.hpp"
#include "session/byte_opening.hpp"
#include "session/core.hpp"

namespace glean::session {

// The drain tells this rank, among others, when more is written.
class WaitsForWrites {
 public:
  explicit WaitsForWrites(pool::OutputSlot& slot) : slot_(slot), generation_(slot.generation) { slot_.writes.waiting.fetch_add(1); }
  ~WaitsForWrites() {
    if (slot_.generation == generation_) slot_.writes.waiting.fetch_sub(1);
  }
  WaitsForWrites(const WaitsForWrites&) = delete;
  WaitsForWrites& operator=(const WaitsForWrites&) = delete;

 private:
  pool::OutputSlot& slot_;
  std::uint32_t generation_;   // it may have failed, and the slot be another's
};

// What any rank of the node has captured of an output before now, up to a collective count, and on several nodes what others have captured
// in earlier ticks of the Lamport clock.
class CapturedSoFar {
 public:
  CapturedSoFar(const Core& core, pool::OutputKey key, std::uint32_t collective_count)
      : slot_(core.pool().slot(key.slot)), generation_(key.generation), by_all_nodes_(core.pool().is_shared()),
        next_(next_write(core, slot_)) {
    if (!by_all_nodes_) next_.order = collective_count;
  }
  // The drain writes it, before it would do so by itself.
  void want_written() const {
    if (by_all_nodes_) pool::raise(slot_.writes.wanted_tick, next_.order);
    pool::raise(slot_.writes.write_up_to, next_.number);
  }
  // The drain writes through the page cache up to there.
  void want_to_read() const { pool::raise(slot_.writes.read_up_to, next_.number); }
  // It is in the file, or never will be.
  [[nodiscard]] bool is_written() const {
    const bool is_current = is_open(slot_) && slot_.generation.load(std::memory_order_acquire) == generation_;
    if (!is_current || slot_.error.load() != 0) return true;
    const bool all = slot_.writes.written.load(std::memory_order_acquire) >= next_.number;
    if (by_all_nodes_) return all && slot_.writes.job_written_tick.load(std::memory_order_acquire) >= next_.order;
    return all || slot_.writes.written_before.load(std::memory_order_acquire) >= next_.word();
  }

 private:
  // In a tick of its own, where stagers write: then all that is in earlier ones is theirs to write, also what this node has captured.
  [[nodiscard]] static pool::WriteStamp next_write(const Core& core, const pool::OutputSlot& slot) {
    if (core.pool().is_staged()) pool::raise_tick(core.pool(), pool::proposed_tick(core.pool()));
    return pool::WriteStamp::of(slot.writes.begun.load());
  }

  pool::OutputSlot& slot_;
  std::uint32_t generation_;
  bool by_all_nodes_;
  pool::WriteStamp next_;
};

}  // namespace glean::session
