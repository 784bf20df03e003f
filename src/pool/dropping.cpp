// SPDX-License-Identifier: BSD-3-Clause
#include "pool/dropping.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "pool/futex.hpp"

namespace glean::pool {
namespace {

constexpr std::uint64_t nap_ns = 5'000'000;

// What OutputSlot::decisions holds.
struct Decision {
  std::uint64_t step = 0;
  std::uint64_t asked = 0;   // ranks that know it
  DropDecision what = DropDecision::none;

  static Decision of(std::uint64_t word) {
    return {word >> 18, word >> 2 & 0xffff, static_cast<DropDecision>(word & 3)};
  }
  [[nodiscard]] std::uint64_t word() const { return step << 18 | asked << 2 | static_cast<std::uint64_t>(what); }
};

bool has_room(Pool& pool, Bytes bytes) {
  const PoolHeader& header = pool.header();
  // Every rank may sit on a chunk of its own that is nearly empty. A step that is larger than the pool must go in too.
  const Bytes chunks = header.chunk_count - std::min(header.chunk_count, header.ranks);
  const Bytes wanted = std::min((bytes + header.chunk_bytes - 1) / header.chunk_bytes, chunks / 2);
  const Bytes used = header.used_chunks.load(std::memory_order_relaxed);
  if (used + wanted > header.chunk_count) return false;
  for (int rank = 0; rank < static_cast<int>(header.ranks); ++rank) {
    const Journal& journal = pool.journal(rank);
    const std::uint64_t tail = journal.tail.load(std::memory_order_relaxed);
    if (journal.head.load(std::memory_order_relaxed) - tail > pool.ring_bytes() / 2) return false;
  }
  return true;
}

bool is_lost(Pool& pool, const OutputKey& output) {
  if (pool.slot(output.slot).error.load(std::memory_order_acquire) != 0) return true;
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if ((pool.rank_progress(output.slot, rank).load(std::memory_order_acquire) & rank_closed) != 0) return true;
  }
  return false;
}

}  // namespace

bool keep_step(Pool& pool, const StepToBegin& step, double deadline_seconds, const WaitDiagnosis& diagnosis) {
  OutputSlot& slot = pool.slot(step.output.slot);
  auto& word = slot.decisions[step.step % slot.decisions.size()];
  const std::uint64_t ranks = pool.header().ranks, since = base::now_ns();
  std::uint64_t seen = word.load(std::memory_order_acquire);
  for (;;) {
    Decision now = Decision::of(seen);
    if (now.what != DropDecision::none && now.step > step.step) return true;   // nobody waited: the output is lost
    const bool decided = now.what != DropDecision::none && now.step == step.step;
    const bool is_free = now.what == DropDecision::none || now.asked == ranks || is_lost(pool, step.output);
    if (!decided && !is_free) {
      if (base::seconds(base::now_ns() - since) > deadline_seconds) {
        throw base::Error(base::Errc::timeout,
                          std::to_string(ranks - now.asked) + " of " + std::to_string(ranks) + " ranks have not begun step " +
                              std::to_string(now.step) + ", this one waits with step " + std::to_string(step.step) + " for " +
                              base::exact_seconds(deadline_seconds) + ": " + diagnosis(),
                          "every rank begins every step");
      }
      const std::uint32_t progress = pool.header().progress.load(std::memory_order_acquire);
      futex_wait(pool.header().progress, progress, nap_ns);
      seen = word.load(std::memory_order_acquire);
      continue;
    }
    Decision next{step.step, 1, DropDecision::keep};
    if (decided) {
      next = now;
      ++next.asked;
    } else if (step.droppable &&
               (pool.header().hurry.load(std::memory_order_acquire) != 0 || !has_room(pool, step.bytes))) {
      next.what = DropDecision::drop;
    }
    if (!word.compare_exchange_strong(seen, next.word(), std::memory_order_acq_rel)) continue;
    if (!decided && next.what == DropDecision::drop) slot.steps_dropped.fetch_add(1, std::memory_order_relaxed);
    return next.what == DropDecision::keep;
  }
}

}  // namespace glean::pool
