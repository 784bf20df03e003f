// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "topology/digits.hpp"
#include "topology/network.hpp"

namespace glean::topology {
namespace {

struct Router {
  std::int64_t group = 0;
  std::int64_t in_group = 0;
  friend bool operator==(const Router&, const Router&) = default;
};

Router router_of(const Dragonfly& dragonfly, NodeId node) {
  const std::int64_t router = node / dragonfly.nodes_per_router;
  return {router / dragonfly.routers_per_group, router % dragonfly.routers_per_group};
}

std::int64_t vertex(const Dragonfly& dragonfly, const Router& router) {
  return node_count(dragonfly) + router.group * dragonfly.routers_per_group + router.in_group;
}

std::int64_t links_between_two_groups(const Dragonfly& dragonfly) {
  return std::max(1, dragonfly.routers_per_group / std::max(1, dragonfly.groups - 1));
}

// The router of `group` where the given link to the other group ends.
Router end_of_global_link(const Dragonfly& dragonfly, std::int64_t group, std::int64_t other, std::int64_t link) {
  const std::int64_t turn = other < group ? other : other - 1;   // the other one among all but this
  return {group, (turn * links_between_two_groups(dragonfly) + link) % dragonfly.routers_per_group};
}

// Routers that a route passes, in order.
std::vector<Router> routers_between(const Dragonfly& dragonfly, const Router& from, const Router& to) {
  std::vector<Router> routers = {from};
  const auto pass = [&](const Router& next) {
    if (routers.back() != next) routers.push_back(next);
  };
  if (from.group != to.group) {
    const std::int64_t link = to.in_group % links_between_two_groups(dragonfly);
    pass(end_of_global_link(dragonfly, from.group, to.group, link));
    pass(end_of_global_link(dragonfly, to.group, from.group, link));
  }
  pass(to);
  return routers;
}

}  // namespace

NodeId node_count(const Dragonfly& dragonfly) {
  return dragonfly.nodes > 0 ? dragonfly.nodes : number_of_places(extents_of(dragonfly));
}

std::vector<int> extents_of(const Dragonfly& dragonfly) {
  return {dragonfly.groups, dragonfly.routers_per_group, dragonfly.nodes_per_router};
}

int hops(const Dragonfly& dragonfly, NodeId from, NodeId to) {
  if (from == to) return 0;
  return 1 + static_cast<int>(routers_between(dragonfly, router_of(dragonfly, from), router_of(dragonfly, to)).size());
}

std::vector<Link> route(const Dragonfly& dragonfly, NodeId from, NodeId to) {
  if (from == to) return {};
  std::vector<Link> links;
  std::int64_t at = from;
  for (const Router& router : routers_between(dragonfly, router_of(dragonfly, from), router_of(dragonfly, to))) {
    links.push_back({at, vertex(dragonfly, router)});
    at = links.back().to;
  }
  links.push_back({at, to});
  return links;
}

double bytes_per_second(const Dragonfly& dragonfly, const Link& link) {
  const NodeId nodes = node_count(dragonfly);
  if (std::min(link.from, link.to) < nodes) return dragonfly.node_bytes_per_second;
  const auto group = [&](std::int64_t router) { return (router - nodes) / dragonfly.routers_per_group; };
  return group(link.from) == group(link.to) ? dragonfly.local_bytes_per_second : dragonfly.global_bytes_per_second;
}

std::vector<NodeId> neighbours(const Dragonfly& dragonfly, NodeId node) {
  return nodes_beside(node, dragonfly.nodes_per_router, node_count(dragonfly));
}

std::vector<std::string> problems_of(const Dragonfly& dragonfly) {
  const std::vector<int> extents = extents_of(dragonfly);
  // Three of them: 21 bits each.
  if (!std::all_of(extents.begin(), extents.end(), [](int extent) { return extent >= 1 && extent < (1 << 20); })) {
    return {"groups, routers_per_group and nodes_per_router have to be positive, and below 2^20"};
  }
  const std::int64_t places = number_of_places(extents);
  if (dragonfly.nodes < 0 || dragonfly.nodes > places) {
    return {fmt::format("{} nodes do not fit at routers with {} places", dragonfly.nodes, places)};
  }
  return {};
}

Dragonfly part_of(const Dragonfly& dragonfly, NodeId nodes) {
  Dragonfly part = dragonfly;
  part.nodes = nodes;
  return part;
}

}  // namespace glean::topology
