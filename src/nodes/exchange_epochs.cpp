// SPDX-License-Identifier: BSD-3-Clause
//
// What nodes tell each other of outputs of bytes: how far they are with the epochs, and that others have the file open.
#include "nodes/exchange.hpp"
#include "pool/epochs.hpp"
#include "pool/other_handles.hpp"

namespace glean::nodes {

void Exchange::add_epochs(const pool::OutputSlot& slot, NodeProgress& mine) const {
  if (slot.is_bytes.load(std::memory_order_acquire) == 0) return;
  const auto get = [](const auto& word) { return word.load(std::memory_order_acquire); };
  mine.latest_epoch = pool::epoch_of(slot);
  mine.written_epoch = get(slot.written_epoch);
  mine.wanted_epoch = get(slot.wanted_epoch);
  mine.written_bytes = get(pool_.header().written_bytes);
  mine.others_somewhere = mine.others_everywhere = pool::have_others(slot) ? 1 : 0;
}

void Exchange::apply_epochs(pool::OutputSlot& slot, const NodeProgress& of_all) {
  if (slot.is_bytes.load(std::memory_order_acquire) == 0) return;
  // A node that has heard of an epoch writes in no earlier one: so none keeps others waiting that writes nothing itself.
  pool::raise_epoch(pool_, of_all.latest_epoch);
  pool_.header().job_written_bytes.store(of_all.written_bytes, std::memory_order_relaxed);
  pool::raise(slot.job_written_epoch, of_all.written_epoch);
  if (of_all.others_somewhere != 0 && !pool::have_others(slot)) pool::tell_of_others(slot);
  if (of_all.others_everywhere != 0) slot.other_handles.fetch_or(pool::all_nodes_know);
  if (of_all.wanted_epoch > slot.written_epoch.load(std::memory_order_acquire)) pool::raise(slot.write_up_to, pool::writes_begun(slot));
}

}  // namespace glean::nodes
