// SPDX-License-Identifier: BSD-3-Clause
#include "drain/lamport_clock.hpp"

#include <algorithm>
#include <iterator>

#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"

namespace glean::drain {

// To a stager what is written comes in order: a node sends it when the writes of all earlier ticks are with the stagers.
bool LamportClock::is_open(const pool::WriteStamp& write) {
  if (output_.pool.is_stager()) return true;
  const pool::SlotWrites& writes = output_.slot.writes;
  const auto& open = output_.pool.is_staged() ? writes.job_sent_tick : writes.job_written_tick;
  if (write.order <= open.load(std::memory_order_acquire)) return true;
  found_waiting(write);
  return false;
}

void LamportClock::found_waiting(const pool::WriteStamp& write) {
  waiting_ = write;
  // The exchange with other nodes sleeps on it.
  if (pool::raise(output_.slot.writes.wanted_tick, write.order)) pool::futex_signal(output_.pool.header().progress);
}

void LamportClock::took(const pool::WriteStamp& write) {
  if (ticks_.empty() || std::prev(ticks_.end())->second != write.order) ticks_.emplace_hint(ticks_.end(), write.number, write.order);
}

void LamportClock::begin_again(const pool::WriteStamp& first) {
  ticks_.clear();
  output_.slot.writes.written_tick.store(std::min(first.order, output_.slot.writes.written_tick.load()), std::memory_order_release);
}

// The tick that this node is in: all its writes in earlier ones are in the file, and no other will come. Those of a stager are the writes
// of nodes that say which ones it has.
void LamportClock::tell_written(std::uint64_t written, std::uint64_t taken) {
  pool::OutputSlot& slot = output_.slot;
  const bool is_stager = output_.pool.is_stager();
  const std::uint64_t come = is_stager ? slot.writes.job_sent_tick.load(std::memory_order_acquire) : pool::WriteStamp::last_order;
  const auto next = pool::WriteStamp::of(slot.writes.begun.load());   // first: what is numbered later is not in an earlier tick
  while (ticks_.size() > 1 && std::next(ticks_.begin())->first <= written) ticks_.erase(ticks_.begin());
  std::uint64_t tick = 0;   // not known: a rank is just recording it
  if (written >= next.number) tick = is_stager || output_.ranks == Ranks::gone ? come : next.order;
  else if (written < taken && !ticks_.empty()) tick = ticks_.begin()->second;
  else if (keeps_waiting(written)) tick = waiting_->order;
  tick = std::min(tick, come);
  if (tick <= slot.writes.written_tick.load(std::memory_order_relaxed)) return;
  slot.writes.written_tick.store(tick, std::memory_order_release);
  pool::futex_signal(output_.pool.header().progress);
}

bool LamportClock::wants_synchronized() const {
  const pool::SlotWrites& writes = output_.slot.writes;
  const std::uint64_t wanted = writes.wanted_durable_tick.load(std::memory_order_acquire);
  return output_.pool.is_stager() && wanted > writes.durable_tick.load(std::memory_order_relaxed) &&
         writes.written_tick.load(std::memory_order_relaxed) >= wanted;
}

}  // namespace glean::drain
