// SPDX-License-Identifier: BSD-3-Clause
//
// What is kept of an output in the pool for a drain that would come after this one.
#include <algorithm>

#include "drain/output_drain.hpp"

namespace glean::drain {

std::uint64_t OutputDrain::kept_for(const KeptPut& put) const {
  const auto& variable = output_.description.layout.variables[put.variable];
  return variable.fill && !variable.per_step() ? no_step : put.step;
}

void OutputDrain::written(const PendingPiece& pending) {
  if (output_.description.is_bytes) return bytes_written(pending);
  const bool whole_file = pending.variable->fill && !pending.variable->per_step();
  const bool is_known = pending.record->origin == pool::Origin::node;   // by the first of its put
  if (is_known || (!whole_file && !pending.variable->fill && pending.step < output_.steps.staged)) {
    return output_.retire(pending);
  }
  output_.spill.give_payload_back(*pending.record, *pending.journal);
  output_.space_returned = true;
  log_.keep(whole_file ? no_step : pending.step, pending);
}

void OutputDrain::settle(std::uint64_t step) {
  if (const auto it = reaches_.find(step); it != reaches_.end()) {
    settled_end_ = std::max(settled_end_, it->second.end);
    if (it->second.has_records) records_ = std::max(records_, step + 1);
    reaches_.erase(it);
  }
  output_.slot.records.store(records_, std::memory_order_release);
  output_.slot.highest_end.store(settled_end_, std::memory_order_release);
}

}  // namespace glean::drain
