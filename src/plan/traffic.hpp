// SPDX-License-Identifier: BSD-3-Clause
//
// What flows put on the network's links, counted along their routes, and what the network can carry.
#pragma once

#include <vector>

#include "plan/request.hpp"
#include "topology/machine.hpp"

namespace glean::plan {

struct Flow {
  NodeId from = 0, to = 0;
  double bytes = 0;
};

// Seconds until the busiest link has passed all of it: no schedule is faster, and a regular phase takes no longer. O(links of
// all routes · log).
[[nodiscard]] double busiest_link_seconds(const topology::Machine& machine, const std::vector<Flow>& flows);

// What a node can send into the network: all its links. 0: it has none.
[[nodiscard]] double node_bytes_per_second(const topology::Machine& machine, NodeId node);

// Seconds for `bytes_per_node` of each of `nodes` nodes to nodes anywhere: by what the node can send, and by the links in all,
// with the average length of routes (torus), the links above a leaf (fat tree), or between groups (dragonfly).
[[nodiscard]] double all_to_all_seconds(const topology::Machine& machine, double bytes_per_node, double nodes);

}  // namespace glean::plan
