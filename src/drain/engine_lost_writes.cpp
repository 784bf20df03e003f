// SPDX-License-Identifier: BSD-3-Clause
//
// Writes of bytes are taken in the order of their numbers. Some are in no journal and never will be: a rank was killed between taking its
// number and recording the write, or the drain before this one has retired it already, out of turn. Here they are found, while ranks go on
// or when all are gone.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "drain/engine.hpp"
#include "pool/lamport_clock.hpp"

namespace glean::drain {
namespace {

constexpr std::uint64_t between_looks_ns = 100'000'000;

}  // namespace

void Engine::pass_over_lost_writes() {
  const std::uint64_t now = base::now_ns();
  if (now - looked_for_lost_writes_ns_ < between_looks_ns) return;
  std::map<OutputDrain*, std::uint64_t> waiting;   // numbers below were taken before this look
  for (const auto& [key, output] : outputs_) {
    const std::uint64_t begun = pool::writes_begun(output->about().slot);
    if (output->stream() != nullptr && output->stream()->waits_for_write_before(begun)) waiting.emplace(output.get(), begun);
  }
  if (waiting.empty()) return;
  looked_for_lost_writes_ns_ = now;

  std::set<std::uint32_t> lost;   // slots
  for (int rank = 0; rank < static_cast<int>(pool_.header().journals); ++rank) {   // the last is of what other nodes send
    const pool::Journal& journal = pool_.journal(rank);
    const std::uint64_t word = journal.held_write.load(std::memory_order_acquire);
    if (word == 0) continue;
    const pool::HeldWrite held = pool::HeldWrite::of(word);
    if (journal.has_joined.load(std::memory_order_relaxed) != 0 && pool_.process_of_rank(rank) == 0) {
      lost.insert(held.slot);
      continue;
    }
    // That comes, and those behind it can wait.
    for (auto& [output, end] : waiting) {
      if (output->about().key.slot == held.slot) end = held.number == pool::HeldWrite::unknown ? 0 : std::min(end, held.number);
    }
  }
  if (!inherits_) std::erase_if(waiting, [&](const auto& each) { return !lost.contains(each.first->about().key.slot); });
  pass_over_gaps(waiting);
}

// Without ranks: those that were not recorded. Returns whether there were any.
bool Engine::pass_over_unrecorded_writes() {
  std::map<OutputDrain*, std::uint64_t> waiting;
  for (const auto& [key, output] : outputs_) {
    if (output->stream() == nullptr) continue;
    const std::uint64_t begun = pool::writes_begun(output->about().slot);
    const auto blocked = blocked_.find(output.get());
    const bool waits_for_other_nodes = blocked != blocked_.end() && blocked->second == output->stream()->next_write();
    if (!waits_for_other_nodes && output->stream()->waits_for_write_before(begun)) waiting.emplace(output.get(), begun);
  }
  // What has come from another node just now is recorded next. In this order: its number was seen.
  for (std::uint32_t journal = pool_.header().ranks; journal < pool_.header().journals; ++journal) {
    const std::uint64_t word = pool_.journal(static_cast<int>(journal)).held_write.load(std::memory_order_acquire);
    if (word != 0) std::erase_if(waiting, [&](const auto& each) { return each.first->about().key.slot == pool::HeldWrite::of(word).slot; });
  }
  return pass_over_gaps(waiting);
}

// Passes over those numbers of each output below that one which are in no journal: no rank will record them any more, since one that does
// not hold its number has done so. Then what they kept waiting is read, and so on. Returns whether there were any.
bool Engine::pass_over_gaps(const std::map<OutputDrain*, std::uint64_t>& ends) {
  std::map<OutputDrain*, std::set<std::uint64_t>> recorded_numbers;
  try {
    for (const auto& [output, end] : ends) {
      auto& numbers = recorded_numbers[output];
      for (const pool::WriteStamp& write : recorded(output->about().key, output->stream()->next_write())) numbers.insert(write.number);
    }
  } catch (const base::Error&) {
    return false;   // the reader of that journal says so
  }
  bool any = false;
  for (bool more = true; more; any |= more) {
    more = false;
    for (const auto& [output, end] : ends) {
      const auto& numbers = recorded_numbers[output];
      const auto next = numbers.lower_bound(output->stream()->next_write());
      const std::uint64_t until = next == numbers.end() ? end : std::min(*next, end);
      if (until <= output->stream()->next_write()) continue;
      output->stream()->pass_over_to(until);
      more = true;
    }
    for (std::uint64_t before = ~records_read_; more && before != records_read_;) {
      before = records_read_;
      for (int rank = 0; rank < static_cast<int>(journals_.size()); ++rank) static_cast<void>(read_journal(rank));
    }
  }
  return any;
}

// A journal is read up to what waits for other nodes. They have to know of the ticks behind it, or they would wait for those of other
// outputs that are in none before: since ticks do not go back in a journal, the earliest of all can always be written.
void Engine::look_behind_what_waits() {
  for (const auto& [key, output] : outputs_) {
    Stream* const stream = output->stream();
    if (stream == nullptr || !stream->may_wait_unseen()) continue;
    try {
      for (const pool::WriteStamp& write : recorded(key, stream->next_write())) {
        if (write.number == stream->next_write()) stream->found_waiting(write);
      }
    } catch (const base::Error&) {
      return;   // the reader of that journal says so
    }
  }
}

// Its writes from that number on that are in journals. Throws io when one is damaged.
std::vector<pool::WriteStamp> Engine::recorded(pool::OutputKey output, std::uint64_t from) const {
  std::vector<pool::WriteStamp> writes;
  for (int rank = 0; rank < static_cast<int>(pool_.header().journals); ++rank) {
    pool::JournalReader journal(pool_, rank, pool::JournalReader::Purpose::look);
    for (; const pool::Record* record = journal.peek(); journal.advance()) {
      if (record->slot != output.slot || record->generation != output.generation) continue;
      const auto write = pool::WriteStamp::of(record->step);
      if (write.number >= from) writes.push_back(write);
    }
  }
  return writes;
}

}  // namespace glean::drain
