// SPDX-License-Identifier: BSD-3-Clause
//
// Nearest neighbours inside an I/O group, and which of them gathers for the others (seed 000, section 4.1, figure 5a).
#pragma once

#include <vector>

#include "plan/group_load.hpp"
#include "topology/machine.hpp"

namespace glean::plan {

struct Subgroups {
  std::vector<int> of_node;           // of load.nodes[i]
  std::vector<int> aggregator;        // of each subgroup: an index into load.nodes
  std::vector<Bytes> bytes;           // of each subgroup
  [[nodiscard]] Bytes most() const;   // bytes
};

// Cuts the group's nodes into `parts` boxes of neighbours with even shares of the bytes: by halves, across the longest extent
// of a torus; in other networks runs of nodes, which share a switch. As long as there are as many parts as gateways, no part
// has nodes of two of them. The aggregator of a part is the node in its middle, elsewhere than in a torus the one with most.
//
// `parts` is at least 1 and at most the number of nodes. Where the gateways do not decide, a part has at most its share and the
// largest node's bytes twice. Subgroups are ordered by their lowest ranks. O(n log n · log parts).
[[nodiscard]] Subgroups divide(const topology::Machine& machine, const GroupLoad& load, int parts);

}  // namespace glean::plan
