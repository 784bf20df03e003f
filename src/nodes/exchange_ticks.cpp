// SPDX-License-Identifier: BSD-3-Clause
//
// What nodes tell each other of raw outputs: how far they are with the ticks, and that others have the file open.
#include <algorithm>

#include "nodes/exchange.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/other_handles.hpp"

namespace glean::nodes {

void Exchange::apply_ticks(pool::OutputSlot& slot, const NodeProgress& of_all) {
  if (slot.is_bytes.load(std::memory_order_acquire) == 0) return;
  // A node that has heard of a tick writes in no earlier one: so none keeps others waiting that writes nothing itself.
  pool::raise_tick(pool_, of_all.latest_tick);
  pool_.header().job_written_bytes.store(of_all.written_bytes, std::memory_order_relaxed);
  // What one node has given back all others do not send again: so a client hears first of what is durable, and then begins.
  const std::uint64_t durable = std::max(of_all.durable_tick, of_all.known_durable_tick);
  pool::raise(slot.writes.job_durable_tick, of_all.part_durable != 0 ? pool::WriteStamp::last_order : durable);
  if (of_all.begun_anew >= sent_again_since_) {   // else it may be from before this client has begun to send again
    pool::raise(slot.writes.job_written_tick, of_all.written_tick);
    pool::raise(slot.writes.job_sent_tick, of_all.sent_tick);
  }
  pool::raise(slot.writes.wanted_durable_tick, of_all.wanted_durable_tick);
  if (of_all.others_somewhere != 0 && !pool::have_others(slot)) pool::tell_of_others(slot);
  if (of_all.others_everywhere != 0) slot.other_handles.fetch_or(pool::all_nodes_know);
  pool::SlotWrites& writes = slot.writes;
  if (of_all.wanted_tick > writes.written_tick.load(std::memory_order_acquire)) pool::raise(writes.write_up_to, pool::writes_begun(slot));
}

}  // namespace glean::nodes
