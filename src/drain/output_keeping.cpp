// SPDX-License-Identifier: BSD-3-Clause
//
// What is kept of an output in the pool for a drain that would come after this one.
#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "drain/output_drain.hpp"

namespace glean::drain {
namespace {

constexpr std::uint64_t crowded_max_ns = 1'000'000'000;   // ranks take chunks as fast as they become free

}  // namespace

std::uint64_t OutputDrain::kept_for(const KeptPut& put) const {
  const auto& variable = description_.layout.variables[put.variable];
  return variable.fill && !variable.per_step() ? no_step : put.step;
}

void OutputDrain::written(const PendingPiece& pending) {
  if (description_.is_bytes) return bytes_written(pending);
  const bool whole_file = pending.variable->fill && !pending.variable->per_step();
  const bool is_known = pending.record->origin == pool::Origin::node;   // by the first of its put
  if (is_known || (!whole_file && !pending.variable->fill && pending.step < steps_staged_)) {
    return retire(*pending.record, *pending.journal);
  }
  spill_.give_payload_back(*pending.record, *pending.journal);
  space_returned_ = true;
  kept_[whole_file ? no_step : pending.step].push_back({pending.record, pending.journal});
}

void OutputDrain::settle(std::uint64_t step) {
  if (const auto it = reaches_.find(step); it != reaches_.end()) {
    settled_end_ = std::max(settled_end_, it->second.end);
    if (it->second.has_records) records_ = std::max(records_, step + 1);
    reaches_.erase(it);
  }
  slot_.records.store(records_, std::memory_order_release);
  slot_.highest_end.store(settled_end_, std::memory_order_release);
}

void OutputDrain::release_kept(std::uint64_t last_step) {
  while (!kept_.empty() && kept_.begin()->first <= last_step) {
    const auto kept = kept_.extract(kept_.begin());
    for (const Kept& each : kept.mapped()) retire(*each.record, *each.journal);
  }
  moved_.erase(moved_.begin(), moved_.upper_bound(last_step));
  release_moved_if_empty();
}

void OutputDrain::release_moved_if_empty() {
  if (!moved_.empty() || moved_chunks_.empty()) return;
  slot_.kept.store(0, std::memory_order_release);
  for (const std::uint32_t chunk : std::exchange(moved_chunks_, {})) pool_.drop_reference(chunk);
  space_returned_ = true;
}

// --- journals that are too small for one step

void OutputDrain::make_room_in_journals(Bytes room_bytes) {
  if (failed_ || postponed_) return;
  std::map<std::uint64_t, std::vector<Kept>> leaving;
  for (auto& [until, kept] : kept_) {
    const auto first = std::stable_partition(kept.begin(), kept.end(), [](const Kept& each) { return !each.journal->is_full(); });
    if (first == kept.end()) continue;
    leaving[until].assign(first, kept.end());
    kept.erase(first, kept.end());
  }
  if (leaving.empty()) return;
  const Move moved = move(leaving, room_bytes);
  const std::uint64_t now = base::now_ns();
  if (moved != Move::no_free_chunk) crowded_since_ns_ = 0;
  else if (crowded_since_ns_ == 0) crowded_since_ns_ = now;
  if (moved == Move::no_free_chunk && now - crowded_since_ns_ < crowded_max_ns) {
    for (const auto& [until, kept] : leaving) kept_[until].insert(kept_[until].end(), kept.begin(), kept.end());
    return;   // the rank that waits asks again
  }
  if (moved != Move::done) forget();
  for (const auto& [until, kept] : leaving) {
    for (const Kept& each : kept) retire(*each.record, *each.journal);
  }
  std::erase_if(kept_, [](const auto& entry) { return entry.second.empty(); });
}

OutputDrain::Move OutputDrain::move(const std::map<std::uint64_t, std::vector<Kept>>& leaving, Bytes room_bytes) {
  auto moved = moved_;
  for (const auto& [until, kept] : leaving) {
    for (const Kept& each : kept) moved[until].push_back(kept_put(pool_, *each.record, each.journal->rank()));
  }
  std::vector<KeptPut> all;
  for (auto& [until, puts] : moved) {
    puts = join(std::move(puts));
    all.insert(all.end(), puts.begin(), puts.end());
  }
  const auto bytes = encode(all);
  if (bytes.size() > room_bytes) return Move::no_room;
  auto parts = pool::write_parts(pool_, key_, bytes);
  if (!parts) return Move::no_free_chunk;
  // In this order: whoever takes over knows of each record whether what it says is in the chunks as well.
  slot_.kept_before.store(slot_.kept.load());
  for (const auto& [until, kept] : leaving) {
    for (const Kept& each : kept) each.journal->mark(*each.record, pool::RecordState::moving);
  }
  slot_.kept.store(parts->newest);
  for (const std::uint32_t chunk : std::exchange(moved_chunks_, std::move(parts->chunks))) pool_.drop_reference(chunk);
  moved_ = std::move(moved);
  return Move::done;
}

// What they say about the reach of the file is kept; what they say about holes is not.
void OutputDrain::forget() {
  if (slot_.forgotten.exchange(1) == 0) {
    base::log(base::LogLevel::warning,
              "'{}': the pool is too small for what has to be known of its puts; if this job is killed the file may be lost: "
              "raise pool.budget", trace_.path);
  }
  slot_.highest_end.store(std::max(slot_.highest_end.load(), highest_end_), std::memory_order_release);
}

}  // namespace glean::drain
