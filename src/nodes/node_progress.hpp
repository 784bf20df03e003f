// SPDX-License-Identifier: BSD-3-Clause
//
// How far a node is with an output, and how what several nodes know is put together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pool/pool.hpp"

namespace glean::nodes {

// What OutputSlot::nodes.job_closed is where there are stagers, once these have all that was captured of a closed output: the pools of
// their clients are not needed any more.
constexpr std::uint32_t closed_and_at_stagers = 2;

// How far a node is with an output, or the nodes of a subtree, or all. Every figure only grows; the ranks that are last change.
struct NodeProgress {
  std::uint64_t steps_ended = 0;          // by all ranks
  std::uint64_t steps_begun = 0;          // ended by at least one
  std::uint64_t steps_sent = 0;           // ended, and at the nodes that write them
  std::uint64_t steps_synchronized = 0;
  std::uint64_t synchronize_up_to = 0;    // a rank wants it
  std::uint64_t records = 0, highest_end = 0;   // of a raw output that stagers make: its size
  // For raw outputs, by ticks (drain/lamport_clock.hpp): all writes of earlier ones are in the file; a rank wants them there; the latest
  // that a node is in.
  std::uint64_t written_tick = 0, wanted_tick = 0, latest_tick = 0;
  // With stagers: what was written before it is all with them; is on the storage; and a rank wants it there.
  std::uint64_t sent_tick = 0, durable_tick = 0, wanted_durable_tick = 0;
  std::uint64_t known_durable_tick = 0;   // the latest durable_tick of all stagers that any node has heard of
  std::uint64_t written_bytes = 0;        // of all outputs; no news by itself
  std::uint64_t begun_anew = 0;           // when a stager has last begun with nothing: what was said before is void; 0: none has
  std::uint32_t closed = 0;
  std::uint32_t part_durable = 0;
  std::uint32_t published = 0;            // said by the publisher alone, and so is
  std::uint32_t removed = 0;              // that there is no file because the program has removed it
  std::uint32_t postponed = 0;            // recovery could not write somewhere, or the storage of a node has refused it and all keep it
  // Ranks of the session, for messages: one of those that have ended fewest steps, and one that has not closed.
  std::uint32_t last_rank = no_rank, open_rank = no_rank;
  // For raw outputs: some node knows that handles of the MPI library's were opened on the file, and all do.
  std::uint32_t others_somewhere = 0, others_everywhere = 0;
  std::uint32_t agreed = 0;               // to keep what the storage of a node refuses: all its ranks had closed it
  static constexpr std::uint32_t no_rank = ~std::uint32_t{0};
  friend bool operator==(const NodeProgress&, const NodeProgress&) = default;

  [[nodiscard]] bool is_as_far_as(NodeProgress other) const {
    other.last_rank = last_rank;
    other.open_rank = open_rank;
    other.written_bytes = written_bytes;
    return *this == other;
  }

  // What both know together.
  void join(const NodeProgress& other) {
    const auto all = [](auto& mine, auto theirs) { mine = std::min(mine, theirs); };
    const auto any = [](auto& mine, auto theirs) { mine = std::max(mine, theirs); };
    if (other.steps_ended < steps_ended) last_rank = other.last_rank;
    else if (other.steps_ended == steps_ended) all(last_rank, other.last_rank);
    all(open_rank, other.open_rank);
    all(steps_ended, other.steps_ended);
    all(steps_sent, other.steps_sent);
    all(steps_synchronized, other.steps_synchronized);
    written_bytes += other.written_bytes;
    all(written_tick, other.written_tick);
    any(wanted_tick, other.wanted_tick);
    all(sent_tick, other.sent_tick);
    all(durable_tick, other.durable_tick);
    any(wanted_durable_tick, other.wanted_durable_tick);
    any(known_durable_tick, other.known_durable_tick);
    any(latest_tick, other.latest_tick);
    all(closed, other.closed);
    all(part_durable, other.part_durable);
    any(steps_begun, other.steps_begun);
    any(synchronize_up_to, other.synchronize_up_to);
    any(records, other.records);
    any(highest_end, other.highest_end);
    any(begun_anew, other.begun_anew);
    any(published, other.published);
    any(removed, other.removed);
    any(postponed, other.postponed);
    all(agreed, other.agreed);
    any(others_somewhere, other.others_somewhere);
    all(others_everywhere, other.others_everywhere);
  }
};

// What a node knows of an output by itself. Local.
[[nodiscard]] NodeProgress progress_of(const pool::Pool& pool, std::uint32_t slot);

}  // namespace glean::nodes
