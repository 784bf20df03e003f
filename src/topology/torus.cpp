// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/error.hpp"
#include "topology/digits.hpp"
#include "topology/network.hpp"

namespace glean::topology {
namespace {

bool wraps(const Torus& torus, std::size_t dimension) { return torus.wraps.empty() || torus.wraps[dimension]; }

std::size_t routed(const Torus& torus, std::size_t turn) {
  return torus.route_order.empty() ? turn : static_cast<std::size_t>(torus.route_order[turn]);
}

// Steps to go in one dimension, negative where the way goes down.
int signed_steps(const Torus& torus, std::size_t dimension, int from, int to) {
  if (!wraps(torus, dimension)) return to - from;
  const int extent = torus.extents[dimension];
  const int up = ((to - from) % extent + extent) % extent;
  const int down = extent - up;
  if (up == down) return torus.ties.empty() || torus.ties[dimension] > 0 ? up : -down;
  return up < down ? up : -down;
}

// One step, round the edge where the torus wraps.
int stepped(int at, int direction, int extent) { return (at + direction + extent) % extent; }

Torus shaped(const Torus& torus, const TorusPart& part) {
  Torus shape = torus;
  shape.extents = part.extents;
  if (!part.wraps.empty()) shape.wraps = part.wraps;
  if (!part.route_order.empty()) shape.route_order = part.route_order;
  shape.nodes = 0;
  shape.partitions.clear();
  return shape;
}

bool is_permutation(const std::vector<int>& order, std::size_t dimensions) {
  std::vector<int> natural(dimensions);
  std::iota(natural.begin(), natural.end(), 0);
  return std::is_permutation(order.begin(), order.end(), natural.begin(), natural.end());
}

}  // namespace

NodeId node_count(const Torus& torus) { return torus.nodes > 0 ? torus.nodes : number_of_places(torus.extents); }

std::vector<int> extents_of(const Torus& torus) { return torus.extents; }

int hops(const Torus& torus, NodeId from, NodeId to) {
  int sum = 0;
  for (std::size_t d = torus.extents.size(); d-- > 0;) {
    const int extent = torus.extents[d];
    sum += std::abs(signed_steps(torus, d, static_cast<int>(from % extent), static_cast<int>(to % extent)));
    from /= extent;
    to /= extent;
  }
  return sum;
}

std::vector<Link> route(const Torus& torus, NodeId from, NodeId to) {
  Coordinates at = place_digits(torus.extents, from);
  const Coordinates end = place_digits(torus.extents, to);
  std::vector<NodeId> strides(at.size(), 1);
  for (std::size_t d = at.size(); d-- > 1;) strides[d - 1] = strides[d] * torus.extents[d];
  std::vector<Link> links;
  links.reserve(static_cast<std::size_t>(hops(torus, from, to)));
  for (std::size_t turn = 0; turn < at.size(); ++turn) {
    const std::size_t d = routed(torus, turn);
    const int steps = signed_steps(torus, d, at[d], end[d]);
    for (int i = 0; i < std::abs(steps); ++i) {
      const int next = stepped(at[d], steps > 0 ? 1 : -1, torus.extents[d]);
      const NodeId onward = from + (next - at[d]) * strides[d];
      links.push_back({from, onward});
      at[d] = next;
      from = onward;
    }
  }
  return links;
}

double bytes_per_second(const Torus& torus, const Link& link) {
  if (torus.dimension_bytes_per_second.empty()) return torus.link_bytes_per_second;
  const Coordinates from = place_digits(torus.extents, link.from);
  const Coordinates to = place_digits(torus.extents, link.to);
  const auto differs = std::mismatch(from.begin(), from.end(), to.begin()).first - from.begin();
  return torus.dimension_bytes_per_second[static_cast<std::size_t>(differs)];
}

std::vector<NodeId> neighbours(const Torus& torus, NodeId node) {
  std::vector<NodeId> found;
  Coordinates at = place_digits(torus.extents, node);
  for (std::size_t d = 0; d < at.size(); ++d) {
    const int here = at[d];
    for (const int direction : {-1, 1}) {
      const int there = here + direction;
      if (!wraps(torus, d) && (there < 0 || there >= torus.extents[d])) continue;
      at[d] = stepped(here, direction, torus.extents[d]);
      const NodeId neighbour = place_number(torus.extents, at);
      // In a dimension of extent 2 both ways lead to the same one, in one of extent 1 back.
      if (neighbour == node || (!found.empty() && found.back() == neighbour)) continue;
      if (neighbour < node_count(torus)) found.push_back(neighbour);
    }
    at[d] = here;
  }
  return found;
}

std::vector<std::string> problems_of(const Torus& torus) {
  std::vector<std::string> problems;
  const std::size_t dimensions = torus.extents.size();
  const auto expect = [&](bool holds, std::string problem) {
    if (!holds) problems.push_back(std::move(problem));
    return holds;
  };
  const auto expect_one_each = [&](std::size_t size, std::string_view what) {
    expect(size == 0 || size == dimensions, fmt::format("{} has {} entries for {} dimensions", what, size, dimensions));
  };
  std::int64_t places = 1;
  for (const int extent : torus.extents) places = extent < 1 || places > (INT64_MAX >> 32) ? 0 : places * extent;
  if (!expect(dimensions > 0 && places > 0, "extents have to be positive, and their product a number of nodes")) return problems;
  expect_one_each(torus.wraps.size(), "wraps");
  expect_one_each(torus.ties.size(), "ties");
  expect_one_each(torus.dimension_bytes_per_second.size(), "dimension_rates");
  expect(torus.route_order.empty() || is_permutation(torus.route_order, dimensions),
         fmt::format("route_order is no order of the dimensions 0 to {}", dimensions - 1));
  expect(std::all_of(torus.ties.begin(), torus.ties.end(), [](int tie) { return tie == 1 || tie == -1; }), "ties are +1 or -1");
  expect(torus.nodes >= 0 && torus.nodes <= places, fmt::format("{} nodes do not fit on {} positions", torus.nodes, places));
  for (const TorusPart& part : torus.partitions) {
    const std::string name = fmt::format("partition {}: ", fmt::join(part.extents, "x"));
    if (!expect(part.extents.size() == dimensions, name + "has another number of dimensions")) continue;
    for (const std::string& problem : problems_of(shaped(torus, part))) problems.push_back(name + problem);
    expect(number_of_places(part.extents) <= node_count(torus), name + "is larger than the machine");
  }
  return problems;
}

Torus part_of(const Torus& torus, NodeId nodes) {
  Torus result = torus;
  if (torus.partitions.empty()) {
    result.nodes = nodes;
    return result;
  }
  NodeId below = 0, above = node_count(torus);
  for (const TorusPart& part : torus.partitions) {
    const NodeId size = number_of_places(part.extents);
    if (size == nodes) {
      result = shaped(torus, part);
      for (const TorusPart& other : torus.partitions) {
        if (number_of_places(other.extents) < size) result.partitions.push_back(other);
      }
      return result;
    }
    if (size < nodes) below = std::max(below, size);
    if (size > nodes) above = std::min(above, size);
  }
  throw base::Error(base::Errc::invalid_argument, fmt::format("the machine has no partition of {} nodes", nodes),
                    below == 0 ? fmt::format("its smallest one has {}", above)
                               : fmt::format("it has some of {} and of {}", below, above));
}

}  // namespace glean::topology
