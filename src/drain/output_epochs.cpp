// SPDX-License-Identifier: BSD-3-Clause
//
// An output of bytes that ranks of several nodes write. Each node writes what its own ranks have captured, in the order of its numbers,
// and the nodes go through the epochs together (pool/epochs.hpp): writes of an epoch go into the file when those of all earlier ones,
// of all nodes, are in it. Writes of different nodes in one epoch were made at the same time: which of them stays is not defined.
#include <algorithm>

#include "drain/output_drain.hpp"
#include "pool/epochs.hpp"
#include "pool/futex.hpp"

namespace glean::drain {

// Whether writes of that epoch may go into the file now: those of all earlier ones are. If not, other nodes hear what is waited for.
bool OutputDrain::is_epoch_open(std::uint64_t epoch) {
  if (!nodes_ || epoch <= output_.slot.job_written_epoch.load(std::memory_order_acquire)) return true;
  found_waiting({epoch, next_write_});
  return false;
}

void OutputDrain::found_waiting(const pool::WriteStamp& write) {
  kept_waiting_ = write;
  // Whoever talks to other nodes sleeps on it.
  if (pool::raise(output_.slot.wanted_epoch, write.epoch)) pool::futex_signal(output_.pool.header().progress);
}

void OutputDrain::saw_epoch(const pool::WriteStamp& write) {
  if (epochs_.empty() || std::prev(epochs_.end())->second != write.epoch) epochs_.emplace_hint(epochs_.end(), write.number, write.epoch);
}

// All writes of this node in earlier epochs are in the file, and no other will come.
void OutputDrain::tell_written_epoch() {
  const auto next = pool::WriteStamp::of(output_.slot.writes_begun.load());   // first: what is numbered later is not in an earlier epoch
  while (epochs_.size() > 1 && std::next(epochs_.begin())->first <= writes_written_) epochs_.erase(epochs_.begin());
  std::uint64_t epoch = 0;   // not known: a rank is just recording it
  if (writes_written_ >= next.number) epoch = output_.ranks == Ranks::gone ? pool::WriteStamp::last_epoch : next.epoch;
  else if (writes_written_ < next_write_ && !epochs_.empty()) epoch = epochs_.begin()->second;
  else if (kept_waiting_ && kept_waiting_->number == writes_written_) epoch = kept_waiting_->epoch;
  if (epoch <= output_.slot.written_epoch.load(std::memory_order_relaxed)) return;
  output_.slot.written_epoch.store(epoch, std::memory_order_release);
  pool::futex_signal(output_.pool.header().progress);
}

}  // namespace glean::drain
