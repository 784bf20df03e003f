// SPDX-License-Identifier: BSD-3-Clause
//
// Writes of bytes are taken in the order of their numbers. A rank that is killed between taking one and recording its write leaves
// a gap that nothing fills: here it is found, while other ranks go on or when all are gone.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "drain/engine.hpp"
#include "pool/epochs.hpp"

namespace glean::drain {
namespace {

constexpr std::uint64_t between_looks_ns = 100'000'000;

}  // namespace

void Engine::pass_over_lost_writes() {
  const std::uint64_t now = base::now_ns();
  if (now - looked_for_lost_writes_ns_ < between_looks_ns) return;
  // Numbers below the second were taken before this look.
  std::map<std::uint32_t, std::pair<OutputDrain*, std::uint64_t>> waiting;   // by slot
  for (const auto& [key, output] : outputs_) {
    const std::uint64_t begun = pool::writes_begun(output->slot());
    if (output->waits_for_write_before(begun)) waiting.emplace(key.slot, std::pair(output.get(), begun));
  }
  if (waiting.empty()) return;
  looked_for_lost_writes_ns_ = now;

  std::set<std::uint32_t> lost;   // slots
  for (int rank = 0; rank < static_cast<int>(pool_.header().ranks); ++rank) {
    const pool::Journal& journal = pool_.journal(rank);
    const std::uint64_t word = journal.held_write.load(std::memory_order_acquire);
    if (word == 0) continue;
    const pool::HeldWrite held = pool::HeldWrite::of(word);
    const auto output = waiting.find(held.slot);
    if (output == waiting.end()) continue;
    if (journal.has_joined.load(std::memory_order_relaxed) != 0 && pool_.process_of_rank(rank) == 0) {
      lost.insert(held.slot);
      continue;
    }
    // That comes, and those behind it can wait.
    auto& end = output->second.second;
    end = held.number == pool::HeldWrite::unknown ? 0 : std::min(end, held.number);
  }
  // A rank that does not hold its number any more has recorded it: what is in no journal now will never be.
  for (const std::uint32_t slot : lost) {
    auto [output, end] = waiting.at(slot);
    end = first_recorded(output->key(), output->next_write(), end);
    if (output->next_write() < end) output->pass_over_to(end);
  }
  if (!lost.empty()) static_cast<void>(read_all_journals());
}

// Without ranks: those that nobody has recorded. Returns whether there were any.
bool Engine::pass_over_unrecorded_writes() {
  bool any = false;
  for (const auto& [key, output] : outputs_) {
    const std::uint64_t begun = pool::writes_begun(output->slot());
    const auto blocked = blocked_.find(output.get());
    const bool waits_for_other_nodes = blocked != blocked_.end() && blocked->second == output->next_write();
    if (waits_for_other_nodes || !output->waits_for_write_before(begun)) continue;
    const std::uint64_t end = first_recorded(key, output->next_write(), begun);
    if (output->next_write() == end) continue;
    output->pass_over_to(end);
    any = true;
  }
  return any;
}

// A journal is read up to what waits for other nodes. They have to know of the epochs behind it, or they would wait for those of other
// outputs that are in none before: since epochs do not go back in a journal, the earliest of all can always be written.
void Engine::look_behind_what_waits() {
  for (const auto& [key, output] : outputs_) {
    if (!output->may_wait_unseen()) continue;
    try {
      for (const pool::WriteStamp& write : recorded(key, output->next_write())) {
        if (write.number == output->next_write()) output->found_waiting(write);
      }
    } catch (const base::Error&) {
      return;   // whoever reads that journal says so
    }
  }
}

// The least number in [from, before) of a write that is in a journal, wherever; `before` if there is none.
std::uint64_t Engine::first_recorded(pool::OutputKey output, std::uint64_t from, std::uint64_t before) const {
  try {
    for (const pool::WriteStamp& write : recorded(output, from)) before = std::min(before, write.number);
  } catch (const base::Error&) {
    return from;   // whoever reads that journal says so
  }
  return before;
}

// Its writes from that number on that are in journals. Throws io when one is damaged.
std::vector<pool::WriteStamp> Engine::recorded(pool::OutputKey output, std::uint64_t from) const {
  std::vector<pool::WriteStamp> writes;
  for (int rank = 0; rank < static_cast<int>(pool_.header().ranks); ++rank) {
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
