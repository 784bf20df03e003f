// SPDX-License-Identifier: BSD-3-Clause
#include "topology/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "topology/digits.hpp"
#include "topology/network.hpp"

namespace glean::topology {
namespace {

struct InGroup {
  GroupId group = 0;
  NodeId index = 0;
};

// Extents of the torus if its groups are boxes.
const std::vector<int>* boxed(const Machine& machine) {
  const auto* torus = std::get_if<Torus>(&machine.network);
  return torus && !machine.way_out.group_extents.empty() ? &torus->extents : nullptr;
}

NodeId run_length(const Machine& machine) { return std::max<NodeId>(1, machine.way_out.nodes_per_group); }

InGroup in_group(const Machine& machine, NodeId node) {
  const std::vector<int>* extents = boxed(machine);
  if (!extents) return {node / run_length(machine), node % run_length(machine)};
  const std::vector<int>& box = machine.way_out.group_extents;
  InGroup found;
  std::int64_t groups = 1, inside = 1;   // so many per step in this dimension
  for (std::size_t d = extents->size(); d-- > 0;) {
    const std::int64_t at = node % (*extents)[d];
    found.group += at / box[d] * groups;
    found.index += at % box[d] * inside;
    groups *= (*extents)[d] / box[d];
    inside *= box[d];
    node /= (*extents)[d];
  }
  return found;
}

// The nodes of a group that is no smaller last one.
NodeId full_group(const Machine& machine) {
  return boxed(machine) ? number_of_places(machine.way_out.group_extents) : run_length(machine);
}

NodeId gateway_of(const Machine& machine, GroupId group, std::size_t number) {
  const std::vector<int>& gateway = machine.way_out.gateways[number];
  const NodeId index = boxed(machine) ? place_number(machine.way_out.group_extents, gateway) : gateway.front();
  return machine.node_in_group(group, std::min(index, machine.group_size(group) - 1));
}

std::vector<std::string> problems_of_gateways(const Machine& machine) {
  std::vector<std::string> problems;
  const WayOut& way_out = machine.way_out;
  const NodeId each = full_group(machine);
  for (const std::vector<int>& gateway : way_out.gateways) {
    const bool inside = boxed(machine) ? is_place(way_out.group_extents, gateway)
                                       : gateway.size() == 1 && gateway.front() >= 0 && gateway.front() < each;
    if (!inside) problems.push_back(fmt::format("gateway {} is outside of the group", gateway));
  }
  if (way_out.default_gateway.empty()) return problems;
  if (static_cast<NodeId>(way_out.default_gateway.size()) != each) {
    problems.push_back(fmt::format("default_gateway has {} entries for {} nodes of a group", way_out.default_gateway.size(), each));
  }
  for (const int chosen : way_out.default_gateway) {
    if (chosen >= 0 && static_cast<std::size_t>(chosen) < way_out.gateways.size()) continue;
    problems.push_back(fmt::format("default_gateway has {}, and there are {} gateways", chosen, way_out.gateways.size()));
    break;
  }
  return problems;
}

std::vector<std::string> problems_of_groups(const Machine& machine) {
  const WayOut& way_out = machine.way_out;
  if (way_out.nodes_per_group < 0) return {"nodes_per_group cannot be negative"};
  if (way_out.group_extents.empty()) return {};
  const auto* torus = std::get_if<Torus>(&machine.network);
  if (!torus) return {"group_extents are for a torus; say nodes_per_group"};
  if (way_out.nodes_per_group != 0) return {"groups are boxes (group_extents) or runs (nodes_per_group), not both"};
  if (node_count(*torus) != number_of_places(torus->extents)) return {"groups can be boxes only where every position is a node"};
  const auto tile = [&](const std::vector<int>& extents) {
    return std::equal(extents.begin(), extents.end(), way_out.group_extents.begin(), way_out.group_extents.end(),
                      [](int extent, int box) { return box > 0 && extent % box == 0; });
  };
  std::vector<std::string> problems;
  const auto expect_tiled = [&](const std::vector<int>& extents) {
    if (tile(extents)) return;
    problems.push_back(fmt::format("group_extents {} do not divide {}", fmt::join(way_out.group_extents, "x"), fmt::join(extents, "x")));
  };
  expect_tiled(torus->extents);
  for (const TorusPart& part : torus->partitions) expect_tiled(part.extents);
  return problems;
}

std::vector<std::string> problems_of_rates(const Machine& machine) {
  std::vector<std::string> problems;
  const auto expect = [&](double number, std::string_view what) {
    if (!(number >= 0)) problems.push_back(fmt::format("{} cannot be negative", what));
  };
  const WayOut& way_out = machine.way_out;
  const FileSystem& file_system = machine.file_system;
  for (const double number : {way_out.gateway_bytes_per_second, way_out.tree_bytes_per_second, way_out.group_bytes_per_second,
                              file_system.bytes_per_second, file_system.target_bytes_per_second, file_system.sustained_bytes_per_second,
                              machine.node.copy_bytes_per_second, machine.node.memory_bytes_per_second,
                              machine.node.receive_bytes_per_second, machine.staging.bytes_per_second,
                              machine.staging.network_bytes_per_second}) {
    expect(number, "a rate");
  }
  for (const double number : {way_out.message_seconds, file_system.request_seconds, file_system.create_seconds, file_system.lock_seconds,
                              file_system.directory_create_seconds, machine.message_seconds}) {
    expect(number, "a time");
  }
  for (const int number : {way_out.concurrent_messages, file_system.stripe_count, machine.collective_aggregators}) {
    expect(number, "a number");
  }
  expect(static_cast<double>(machine.staging.nodes), "the number of staging nodes");
  if (machine.node.cores < 1 || machine.node.numa_nodes < 1) problems.emplace_back("a node has at least one core and one NUMA node");
  if (file_system.targets < 1) problems.emplace_back("a file system has at least one target");
  return problems;
}

}  // namespace

NodeId Machine::nodes() const {
  return std::visit([](const auto& kind) { return node_count(kind); }, network);
}

Coordinates Machine::coordinates(NodeId node_id) const {
  return std::visit([&](const auto& kind) { return place_digits(extents_of(kind), node_id); }, network);
}

std::optional<NodeId> Machine::node_at(const Coordinates& position) const {
  const std::vector<int> extents = std::visit([](const auto& kind) { return extents_of(kind); }, network);
  if (!is_place(extents, position)) return std::nullopt;
  const NodeId found = place_number(extents, position);
  return found < nodes() ? std::optional(found) : std::nullopt;
}

int Machine::hops(NodeId from, NodeId to) const {
  return std::visit([&](const auto& kind) { return topology::hops(kind, from, to); }, network);
}

std::vector<Link> Machine::route(NodeId from, NodeId to) const {
  return std::visit([&](const auto& kind) { return topology::route(kind, from, to); }, network);
}

std::vector<NodeId> Machine::nodes_on_route(NodeId from, NodeId to) const {
  std::vector<NodeId> passed = {from};
  const NodeId end = nodes();
  for (const Link& link : route(from, to)) {
    if (link.to < end) passed.push_back(link.to);
  }
  return passed;
}

double Machine::bytes_per_second(const Link& link) const {
  return std::visit([&](const auto& kind) { return topology::bytes_per_second(kind, link); }, network);
}

std::vector<NodeId> Machine::neighbours(NodeId node_id) const {
  return std::visit([&](const auto& kind) { return topology::neighbours(kind, node_id); }, network);
}

GroupId Machine::groups() const {
  return 1 + (nodes() - 1) / full_group(*this);
}

GroupId Machine::group_of(NodeId node_id) const { return in_group(*this, node_id).group; }

NodeId Machine::index_in_group(NodeId node_id) const { return in_group(*this, node_id).index; }

NodeId Machine::group_size(GroupId group) const {
  return std::min(full_group(*this), nodes() - group * full_group(*this));
}

NodeId Machine::node_in_group(GroupId group, NodeId index) const {
  const std::vector<int>* extents = boxed(*this);
  if (!extents) return group * run_length(*this) + index;
  const std::vector<int>& box = way_out.group_extents;
  NodeId node_id = 0, stride = 1;
  for (std::size_t d = extents->size(); d-- > 0;) {
    const int across = (*extents)[d] / box[d];
    node_id += (group % across * box[d] + index % box[d]) * stride;
    group /= across;
    index /= box[d];
    stride *= (*extents)[d];
  }
  return node_id;
}

std::vector<NodeId> Machine::gateways(GroupId group) const {
  std::vector<NodeId> found;
  for (std::size_t i = 0; i < way_out.gateways.size(); ++i) {
    const NodeId gateway = gateway_of(*this, group, i);
    if (std::find(found.begin(), found.end(), gateway) == found.end()) found.push_back(gateway);
  }
  return found;
}

std::optional<NodeId> Machine::default_gateway(NodeId node_id) const {
  if (way_out.gateways.empty()) return std::nullopt;
  const auto [group, index] = in_group(*this, node_id);
  const auto place = static_cast<std::size_t>(index);
  const auto size = static_cast<std::size_t>(group_size(group));
  return gateway_of(*this, group,
                    way_out.default_gateway.empty() ? place * way_out.gateways.size() / size
                                                    : static_cast<std::size_t>(way_out.default_gateway[place]));
}

std::vector<NodeId> nodes_beside(NodeId node, int each, NodeId nodes) {
  const NodeId first = node - node % each;
  std::vector<NodeId> found;
  for (NodeId other = first; other < std::min(first + each, nodes); ++other) {
    if (other != node) found.push_back(other);
  }
  return found;
}

std::vector<std::string> problems_of(const Machine& machine) {
  std::vector<std::string> problems =
      std::visit([](const auto& kind) { return topology::problems_of(kind); }, machine.network);
  const auto add = [&](const std::vector<std::string>& more) { problems.insert(problems.end(), more.begin(), more.end()); };
  // Groups are asked for only in a network that is one, and gateways in groups that are some.
  if (problems.empty()) add(problems_of_groups(machine));
  if (problems.empty()) add(problems_of_gateways(machine));
  add(problems_of_rates(machine));
  return problems;
}

Machine partition(const Machine& machine, NodeId nodes) {
  if (nodes == machine.nodes()) return machine;
  if (nodes < 1 || nodes > machine.nodes()) {
    throw base::Error(base::Errc::invalid_argument, fmt::format("cannot take {} of {} nodes", nodes, machine.nodes()));
  }
  Machine part = machine;
  part.network = std::visit([&](const auto& kind) -> Network { return part_of(kind, nodes); }, machine.network);
  if (const auto problems = problems_of(part); !problems.empty()) {
    throw base::Error(base::Errc::invalid_argument,
                      fmt::format("a part of {} nodes cannot be: {}", nodes, fmt::join(problems, "; ")));
  }
  return part;
}

}  // namespace glean::topology
