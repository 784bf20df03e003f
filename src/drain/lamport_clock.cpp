// SPDX-License-Identifier: BSD-3-Clause
#include "drain/lamport_clock.hpp"

#include <iterator>

#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"

namespace glean::drain {

bool LamportClock::is_open(const pool::WriteStamp& write) {
  if (write.order <= output_.slot.writes.job_written_tick.load(std::memory_order_acquire)) return true;
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

// The tick that this node is in: all its writes in earlier ones are in the file, and no other will come.
void LamportClock::tell_written(std::uint64_t written, std::uint64_t taken) {
  pool::OutputSlot& slot = output_.slot;
  const auto next = pool::WriteStamp::of(slot.writes.begun.load());   // first: what is numbered later is not in an earlier tick
  while (ticks_.size() > 1 && std::next(ticks_.begin())->first <= written) ticks_.erase(ticks_.begin());
  std::uint64_t tick = 0;   // not known: a rank is just recording it
  if (written >= next.number) tick = output_.ranks == Ranks::gone ? pool::WriteStamp::last_order : next.order;
  else if (written < taken && !ticks_.empty()) tick = ticks_.begin()->second;
  else if (keeps_waiting(written)) tick = waiting_->order;
  if (tick <= slot.writes.written_tick.load(std::memory_order_relaxed)) return;
  slot.writes.written_tick.store(tick, std::memory_order_release);
  pool::futex_signal(output_.pool.header().progress);
}

}  // namespace glean::drain
