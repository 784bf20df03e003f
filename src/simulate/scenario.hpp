// SPDX-License-Identifier: BSD-3-Clause
//
// What is simulated: a program that computes and writes, on a machine that is only a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "plan/request.hpp"
#include "topology/machine.hpp"

namespace glean::simulate {

using base::Bytes;

struct Scenario {
  topology::Machine machine;           // the part that the job has
  topology::Placement placement;
  plan::Request request;               // of a step; `files` and `sink` are those of the strategy
  plan::Limits limits;
  bool to_stagers = false;             // the data end there, and nothing is written
  bool to_io_nodes = false;            // the data end there ("/dev/null on the I/O nodes", seed 000, 3)
  std::int64_t files = 0;              // that a step becomes; 0: as the strategy has them
  std::int64_t ranks_per_file = 64;    // of strategies with a file for so many ranks: np : nf of seed 001, 4.2
  std::int64_t stagers = 0;            // 0: as many as the machine has staging nodes
  int steps = 1;
  double compute_seconds = 0;          // before each step
  Bytes pool_bytes = 0;                // of a node, for what is captured and not yet drained; 0: a quarter of its memory

  [[nodiscard]] std::int64_t ranks() const { return plan::ranks_in(placement); }
  [[nodiscard]] Bytes step_bytes() const { return request.bytes_before(ranks()); }
};

// What no strategy could do, a line each: steps, figures that are not positive, more stagers than there are, … Empty: it can be run.
// What cannot be planned is refused by the plan.
[[nodiscard]] std::vector<std::string> problems_of(const Scenario& scenario);

// What programs of the seeds write, to be named.
struct Workload {
  const char* name;
  const char* description;             // with its source
  plan::Pattern pattern;
  int variables;
  Bytes bytes_per_rank;
};
[[nodiscard]] const std::vector<Workload>& workloads();

}  // namespace glean::simulate
