// SPDX-License-Identifier: BSD-3-Clause
#include "capture/dropping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "pool/futex.hpp"
#include "pool/ranks_of_output.hpp"
#include "pool/drop_decision.hpp"

namespace glean::capture {
namespace {

using base::Bytes;

constexpr std::uint64_t nap_ns = 5'000'000;

bool has_room(pool::Pool& pool, Bytes bytes) {
  const pool::PoolHeader& header = pool.header();
  // Every rank may sit on a chunk of its own that is nearly empty. A step that is larger than the pool must go in too.
  const Bytes for_ranks = header.chunk_count - header.reserved_chunks;
  const Bytes chunks = for_ranks - std::min<Bytes>(for_ranks, header.ranks);
  const Bytes wanted = std::min((bytes + header.chunk_bytes - 1) / header.chunk_bytes, chunks / 2);
  const Bytes used = header.used_chunks.load(std::memory_order_relaxed);
  if (used + wanted > for_ranks) return false;
  for (int rank = 0; rank < static_cast<int>(header.ranks); ++rank) {
    const pool::Journal& journal = pool.journal(rank);
    const std::uint64_t tail = journal.tail.load(std::memory_order_relaxed);
    if (journal.head.load(std::memory_order_relaxed) - tail > pool.ring_bytes() / 2) return false;
  }
  return true;
}

bool is_lost(pool::Pool& pool, const pool::OutputKey& output) {
  return pool.slot(output.slot).error.load(std::memory_order_acquire) != 0 || pool::ranks_of_output(pool, output.slot).any_closed;
}

std::string who_has_not_begun(const pool::Pool& pool, const pool::OutputKey& output, std::uint64_t step) {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (pool.rank_begun(output.slot, rank).load(std::memory_order_acquire) <= step) ranks.push_back(pool.job_rank(rank));
  }
  return base::readable_ranks(ranks) + (ranks.size() == 1 ? " has" : " have");
}

}  // namespace

bool keep_step(pool::Pool& pool, int node_rank, const StepToBegin& step, double deadline_seconds, const pool::WaitDiagnosis& diagnosis,
               const std::function<void()>& keep_draining) {
  pool::OutputSlot& slot = pool.slot(step.output.slot);
  auto& word = slot.steps.decisions[step.step % slot.steps.decisions.size()];
  const std::uint64_t ranks = pool.header().ranks, since = base::now_ns();
  std::uint64_t seen = word.load(std::memory_order_acquire);
  for (;;) {
    pool::Decision now = pool::Decision::of(seen);
    if (now.what != pool::DropDecision::none && now.step > step.step) return true;   // no rank waited: the output is lost
    const bool decided = now.what != pool::DropDecision::none && now.step == step.step;
    const bool is_free = now.what == pool::DropDecision::none || now.asked == ranks || is_lost(pool, step.output);
    if (!decided && !is_free) {
      if (base::seconds(base::now_ns() - since) > deadline_seconds) {
        throw base::Error(base::Errc::timeout,
                          fmt::format("{} not begun step {}, rank {} waits with step {} for {}: {}",
                                      who_has_not_begun(pool, step.output, now.step), now.step, pool.job_rank(node_rank), step.step,
                                      base::exact_seconds(deadline_seconds), diagnosis()),
                          "every rank begins every step");
      }
      keep_draining();
      const std::uint32_t progress = pool.header().progress.load(std::memory_order_acquire);
      pool::futex_wait(pool.header().progress, progress, nap_ns);
      seen = word.load(std::memory_order_acquire);
      continue;
    }
    pool::Decision next{step.step, 1, pool::DropDecision::keep};
    if (decided) {
      next = now;
      ++next.asked;
    } else if (step.droppable && (pool.header().deadline_boost.load(std::memory_order_acquire) != 0 || !has_room(pool, step.bytes))) {
      next.what = pool::DropDecision::drop;
    }
    if (!word.compare_exchange_strong(seen, next.word(), std::memory_order_acq_rel)) continue;
    pool.rank_begun(step.output.slot, node_rank).store(static_cast<std::uint32_t>(step.step + 1), std::memory_order_release);
    if (!decided && next.what == pool::DropDecision::drop) slot.steps.dropped.fetch_add(1, std::memory_order_relaxed);
    return next.what == pool::DropDecision::keep;
  }
}

}  // namespace glean::capture
