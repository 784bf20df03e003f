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
  moving_is_moved_ = slot.kept.load(std::memory_order_acquire) != slot.kept_before.load(std::memory_order_acquire);
  pool::DescriptionInPool kept = pool::read_kept(output_.pool, output_.key);
  chunks_ = std::move(kept.chunks);
  if (!kept.bytes.empty()) inherited_ = decode_kept_puts(kept.bytes);
}

void TakeoverLog::release(std::uint64_t last_step) {
  while (!kept_.empty() && kept_.begin()->first <= last_step) {
    const auto kept = kept_.extract(kept_.begin());
    for (const TakenRecord& each : kept.mapped()) output_.retire(each);
  }
  moved_.erase(moved_.begin(), moved_.upper_bound(last_step));
  release_chunks_if_unused();
}

void TakeoverLog::release_chunks_if_unused() {
  if (!moved_.empty() || chunks_.empty()) return;
  output_.slot.kept.store(0, std::memory_order_release);
  for (const std::uint32_t chunk : std::exchange(chunks_, {})) output_.pool.drop_reference(chunk);
  output_.space_returned = true;
}

void TakeoverLog::make_room(Bytes room_bytes, Bytes highest_end) {
  const Records leaving = take_those_in_full_journals();
  if (leaving.empty()) return;
  const Move moved = move(leaving, room_bytes);
  const std::uint64_t now = base::now_ns();
  if (moved != Move::no_free_chunk) crowded_since_ns_ = 0;
  else if (crowded_since_ns_ == 0) crowded_since_ns_ = now;
  if (moved == Move::no_free_chunk && now - crowded_since_ns_ < crowded_max_ns) {
    for (const auto& [until, kept] : leaving) kept_[until].insert(kept_[until].end(), kept.begin(), kept.end());
    return;   // the rank that waits asks again
  }
  if (moved != Move::done) forget(highest_end);
  for (const auto& [until, kept] : leaving) {
    for (const TakenRecord& each : kept) output_.retire(each);
  }
}

TakeoverLog::Records TakeoverLog::take_those_in_full_journals() {
  Records leaving;
  for (auto& [until, kept] : kept_) {
    const auto first = std::stable_partition(kept.begin(), kept.end(), [](const TakenRecord& each) { return !each.journal->is_full(); });
    if (first == kept.end()) continue;
    leaving[until].assign(first, kept.end());
    kept.erase(first, kept.end());
  }
  std::erase_if(kept_, [](const auto& entry) { return entry.second.empty(); });
  return leaving;
}

TakeoverLog::Move TakeoverLog::move(const Records& leaving, Bytes room_bytes) {
  auto moved = moved_;
  for (const auto& [until, kept] : leaving) {
    for (const TakenRecord& each : kept) moved[until].push_back(kept_put(output_.pool, *each.record, each.journal->rank()));
  }
  std::vector<KeptPut> all;
  for (auto& [until, puts] : moved) {
    puts = join(std::move(puts));
    all.insert(all.end(), puts.begin(), puts.end());
  }
  const auto bytes = encode(all);
  if (bytes.size() > room_bytes) return Move::no_room;
  auto parts = pool::write_parts(output_.pool, output_.key, bytes);
  if (!parts) return Move::no_free_chunk;
  // In this order: the drain that takes over knows of each record whether what it says is in the chunks as well.
  pool::OutputSlot& slot = output_.slot;
  slot.kept_before.store(slot.kept.load());
  for (const auto& [until, kept] : leaving) {
    for (const TakenRecord& each : kept) each.journal->mark(*each.record, pool::RecordState::moving);
  }
  slot.kept.store(parts->newest);
  for (const std::uint32_t chunk : std::exchange(chunks_, std::move(parts->chunks))) output_.pool.drop_reference(chunk);
  moved_ = std::move(moved);
  return Move::done;
}

// What they say about the reach of the file is kept; what they say about holes is not.
void TakeoverLog::forget(Bytes highest_end) {
  pool::OutputSlot& slot = output_.slot;
  if (slot.forgotten.exchange(1) == 0) {
    base::log(base::LogLevel::warning,
              "'{}': the pool is too small for what has to be known of its puts; if this job is killed the file may be lost: "
              "raise pool.budget", output_.trace.path);
  }
  slot.highest_end.store(std::max(slot.highest_end.load(), highest_end), std::memory_order_release);
}

}  // namespace glean::drain
