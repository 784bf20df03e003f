// SPDX-License-Identifier: BSD-3-Clause
//
// D-mod-k routing in generalized fat trees. A subtree of level l has as many switches at its top as there are ways up to it
// from one node, W(l) = up(0) … up(l - 1), numbered 0 … W(l) - 1; number r of level l is below the numbers r + j W(l) of the
// level above. The route to node d goes through the switches with number d mod W(l), up and down.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "topology/network.hpp"

namespace glean::topology {
namespace {

// A level as the walk from the leaves up meets it.
struct Height {
  NodeId nodes_below = 1;          // of one subtree
  std::int64_t ways = 1;           // switches at the top of one subtree
  std::int64_t first_vertex = 0;   // of its switches

  Height(const FatTree& tree) : nodes_below(tree.levels.front().down), first_vertex(tree.nodes) {}
  [[nodiscard]] std::int64_t subtrees(const FatTree& tree) const { return (tree.nodes + nodes_below - 1) / nodes_below; }
  void climb(const FatTree& tree, std::size_t to_level) {
    first_vertex += subtrees(tree) * ways;
    nodes_below *= tree.levels[to_level].down;
    ways *= tree.levels[to_level - 1].up;
  }
  // The switch above `node` on routes to `destination`.
  [[nodiscard]] std::int64_t vertex(NodeId node, NodeId destination) const {
    return first_vertex + node / nodes_below * ways + destination % ways;
  }
};

}  // namespace

NodeId node_count(const FatTree& tree) { return tree.nodes; }

// From the top down: how many children a switch has at each level.
std::vector<int> extents_of(const FatTree& tree) {
  std::vector<int> children;
  for (auto level = tree.levels.rbegin(); level != tree.levels.rend(); ++level) children.push_back(level->down);
  return children;
}

int hops(const FatTree& tree, NodeId from, NodeId to) {
  int links = 0;
  for (std::size_t level = 0; from != to; ++level, links += 2) {
    from /= tree.levels[level].down;
    to /= tree.levels[level].down;
  }
  return links;
}

std::vector<Link> route(const FatTree& tree, NodeId from, NodeId to) {
  if (from == to) return {};
  std::vector<std::int64_t> up = {from};
  std::vector<std::int64_t> down = {to};
  Height height(tree);
  for (std::size_t level = 1; from / height.nodes_below != to / height.nodes_below; ++level) {
    up.push_back(height.vertex(from, to));
    down.push_back(height.vertex(to, to));
    height.climb(tree, level);
  }
  up.push_back(height.vertex(to, to));
  up.insert(up.end(), down.rbegin(), down.rend());
  std::vector<Link> links;
  for (std::size_t i = 1; i < up.size(); ++i) links.push_back({up[i - 1], up[i]});
  return links;
}

double bytes_per_second(const FatTree& tree, const Link& link) {
  const std::int64_t higher = std::max(link.from, link.to);
  Height height(tree);
  std::size_t level = 0;
  while (level + 1 < tree.levels.size() && higher >= height.first_vertex + height.subtrees(tree) * height.ways) {
    height.climb(tree, ++level);
  }
  return tree.levels[level].link_bytes_per_second;
}

std::vector<NodeId> neighbours(const FatTree& tree, NodeId node) {
  return nodes_beside(node, tree.levels.front().down, tree.nodes);
}

std::vector<std::string> problems_of(const FatTree& tree) {
  std::vector<std::string> problems;
  if (tree.nodes < 1) problems.emplace_back("a fat tree has at least one node");
  if (tree.levels.empty()) problems.emplace_back("a fat tree has at least one level");
  std::int64_t places = 1, ways = 1;
  for (std::size_t l = 0; l < tree.levels.size(); ++l) {
    const auto [down, up, rate] = tree.levels[l];
    const bool top = l + 1 == tree.levels.size();
    if (down < 1) problems.push_back(fmt::format("level {}: a switch has at least one link down", l));
    if (up < 1 && !top) problems.push_back(fmt::format("level {}: a switch below the top has at least one link up", l));
    if (up != 0 && top) problems.push_back(fmt::format("level {}: nothing is above the last level, up has to be 0", l));
    const auto bounded = [](std::int64_t product, int factor) { return std::min(product, INT64_MAX >> 32) * std::max(factor, 1); };
    places = bounded(places, down);
    ways = top ? ways : bounded(ways, up);
  }
  if (places < tree.nodes) problems.push_back(fmt::format("{} nodes, but its levels have room for {}", tree.nodes, places));
  // Numbers of vertices are 64 bits wide.
  if (places >= INT64_MAX >> 32) problems.emplace_back("more places than can be numbered");
  if (ways > (INT64_MAX >> 32) / std::max<NodeId>(tree.nodes, 1)) problems.emplace_back("more switches than can be numbered");
  return problems;
}

FatTree part_of(const FatTree& tree, NodeId nodes) {
  FatTree part = tree;
  part.nodes = nodes;
  return part;
}

}  // namespace glean::topology
