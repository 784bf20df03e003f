// SPDX-License-Identifier: BSD-3-Clause
#include "plan/traffic.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace glean::plan {
namespace {

using topology::Dragonfly;
using topology::FatTree;
using topology::Link;
using topology::Torus;

double divided(double bytes, double bytes_per_second) { return bytes_per_second > 0 ? bytes / bytes_per_second : 0; }

// Two ends that are chosen at random are a quarter of a ring apart, or a third of a line. All links share the load.
double across(const Torus& torus, const topology::Machine& machine, double bytes_per_node, double nodes) {
  double hops = 0, links = 0;
  for (std::size_t d = 0; d < torus.extents.size(); ++d) {
    const double extent = torus.extents[d];
    if (extent < 2) continue;
    const bool wraps = torus.wraps.empty() || torus.wraps[d];
    hops += wraps ? extent / 4 : extent / 3;
    links += wraps ? 2 : 2 * (extent - 1) / extent;
  }
  if (links == 0) return 0;
  return divided(bytes_per_node * nodes * hops / (links * static_cast<double>(machine.nodes())), torus.link_bytes_per_second);
}

double across(const FatTree& tree, const topology::Machine& /*machine*/, double bytes_per_node, double nodes) {
  if (tree.levels.size() < 2 || tree.levels.front().up == 0) return 0;
  const double below = std::min<double>(tree.levels.front().down, nodes);
  return divided(bytes_per_node * below, tree.levels.front().up * tree.levels[1].link_bytes_per_second);
}

double across(const Dragonfly& dragonfly, const topology::Machine& /*machine*/, double bytes_per_node, double nodes) {
  if (dragonfly.groups < 2) return 0;
  const double of_group = std::min<double>(nodes, dragonfly.routers_per_group * dragonfly.nodes_per_router);
  const double links = std::max(dragonfly.routers_per_group, dragonfly.groups - 1);
  return divided(bytes_per_node * of_group * (dragonfly.groups - 1) / dragonfly.groups, links * dragonfly.global_bytes_per_second);
}

}  // namespace

double busiest_link_seconds(const topology::Machine& machine, const std::vector<Flow>& flows) {
  std::vector<std::pair<Link, double>> passed;
  for (const Flow& flow : flows) {
    if (flow.bytes == 0 || flow.from == flow.to) continue;
    for (const Link& link : machine.route(flow.from, flow.to)) passed.emplace_back(link, flow.bytes);
  }
  std::sort(passed.begin(), passed.end());
  double most = 0;
  for (std::size_t i = 0; i < passed.size();) {
    const Link& link = passed[i].first;
    double bytes = 0;
    for (; i < passed.size() && passed[i].first == link; ++i) bytes += passed[i].second;
    most = std::max(most, divided(bytes, machine.bytes_per_second(link)));
  }
  return most;
}

double node_bytes_per_second(const topology::Machine& machine, NodeId node) {
  if (machine.nodes() < 2) return 0;
  if (std::holds_alternative<Torus>(machine.network)) {
    double sum = 0;
    for (const NodeId other : machine.neighbours(node)) sum += machine.bytes_per_second({node, other});
    return sum;
  }
  return machine.bytes_per_second(machine.route(node, node == 0 ? 1 : 0).front());
}

double all_to_all_seconds(const topology::Machine& machine, double bytes_per_node, double nodes) {
  if (machine.nodes() < 2 || bytes_per_node == 0) return 0;
  const double links = std::visit([&](const auto& network) { return across(network, machine, bytes_per_node, nodes); },
                                  machine.network);
  return std::max(links, divided(bytes_per_node, node_bytes_per_second(machine, 0)));
}

}  // namespace glean::plan
