// SPDX-License-Identifier: BSD-3-Clause
//
// Writes of bytes are taken in the order of their numbers. A rank that is killed between taking one and recording its write leaves
// a gap that nothing fills: here it is found while other ranks go on. (Without ranks there is nothing to find, see read_all_journals.)
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "drain/engine.hpp"

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
    const std::uint64_t begun = output->slot().writes_begun.load(std::memory_order_acquire);
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

// The least number in [from, before) of a write that is in a journal, wherever; `before` if there is none.
std::uint64_t Engine::first_recorded(pool::OutputKey output, std::uint64_t from, std::uint64_t before) const {
  try {
    for (int rank = 0; rank < static_cast<int>(pool_.header().ranks); ++rank) {
      pool::JournalReader journal(pool_, rank, pool::JournalReader::Purpose::look);
      for (; const pool::Record* record = journal.peek(); journal.advance()) {
        const bool is_its = record->slot == output.slot && record->generation == output.generation;
        if (is_its && record->step >= from) before = std::min(before, record->step);
      }
    }
  } catch (const base::Error&) {
    return from;   // whoever reads that journal says so
  }
  return before;
}

}  // namespace glean::drain
