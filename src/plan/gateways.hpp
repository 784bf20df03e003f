// SPDX-License-Identifier: BSD-3-Clause
//
// Which gateway each node of an I/O group sends its data to: route-aware and load-aware (seed 003, "Algorithm" and section 4.3).
#pragma once

#include <cstdint>
#include <vector>

#include "topology/machine.hpp"

namespace glean::plan {

struct GatewayLimits {
  // Nodes that a gateway may be given beyond those it has by default: it holds their data in its memory while it writes on
  // their behalf. At least 1, so that a gateway can be its own; 0: no limit but the average.
  std::int64_t new_nodes_max = 0;
  int hops_max = 0;                    // of a new route; 0: no limit but the default route
};

struct GatewayAssignment {
  struct Node {
    int gateway = 0;                   // index into `gateways`
    int hops = 0;                      // links to it
    bool reassigned = false;           // not the default
    friend bool operator==(const Node&, const Node&) = default;
  };
  topology::GroupId group = 0;
  std::vector<topology::NodeId> gateways;
  std::vector<Node> nodes;             // of the i-th node of the group
  std::vector<std::int64_t> weights;   // reassigned nodes of each gateway
  friend bool operator==(const GatewayAssignment&, const GatewayAssignment&) = default;
};

// What the machine does by itself. Both throw invalid_argument when the machine's groups have no gateways.
[[nodiscard]] GatewayAssignment default_gateways(const topology::Machine& machine, topology::GroupId group);

// Gives nodes a closer gateway of their group where that loads no other. Pure.
//
// From every gateway a tree grows, level by level, over the routes that the network takes: a node is added when its route to the
// root is in the tree already, and no gateway is ever on the way. Then the trees take nodes in turn, one level after the other:
// a node is taken when the tree's root is closer than the default gateway, and the root has fewer new nodes than the average (of
// all nodes that could have a closer one). All others keep their default. That far the paper; because a gateway also keeps nodes,
// and the average does not count those, a group whose busiest gateway would carry more than by default keeps all its defaults.
//
// Ensures: a new route has fewer links than the default, stays inside the group and passes no gateway; a gateway has at most the
// average of new nodes, rounded up; if nodes are reassigned, every gateway is its own. Cost: O(nodes of the group * gateways * hops).
[[nodiscard]] GatewayAssignment assign_gateways(const topology::Machine& machine, topology::GroupId group,
                                                const GatewayLimits& limits = {});

}  // namespace glean::plan
