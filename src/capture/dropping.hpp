// SPDX-License-Identifier: BSD-3-Clause
//
// Outputs that may drop: whether a step is kept. All ranks do the same, without a message.
#pragma once

#include <cstdint>
#include <functional>

#include "pool/journal.hpp"

namespace glean::capture {

struct StepToBegin {
  pool::OutputKey output;
  std::uint64_t step = 0;   // of the program: counts those that are dropped too
  base::Bytes bytes = 0;          // about what the ranks of the node will put
  bool droppable = true;
};

// Whether the step is kept. Of a session on one node; on several nodes puts wait instead. The first rank to ask decides
// for all: a step is dropped during a deadline boost, and where the pool has not enough room for it. Every rank asks once for each step, in
// their order, and 0 first. Local; waits only for a rank that is 64 steps behind, and calls `keep_draining`
// meanwhile. Throws timeout with the diagnosis when it does not follow within the deadline.
[[nodiscard]] bool keep_step(pool::Pool& pool, int node_rank, const StepToBegin& step, double deadline_seconds,
                             const pool::WaitDiagnosis& diagnosis, const std::function<void()>& keep_draining = [] {});

}  // namespace glean::capture
