// SPDX-License-Identifier: BSD-3-Clause
//
// What a Machine asks its network, for each kind of it. Coordinates are the digits of a node's number in the
// extents of its network. All O(dimensions) or O(levels), and O(links) where there is a list.
#pragma once

#include "topology/machine.hpp"

namespace glean::topology {

[[nodiscard]] NodeId node_count(const Torus& torus);
[[nodiscard]] std::vector<int> extents_of(const Torus& torus);
[[nodiscard]] int hops(const Torus& torus, NodeId from, NodeId to);
[[nodiscard]] std::vector<Link> route(const Torus& torus, NodeId from, NodeId to);
[[nodiscard]] double bytes_per_second(const Torus& torus, const Link& link);
[[nodiscard]] std::vector<NodeId> neighbours(const Torus& torus, NodeId node);
[[nodiscard]] std::vector<std::string> problems_of(const Torus& torus);
[[nodiscard]] Torus part_of(const Torus& torus, NodeId nodes);

[[nodiscard]] NodeId node_count(const FatTree& tree);
[[nodiscard]] std::vector<int> extents_of(const FatTree& tree);
[[nodiscard]] int hops(const FatTree& tree, NodeId from, NodeId to);
[[nodiscard]] std::vector<Link> route(const FatTree& tree, NodeId from, NodeId to);
[[nodiscard]] double bytes_per_second(const FatTree& tree, const Link& link);
[[nodiscard]] std::vector<NodeId> neighbours(const FatTree& tree, NodeId node);
[[nodiscard]] std::vector<std::string> problems_of(const FatTree& tree);
[[nodiscard]] FatTree part_of(const FatTree& tree, NodeId nodes);

[[nodiscard]] NodeId node_count(const Dragonfly& dragonfly);
[[nodiscard]] std::vector<int> extents_of(const Dragonfly& dragonfly);
[[nodiscard]] int hops(const Dragonfly& dragonfly, NodeId from, NodeId to);
[[nodiscard]] std::vector<Link> route(const Dragonfly& dragonfly, NodeId from, NodeId to);
[[nodiscard]] double bytes_per_second(const Dragonfly& dragonfly, const Link& link);
[[nodiscard]] std::vector<NodeId> neighbours(const Dragonfly& dragonfly, NodeId node);
[[nodiscard]] std::vector<std::string> problems_of(const Dragonfly& dragonfly);
[[nodiscard]] Dragonfly part_of(const Dragonfly& dragonfly, NodeId nodes);

// All but `node` itself of the `each` consecutive nodes that share its switch or router.
[[nodiscard]] std::vector<NodeId> nodes_beside(NodeId node, int each, NodeId nodes);

}  // namespace glean::topology
