// SPDX-License-Identifier: BSD-3-Clause
#include "drain/takeover_log.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "pool/description.hpp"

namespace glean::drain {
namespace {

constexpr std::uint64_t crowded_max_ns = 1'000'000'000;   // ranks take chunks as fast as they become free

}  // namespace

void TakeoverLog::read() {
  const pool::OutputSlot& slot = output_.slot;
  // A drain that was killed between the two has marked records whose copies are not there.
  const pool::SlotSteps& steps = slot.steps;
  logging_is_done_ = steps.takeover_log.load(std::memory_order_acquire) != steps.takeover_log_before.load(std::memory_order_acquire);
  pool::DescriptionInPool log = pool::read_takeover_log(output_.pool, output_.key);
  chunks_ = std::move(log.chunks);
  if (!log.bytes.empty()) inherited_ = decode_logged_puts(log.bytes);
}

void TakeoverLog::release(std::uint64_t last_step) {
  while (!in_journals_.empty() && in_journals_.begin()->first <= last_step) {
    const auto records = in_journals_.extract(in_journals_.begin());
    for (const TakenRecord& each : records.mapped()) output_.retire(each);
  }
  in_chunks_.erase(in_chunks_.begin(), in_chunks_.upper_bound(last_step));
  release_chunks_if_unused();
}

void TakeoverLog::release_chunks_if_unused() {
  if (!in_chunks_.empty() || chunks_.empty()) return;
  output_.slot.steps.takeover_log.store(0, std::memory_order_release);
  for (const std::uint32_t chunk : std::exchange(chunks_, {})) output_.pool.drop_reference(chunk);
  output_.space_returned = true;
}

void TakeoverLog::make_room(Bytes room_bytes, Bytes highest_end) {
  const Records leaving = take_those_in_full_journals();
  if (leaving.empty()) return;
  const Logged logged = log(leaving, room_bytes);
  const std::uint64_t now = base::now_ns();
  if (logged != Logged::no_free_chunk) crowded_since_ns_ = 0;
  else if (crowded_since_ns_ == 0) crowded_since_ns_ = now;
  if (logged == Logged::no_free_chunk && now - crowded_since_ns_ < crowded_max_ns) {
    for (const auto& [until, records] : leaving) in_journals_[until].insert(in_journals_[until].end(), records.begin(), records.end());
    return;   // the rank that waits asks again
  }
  if (logged != Logged::done) give_up(highest_end);
  for (const auto& [until, records] : leaving) {
    for (const TakenRecord& each : records) output_.retire(each);
  }
}

TakeoverLog::Records TakeoverLog::take_those_in_full_journals() {
  Records leaving;
  for (auto& [until, records] : in_journals_) {
    const auto has_room = [](const TakenRecord& each) { return !each.journal->is_full(); };
    const auto first = std::stable_partition(records.begin(), records.end(), has_room);
    if (first == records.end()) continue;
    leaving[until].assign(first, records.end());
    records.erase(first, records.end());
  }
  std::erase_if(in_journals_, [](const auto& entry) { return entry.second.empty(); });
  return leaving;
}

TakeoverLog::Logged TakeoverLog::log(const Records& leaving, Bytes room_bytes) {
  auto logged = in_chunks_;
  for (const auto& [until, records] : leaving) {
    for (const TakenRecord& each : records) logged[until].push_back(logged_put(output_.pool, *each.record, each.journal->rank()));
  }
  std::vector<LoggedPut> all;
  for (auto& [until, puts] : logged) {
    puts = join(std::move(puts));
    all.insert(all.end(), puts.begin(), puts.end());
  }
  const auto bytes = encode(all);
  if (bytes.size() > room_bytes) return Logged::no_room;
  auto parts = pool::write_parts(output_.pool, output_.key, bytes);
  if (!parts) return Logged::no_free_chunk;
  // In this order: the drain that takes over knows of each record whether what it says is in the chunks as well.
  pool::OutputSlot& slot = output_.slot;
  slot.steps.takeover_log_before.store(slot.steps.takeover_log.load());
  for (const auto& [until, records] : leaving) {
    for (const TakenRecord& each : records) each.journal->mark(*each.record, pool::RecordState::logging);
  }
  slot.steps.takeover_log.store(parts->newest);
  for (const std::uint32_t chunk : std::exchange(chunks_, std::move(parts->chunks))) output_.pool.drop_reference(chunk);
  in_chunks_ = std::move(logged);
  return Logged::done;
}

// What they say about the reach of the file is kept; what they say about holes is not.
void TakeoverLog::give_up(Bytes highest_end) {
  pool::OutputSlot& slot = output_.slot;
  if (slot.steps.records_given_up.exchange(1) == 0) {
    base::log(base::LogLevel::warning,
              "'{}': the pool is too small for what has to be known of its puts; if this job is killed the file may be lost: "
              "raise pool.budget", output_.trace.path);
  }
  slot.steps.highest_end.store(std::max(slot.steps.highest_end.load(), highest_end), std::memory_order_release);
}

}  // namespace glean::drain
