// SPDX-License-Identifier: BSD-3-Clause
//
// What the parts of an output's drain share: where the output is in the pool, what is known of its file, how far it is, and what is
// told of it.
//
// No lock: the engine calls all of them with its lock held, unless a function says otherwise.
#pragma once

#include <algorithm>
#include <cstdint>

#include "drain/checksums.hpp"
#include "drain/pending_piece.hpp"
#include "drain/spill.hpp"
#include "drain/trace.hpp"
#include "store/description.hpp"

namespace glean::drain {

class Analyst;
class Consumers;
class NodeShare;

// Whether the ranks still capture. `gone`: they do not and will not.
enum class Ranks { working, gone };

inline constexpr std::uint64_t no_step = ~0ull;   // what belongs to the file as a whole

// How many steps, as the program counts them. Closing a raw output is its one step.
struct StepCounts {
  std::uint64_t ended = 0;          // by all ranks of the node; without ranks: those that are kept
  std::uint64_t complete = 0;       // by all ranks, and all of them is at the nodes that write it
  std::uint64_t begun = 0;          // ended by at least one rank
  std::uint64_t closing = no_step;  // the one with which ranks have closed an output that has attributes to come; no_step: not yet
  std::uint64_t staged = 0;
  std::uint64_t written = 0;
  std::uint64_t synchronized = 0;
  // What is staged: how many records there are, and how far the file reaches.
  std::uint64_t records = 0;
  Bytes end = 0;
  // Of so many, those of the program.
  [[nodiscard]] std::uint64_t of_program(std::uint64_t steps) const { return steps > closing ? steps - 1 : steps; }
};

struct DrainedOutput {
  pool::Pool& pool;
  pool::OutputKey key;
  store::SystemCalls& calls;
  SpillFiles& spill;
  Ranks ranks;
  bool inherited;   // another drain may have written some of it
  Consumers& consumers;
  Analyst& analyst;
  bool is_done_here = false;   // all that this node writes, by another drain: the file may have its name by now, and be replaced
  pool::OutputSlot& slot = pool.slot(key.slot);
  NodeShare* nodes = nullptr;   // where several nodes write it
  store::OutputDescription description{};
  OutputTrace trace{};
  Checksums checksums{};
  StepCounts steps{};
  bool all_closed = false;       // by all ranks
  bool space_returned = false;   // to the pool or to journals, since the engine has told of it

  // When ranks have closed it they leave it to the drain, and no rank waits for its end.
  [[nodiscard]] bool is_left_at_close() const { return description.is_bytes; }
  // The header is this node's to write, and the file to publish.
  [[nodiscard]] bool publishes() const { return description.share.publisher == static_cast<std::int64_t>(pool.header().node); }
  // Stagers write it, and this node only sends them what it has.
  [[nodiscard]] bool is_sent() const { return static_cast<std::int64_t>(pool.header().node) < description.share.first; }
  // And what it has sent it keeps until that is on the storage. What recovery has sent of a raw output, too: only all of it has an order.
  [[nodiscard]] bool is_kept_until_durable() const {
    return is_sent() && (description.is_bytes || ranks == Ranks::working) && pool.header().keeps_until_durable != 0;
  }
  // And the file need not be seen here. One that ranks make is published here, under the eyes of the program.
  [[nodiscard]] bool is_elsewhere() const { return (is_sent() && !description.is_made_by_ranks()) || is_done_here; }
  // This node is a stager, whose clients may have ended before the file is written. Those of one that ranks make have not: one of
  // them publishes it.
  [[nodiscard]] bool outlives_clients() const { return pool.is_stager() && !description.is_made_by_ranks(); }
  // What other nodes have sent they may send again: they have not heard of this drain that it has come, but perhaps of the one before.
  [[nodiscard]] bool may_come_again() const { return ranks == Ranks::gone || (inherited && pool.is_stager()); }
  // A file of another format has appeared in place of the output's own. Where that could not be made, its own appears: nothing is lost.
  [[nodiscard]] bool is_replaced_by_copy() const {
    return description.copies.instead && !trace.copies.empty() && trace.copies.front().error.empty();
  }
  // All ranks have closed it, and `begun` is known: the last step is that of attributes, if there are any to come.
  void note_closing() {
    if (!description.layout.attributes.empty() && steps.begun != 0) steps.closing = steps.begun - 1;
  }
  void retire(const TakenRecord& taken) {
    spill.retire(*taken.record, *taken.journal);
    space_returned = true;
  }
  // It is in the file, and the record stays.
  void give_payload_back(const TakenRecord& taken) {
    spill.give_payload_back(*taken.record, *taken.journal);
    space_returned = true;
  }
  void saw_capture(const pool::Record& record) {
    if (trace.first_capture_ns == 0 || record.captured_ns < trace.first_capture_ns) trace.first_capture_ns = record.captured_ns;
    trace.last_capture_ns = std::max(trace.last_capture_ns, record.captured_ns);
  }
};

}  // namespace glean::drain
