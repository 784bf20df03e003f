// SPDX-License-Identifier: BSD-3-Clause
//
// Outputs that may drop: whether a step is kept. All ranks do the same, without a message.
#pragma once

#include "pool/journal.hpp"

namespace glean::pool {

enum class DropDecision : std::uint64_t { none, keep, drop };

struct StepToBegin {
  OutputKey output;
  std::uint64_t step = 0;   // of the program: counts those that are dropped too
  Bytes bytes = 0;          // about what all ranks will put
  bool droppable = true;
};

// Whether the step is kept. The first rank to ask decides for all: a step is dropped while the drain is in a hurry, or has
// not enough room for it. Every rank asks once for each step, in their order, and 0 first. Local; waits only for a
// rank that is 64 steps behind. Throws timeout with the diagnosis when it does not follow within the deadline.
[[nodiscard]] bool keep_step(Pool& pool, const StepToBegin& step, double deadline_seconds, const WaitDiagnosis& diagnosis);

}  // namespace glean::pool
