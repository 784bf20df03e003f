// SPDX-License-Identifier: BSD-3-Clause
//
// Of outputs that may drop, on several nodes: which steps are in the file. Each node decides for itself whether it would keep a
// step (capture/dropping.hpp); it is kept if all of them would. What that comes to is known later, and is the step's verdict.
//
// Steps are those of the program here, also in records and in RankProgress; the records of the file count those that are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pool/pool.hpp"

namespace glean::pool {

// What the ranks of this node have decided about a step that may be dropped.
enum class DropDecision : std::uint64_t { none, keep, drop };

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

// Of the steps before `judged`, how many are kept.
struct Verdict {
  std::uint64_t judged = 0, kept = 0;

  static Verdict of(std::uint64_t word) { return {word >> 32, word & 0xffffffff}; }
  [[nodiscard]] std::uint64_t word() const { return judged << 32 | kept; }
};
[[nodiscard]] Verdict verdict_of(const OutputSlot& slot);

// Which of them are kept is known of the last so many: no node keeps a step as long as as many wait to be judged or written there.
inline constexpr std::uint64_t kept_steps_known = 63;

// The record of a step in the file; none: it is dropped, or not judged, or too long ago.
[[nodiscard]] std::optional<std::uint64_t> record_of(const OutputSlot& slot, std::uint64_t step);
// How many of the first `steps` are in the file, where those that are not judged will be. At least so many where that is too long ago.
[[nodiscard]] std::uint64_t kept_before(const OutputSlot& slot, std::uint64_t steps);
// The steps of the last records, ascending.
[[nodiscard]] std::vector<std::uint64_t> last_kept(const OutputSlot& slot);

// What ranks of this node have decided: the steps before `decided`, and of the last 64 of them those to drop, as bits at step % 64.
struct Decisions {
  std::uint64_t decided = 0, drops = 0;
};
[[nodiscard]] Decisions decisions_of(const OutputSlot& slot);

// The steps before `decided` that were not judged are, by what all nodes have decided. One process or thread of the node calls it.
void judge(OutputSlot& slot, const Decisions& of_all);
// The same for recovery, which has found that together: `last` are the steps of the last records.
void set_verdict(OutputSlot& slot, const Verdict& verdict, const std::vector<std::uint64_t>& last);

// Another step would be more than can be known of before it is written on this node. Of the rank that decides about `step`.
[[nodiscard]] bool too_many_wait(const OutputSlot& slot, std::uint64_t step);

}  // namespace glean::pool
