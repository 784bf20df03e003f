// SPDX-License-Identifier: BSD-3-Clause
//
// Outputs that may drop: whether a step is kept. All ranks do the same, without a message.
#pragma once

#include <cstdint>
#include <functional>

#include "pool/journal.hpp"

namespace glean::pool {

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

struct StepToBegin {
  OutputKey output;
  std::uint64_t step = 0;   // of the program: counts those that are dropped too
  Bytes bytes = 0;          // about what the ranks of the node will put
  bool droppable = true;
};

// Whether the step is kept; on several nodes, as far as this one is concerned (pool/verdicts.hpp). The first rank to ask decides
// for all: a step is dropped while the drain is in a hurry, or has not enough room for it. Every rank asks once for each step, in
// their order, and 0 first. Local; waits only for a rank that is 64 steps behind, on whatever node, and calls `keep_draining`
// meanwhile. Throws timeout with the diagnosis when it does not follow within the deadline.
[[nodiscard]] bool keep_step(Pool& pool, int node_rank, const StepToBegin& step, double deadline_seconds, const WaitDiagnosis& diagnosis,
                             const std::function<void()>& keep_draining = [] {});

}  // namespace glean::pool
