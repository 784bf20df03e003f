// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "topology/machine.hpp"

namespace glean::topology {
namespace {

std::int64_t filled_nodes(const Placement& placement) {
  return (placement.ranks + placement.ranks_per_node - 1) / placement.ranks_per_node;
}

}  // namespace

NodeId Placement::node_of(std::int64_t rank) const {
  if (!listed.empty()) return listed[static_cast<std::size_t>(rank)];
  return order == Order::block ? rank / ranks_per_node : rank % filled_nodes(*this);
}

NodeId Placement::nodes() const {
  return listed.empty() ? filled_nodes(*this) : 1 + *std::max_element(listed.begin(), listed.end());
}

std::vector<std::int64_t> Placement::ranks_of(NodeId node) const {
  std::vector<std::int64_t> found;
  if (!listed.empty()) {
    for (std::size_t rank = 0; rank < listed.size(); ++rank) {
      if (listed[rank] == node) found.push_back(static_cast<std::int64_t>(rank));
    }
    return found;
  }
  const bool block = order == Order::block;
  if (node >= filled_nodes(*this)) return found;
  const std::int64_t first = block ? node * ranks_per_node : node;
  const std::int64_t step = block ? 1 : filled_nodes(*this);
  const std::int64_t end = block ? std::min(ranks, first + ranks_per_node) : ranks;
  for (std::int64_t rank = first; rank < end; rank += step) found.push_back(rank);
  return found;
}

}  // namespace glean::topology
