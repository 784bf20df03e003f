// SPDX-License-Identifier: BSD-3-Clause
#include "drain/kept_puts.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"

namespace glean::drain {
namespace {

constexpr std::uint32_t full_share = 4;   // of the chunks; when more than one in so many is in use, stagers are asked for durable steps

}  // namespace

void KeptPuts::keep(std::uint64_t step, const Kept& kept) {
  const auto& variables = output_.description.layout.variables;
  const bool is_filled = std::any_of(variables.begin(), variables.end(), [](const auto& variable) { return variable.fill; });
  records_[is_filled ? no_step : step].push_back(kept);
}

std::vector<KeptPuts::Kept> KeptPuts::take_all() {
  std::vector<Kept> all;
  for (const auto& [step, records] : std::exchange(records_, {})) all.insert(all.end(), records.begin(), records.end());
  return all;
}

std::uint64_t KeptPuts::durable_steps() const {
  const auto& durable = output_.description.is_bytes ? output_.slot.writes.job_durable_tick : output_.slot.nodes.job_steps_synchronized;
  return durable.load(std::memory_order_acquire);
}

void KeptPuts::look() {
  const std::uint64_t durable = durable_steps();
  if (durable != 0) release(durable - 1);
  const pool::PoolHeader& header = output_.pool.header();
  if (records_.empty() || header.used_chunks.load(std::memory_order_relaxed) <= header.chunk_count / full_share) return;
  ask_for_durable_steps();
}

void KeptPuts::release(std::uint64_t last_step) {
  while (!records_.empty() && records_.begin()->first <= last_step) {
    const auto records = records_.extract(records_.begin());
    for (const Kept& each : records.mapped()) output_.retire(each.taken);
  }
}

// All that was written so far is in a tick before the next then.
void KeptPuts::ask_for_durable_ticks() {
  pool::SlotWrites& writes = output_.slot.writes;
  if (writes.wanted_durable_tick.load(std::memory_order_acquire) > durable_steps()) return;   // it has asked
  pool::raise_tick(output_.pool, pool::proposed_tick(output_.pool));
  const std::uint64_t tick = pool::tick_of(output_.slot);
  pool::raise(writes.wanted_tick, tick);
  pool::raise(writes.wanted_durable_tick, tick);
  pool::futex_signal(output_.pool.header().progress);   // the exchange sleeps on it
}

void KeptPuts::ask_for_durable_steps() {
  if (output_.description.is_bytes) return ask_for_durable_ticks();
  auto& up_to = output_.slot.steps.synchronize_up_to;
  const std::uint64_t ended = output_.slot.nodes.job_steps_ended.load(std::memory_order_acquire);
  std::uint64_t wanted = up_to.load(std::memory_order_relaxed);
  while (wanted < ended && !up_to.compare_exchange_weak(wanted, ended)) {}
}

bool KeptPuts::will_make_room() {
  if (records_.empty()) return false;
  ask_for_durable_steps();
  if (output_.description.is_bytes || output_.slot.nodes.job_closed.load(std::memory_order_acquire) != 0) return true;
  return records_.begin()->first < output_.slot.nodes.job_steps_ended.load(std::memory_order_acquire);
}

void KeptPuts::give_up() {
  if (records_.empty() || output_.description.is_bytes) return;
  const std::uint64_t last = records_.rbegin()->first;
  // Before it goes: a process that reads this must not take the rest for all.
  auto& kept_from = output_.slot.nodes.kept_from_step;
  kept_from.store(std::max(kept_from.load(std::memory_order_relaxed), last == no_step ? no_step : last + 1), std::memory_order_release);
  if (!std::exchange(has_warned_, true)) {
    base::log(base::LogLevel::warning,
              "'{}': the pool does not hold all that is not durable of it: if a stager is lost for good meanwhile, so is this file; "
              "raise pool.budget", output_.trace.path);
  }
  release(no_step);
}

}  // namespace glean::drain
