// SPDX-License-Identifier: BSD-3-Clause
//
// Over how much of a file a group's data are spread, and how much of it falls to aggregators of other groups.
#pragma once

#include "plan/cost.hpp"

namespace glean::plan {

struct Spread {
  double of_node = 0;    // share of each variable that a node's data lie in, end to end
  double leaving = 0;    // share of the group's bytes that aggregators of other groups write; 0 … 1
};

// When the groups share `files` files, each with an equal part of every variable for every aggregator. O(nodes of the group).
[[nodiscard]] Spread spread_of(const Situation& situation, std::int64_t files);

// How S3D-like programs cut a cube: three factors, as near to each other as there are, the slowest dimension last.
struct Cuts {
  std::int64_t fast = 1, middle = 1, slow = 1;
};
[[nodiscard]] Cuts cuts_of(std::int64_t ranks);

}  // namespace glean::plan
