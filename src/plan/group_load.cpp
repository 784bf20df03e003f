// SPDX-License-Identifier: BSD-3-Clause
#include "plan/group_load.hpp"

#include <algorithm>
#include <map>

#include "plan/gateways.hpp"

namespace glean::plan {
namespace {

void add_rank(NodeLoad& load, std::int64_t rank, const Request& request) {
  if (load.ranks == 0) load.first_rank = rank;
  load.last_rank = rank;
  ++load.ranks;
  load.bytes += request.bytes_of(rank);
}

void set_gateways(GroupLoad& load, const topology::Machine& machine) {
  if (machine.gateways(load.group).empty()) return;
  const GatewayAssignment assignment = assign_gateways(machine, load.group);
  for (NodeLoad& each : load.nodes) {
    const auto& its = assignment.nodes[static_cast<std::size_t>(each.position)];
    each.gateway = assignment.gateways[static_cast<std::size_t>(its.gateway)];
    each.reassigned = its.reassigned;
  }
}

}  // namespace

GroupsInUse::GroupsInUse(const topology::Machine& machine, const topology::Placement& placement) {
  if (!placement.listed.empty()) {
    std::vector<NodeId> nodes = placement.listed;
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    std::map<GroupId, std::int64_t> nodes_of;
    for (const NodeId node : nodes) ++nodes_of[machine.group_of(node)];
    fullest_ = nodes_of.begin()->first;
    for (const auto& [group, count] : nodes_of) {
      listed_.push_back(group);
      if (count > nodes_of[fullest_]) fullest_ = group;
    }
    count_ = static_cast<std::int64_t>(listed_.size());
    return;
  }
  // The first node of a group is its lowest, and a higher group's is higher: group 0 has nodes with ranks as soon as any has.
  std::int64_t below = machine.groups();
  while (count_ < below) {
    const std::int64_t middle = count_ + (below - count_) / 2;
    if (machine.node_in_group(middle, 0) < placement.nodes()) count_ = middle + 1;
    else below = middle;
  }
}

GroupId GroupsInUse::at(std::int64_t index) const {
  return listed_.empty() ? index : listed_[static_cast<std::size_t>(index)];
}

std::int64_t GroupsInUse::index_of(GroupId group) const {
  if (listed_.empty()) return group < count_ ? group : -1;
  const auto found = std::lower_bound(listed_.begin(), listed_.end(), group);
  return found != listed_.end() && *found == group ? found - listed_.begin() : -1;
}

Bytes GroupLoad::bytes() const {
  Bytes sum = 0;
  for (const NodeLoad& node : nodes) sum += node.bytes;
  return sum;
}

GroupLoad load_of(const topology::Machine& machine, const topology::Placement& placement, const Request& request, GroupId group) {
  GroupLoad load{.group = group, .nodes = {}};
  load.nodes.reserve(static_cast<std::size_t>(machine.group_size(group)));
  for (NodeId position = 0; position < machine.group_size(group); ++position) {
    load.nodes.push_back({.node = machine.node_in_group(group, position), .position = position});
  }
  if (placement.listed.empty()) {
    const NodeId nodes = placement.nodes();
    for (NodeLoad& each : load.nodes) {
      if (each.node >= nodes) continue;
      for (const std::int64_t rank : placement.ranks_of(each.node)) add_rank(each, rank, request);
    }
  } else {
    for (std::size_t rank = 0; rank < placement.listed.size(); ++rank) {
      if (machine.group_of(placement.listed[rank]) != group) continue;
      add_rank(load.nodes[static_cast<std::size_t>(machine.index_in_group(placement.listed[rank]))],
               static_cast<std::int64_t>(rank), request);
    }
  }
  std::erase_if(load.nodes, [](const NodeLoad& each) { return each.ranks == 0; });
  set_gateways(load, machine);
  return load;
}

}  // namespace glean::plan
