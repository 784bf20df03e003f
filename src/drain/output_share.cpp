// SPDX-License-Identifier: BSD-3-Clause
//
// An output that several nodes write: what it asks its NodeShare.
#include <algorithm>
#include <utility>

#include "drain/output_drain.hpp"
#include "pool/futex.hpp"

namespace glean::drain {

void OutputDrain::look_at_nodes() {
  nodes_->look();
  output_.all_closed = output_.all_closed && !lacks_writes();
}

void OutputDrain::tell_other_nodes() {
  if (output_.description.is_bytes) tell_written_epoch();
  nodes_->tell_sent();
}

// Its part of the file is made durable; when those of all nodes are, one of them publishes.
void OutputDrain::complete_part() {
  if (!std::exchange(part_queued_, true)) {
    synchronizing_ = true;
    return queue(Job::Kind::synchronize);
  }
  if (output_.slot.part_durable.exchange(1) == 0) pool::futex_signal(output_.pool.header().progress);
  if (publishes()) {
    if (output_.slot.job_parts_durable.load(std::memory_order_acquire) == 0) return;
    last_job_queued_ = true;
    queue(Job::Kind::publish);
  } else if (output_.slot.job_published.load(std::memory_order_acquire) != 0) {
    published();
  }
}

std::uint64_t OutputDrain::records() const {
  return std::min(std::max(records_, nodes_ ? nodes_->records() : 0), output_.steps.written);
}

Bytes OutputDrain::highest_end() const { return std::max(settled_end_, nodes_ ? nodes_->highest_end() : 0); }

}  // namespace glean::drain
