// SPDX-License-Identifier: BSD-3-Clause
#include "nodes/node_progress.hpp"

#include "pool/lamport_clock.hpp"
#include "pool/other_handles.hpp"
#include "pool/postponed.hpp"

namespace glean::nodes {
namespace {

void add_ticks(const pool::Pool& pool, const pool::OutputSlot& slot, NodeProgress& progress) {
  if (slot.is_bytes.load(std::memory_order_acquire) == 0) return;
  const auto get = [](const auto& word) { return word.load(std::memory_order_acquire); };
  progress.latest_tick = pool::tick_of(slot);
  progress.written_tick = get(slot.writes.written_tick);
  // After that: with all writes of earlier ticks. The clients of a stager may have left, and say it no more.
  const bool speaks_for_clients = pool.is_stager() && get(slot.nodes.job_closed) == closed_and_at_stagers;
  if (get(slot.is_made_by_stagers) != 0) progress.highest_end = get(speaks_for_clients ? slot.nodes.job_highest_end : slot.writes.size);
  progress.wanted_tick = get(slot.writes.wanted_tick);
  progress.sent_tick = pool.is_stager() ? pool::WriteStamp::last_order : progress.written_tick;
  progress.durable_tick = pool.is_staged() ? pool::WriteStamp::last_order : get(slot.writes.durable_tick);
  progress.wanted_durable_tick = get(slot.writes.wanted_durable_tick);
  progress.known_durable_tick = get(slot.writes.job_durable_tick);
  progress.written_bytes = get(pool.header().written_bytes);
  progress.others_somewhere = progress.others_everywhere = pool::have_others(slot) ? 1 : 0;
}

}  // namespace

NodeProgress progress_of(const pool::Pool& pool, std::uint32_t index) {
  const pool::OutputSlot& slot = pool.slot(index);
  const auto get = [](const auto& word) { return word.load(std::memory_order_acquire); };
  NodeProgress mine{.steps_ended = pool::rank_steps, .closed = 1};
  mine.part_durable = get(slot.nodes.part_durable);   // before what it speaks of
  mine.steps_synchronized = get(slot.steps.synchronized);
  mine.steps_sent = get(slot.nodes.steps_sent);
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    const std::uint32_t progress = get(pool.rank_progress(index, rank));
    const std::uint64_t steps = progress & pool::rank_steps;
    const auto job_rank = static_cast<std::uint32_t>(pool.job_rank(rank));
    if (rank == 0 || steps < mine.steps_ended) mine.last_rank = job_rank;
    mine.steps_ended = std::min(mine.steps_ended, steps);
    mine.steps_begun = std::max(mine.steps_begun, steps);
    if ((progress & pool::rank_closed) != 0) continue;
    mine.closed = 0;
    mine.open_rank = std::min(mine.open_rank, job_rank);
  }
  mine.synchronize_up_to = get(slot.steps.synchronize_up_to);
  mine.records = get(slot.steps.records);
  mine.highest_end = get(slot.steps.highest_end);
  const pool::Postponed postponed = pool::postponed(slot);
  mine.postponed = postponed == pool::Postponed::yes ? 1 : 0;
  mine.agreed = postponed == pool::Postponed::yes || postponed == pool::Postponed::agreed ? 1 : 0;
  add_ticks(pool, slot, mine);
  const pool::OutputState state = get(slot.state);
  mine.published = state == pool::OutputState::published ? 1 : 0;
  mine.removed = state == pool::OutputState::abandoned && get(slot.error) == 0 ? 1 : 0;
  return mine;
}

}  // namespace glean::nodes
