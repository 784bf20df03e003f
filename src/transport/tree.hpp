// SPDX-License-Identifier: BSD-3-Clause
//
// The binary tree along which nodes tell each other what all of them have to know. Node 0 is its root.
#pragma once

#include <optional>
#include <vector>

namespace glean::transport {

[[nodiscard]] inline std::optional<int> parent_of(int node) { return node == 0 ? std::nullopt : std::optional((node - 1) / 2); }

[[nodiscard]] inline std::vector<int> children_of(int node, int nodes) {
  std::vector<int> children;
  for (int child = 2 * node + 1; child <= 2 * node + 2 && child < nodes; ++child) children.push_back(child);
  return children;
}

[[nodiscard]] inline std::vector<int> neighbours_of(int node, int nodes) {
  std::vector<int> neighbours = children_of(node, nodes);
  if (const auto parent = parent_of(node)) neighbours.push_back(*parent);
  return neighbours;
}

// The neighbour of `node` through which the tree leads to another one.
[[nodiscard]] inline int way_to(int other, int node) {
  for (int at = other; at > node; at = (at - 1) / 2) {
    if ((at - 1) / 2 == node) return at;   // below it
  }
  return (node - 1) / 2;
}

}  // namespace glean::transport
