// SPDX-License-Identifier: BSD-3-Clause
#include "plan/gateways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "plan/gateway_load.hpp"

namespace glean::plan {
namespace {

using topology::GroupId;
using topology::Machine;
using topology::NodeId;

// Nodes by the number of links to the root, as indices in the group; inside of a level in the order of the group.
using Tree = std::map<int, std::vector<std::size_t>>;

Tree levels_around(const Machine& machine, GroupId group, NodeId root) {
  Tree levels;
  for (NodeId index = 0; index < machine.group_size(group); ++index) {
    levels[machine.hops(machine.node_in_group(group, index), root)].push_back(static_cast<std::size_t>(index));
  }
  return levels;
}

Tree grow(const Machine& machine, const GatewayAssignment& assignment, NodeId root, int hops_max) {
  Tree tree;
  std::vector<bool> leads_to_root(assignment.nodes.size());   // in the tree, and may have nodes below it
  const auto is_gateway = [&](NodeId node) { return std::ranges::find(assignment.gateways, node) != assignment.gateways.end(); };
  const auto on_the_way = [&](NodeId node) {
    return machine.group_of(node) == assignment.group && leads_to_root[static_cast<std::size_t>(machine.index_in_group(node))];
  };
  for (const auto& [hops, indices] : levels_around(machine, assignment.group, root)) {
    if (hops_max > 0 && hops > hops_max) break;
    for (const std::size_t index : indices) {
      const NodeId node = machine.node_in_group(assignment.group, static_cast<NodeId>(index));
      const auto route = machine.nodes_on_route(node, root);
      if (!std::all_of(route.begin() + 1, route.end(), on_the_way)) continue;
      tree[hops].push_back(index);
      leads_to_root[index] = node == root || !is_gateway(node);
    }
  }
  return tree;
}

// Nodes that one of the trees could bring closer to a way out.
std::int64_t count_closer(const std::vector<Tree>& trees, const GatewayAssignment& defaults) {
  std::vector<bool> closer(defaults.nodes.size());
  for (const Tree& tree : trees) {
    for (const auto& [hops, indices] : tree) {
      for (const std::size_t index : indices) closer[index] = closer[index] || hops < defaults.nodes[index].hops;
    }
  }
  return std::ranges::count(closer, true);
}

// One level of all trees: each takes a node when it is its turn, until none finds another.
void take_in_turn(const std::vector<Tree>& trees, int hops, std::int64_t weight_max, GatewayAssignment& assignment) {
  std::vector<std::size_t> next(trees.size());
  const auto take_one = [&](std::size_t gateway) {
    const auto level = trees[gateway].find(hops);
    if (level == trees[gateway].end() || assignment.weights[gateway] >= weight_max) return false;
    while (next[gateway] < level->second.size()) {
      auto& node = assignment.nodes[level->second[next[gateway]++]];
      // A node that another tree has taken is as close to that one, or closer.
      if (hops >= node.hops) continue;
      node = {.gateway = static_cast<int>(gateway), .hops = hops, .reassigned = true};
      ++assignment.weights[gateway];
      return true;
    }
    return false;
  };
  for (bool any = true; any;) {
    any = false;
    for (std::size_t gateway = 0; gateway < trees.size(); ++gateway) any = take_one(gateway) || any;
  }
}

std::int64_t busiest(const Machine& machine, const GatewayAssignment& assignment) {
  const auto load = count_load(machine, {&assignment, 1}, {});
  return std::ranges::max(load.gateways, {}, &GatewayLoad::through).through();
}

}  // namespace

GatewayAssignment default_gateways(const Machine& machine, GroupId group) {
  GatewayAssignment assignment{.group = group, .gateways = machine.gateways(group), .nodes = {}, .weights = {}};
  if (assignment.gateways.empty()) {
    throw base::Error(base::Errc::invalid_argument, fmt::format("the I/O groups of machine '{}' have no gateways", machine.name),
                      "give the positions of the gateways in the machine file, or leave every node its own way out");
  }
  for (NodeId index = 0; index < machine.group_size(group); ++index) {
    const NodeId node = machine.node_in_group(group, index);
    const NodeId gateway = machine.default_gateway(node).value();
    const auto found = std::ranges::find(assignment.gateways, gateway);
    assignment.nodes.push_back(
        {.gateway = static_cast<int>(found - assignment.gateways.begin()), .hops = machine.hops(node, gateway)});
  }
  assignment.weights.resize(assignment.gateways.size());
  return assignment;
}

GatewayAssignment assign_gateways(const Machine& machine, GroupId group, const GatewayLimits& limits) {
  const auto defaults = default_gateways(machine, group);
  std::vector<Tree> trees;
  for (const NodeId gateway : defaults.gateways) trees.push_back(grow(machine, defaults, gateway, limits.hops_max));

  const auto gateways = static_cast<std::int64_t>(trees.size());
  // "Fewer than the average" allows one more than the whole part of it, if it has a fraction.
  std::int64_t weight_max = (count_closer(trees, defaults) + gateways - 1) / gateways;
  if (limits.new_nodes_max > 0) weight_max = std::min(weight_max, limits.new_nodes_max);

  auto assignment = defaults;
  int hops_max = 0;
  for (const Tree& tree : trees) hops_max = std::max(hops_max, tree.rbegin()->first);
  for (int hops = 0; hops <= hops_max; ++hops) take_in_turn(trees, hops, weight_max, assignment);
  return busiest(machine, assignment) > busiest(machine, defaults) ? defaults : assignment;
}

}  // namespace glean::plan
