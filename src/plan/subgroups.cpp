// SPDX-License-Identifier: BSD-3-Clause
#include "plan/subgroups.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace glean::plan {
namespace {

using topology::Coordinates;

class Division {
 public:
  Division(const topology::Machine& machine, const GroupLoad& load)
      : machine_(machine), load_(load), torus_(std::holds_alternative<topology::Torus>(machine.network)) {
    for (const NodeLoad& each : load.nodes) coordinates_.push_back(machine.coordinates(each.node));
    weightless_ = load.bytes() == 0;
    gateways_ = machine.gateways(load.group);
  }

  // Each part is a list of indices into load.nodes.
  std::vector<std::vector<int>> cut(int parts) {
    std::map<NodeId, std::vector<int>> by_gateway;
    for (int i = 0; i < static_cast<int>(load_.nodes.size()); ++i) {
      by_gateway[load_.nodes[static_cast<std::size_t>(i)].gateway].push_back(i);
    }
    std::vector<std::vector<int>> result;
    if (static_cast<int>(by_gateway.size()) > parts) {
      std::vector<int> all(load_.nodes.size());
      std::iota(all.begin(), all.end(), 0);
      bisect(all, parts, result);
      return result;
    }
    for (const auto& [nodes, count] : shares(by_gateway, parts)) bisect(nodes, count, result);
    return result;
  }

  int aggregator(const std::vector<int>& part) const {
    if (!torus_) {
      return *std::min_element(part.begin(), part.end(), [&](int a, int b) {
        return std::pair(-weight(a), a) < std::pair(-weight(b), b);
      });
    }
    const std::vector<Middle> middle = middle_of(part);
    const auto merit = [&](int i) {
      const NodeLoad& load = load_.nodes[static_cast<std::size_t>(i)];
      // A gateway has enough to do with what passes it.
      return std::tuple(distance(coordinates_[static_cast<std::size_t>(i)], middle),
                        std::count(gateways_.begin(), gateways_.end(), load.node),
                        load.gateway >= 0 ? machine_.hops(load.node, load.gateway) : 0, i);
    };
    return *std::min_element(part.begin(), part.end(), [&](int a, int b) { return merit(a) < merit(b); });
  }

 private:
  // Every gateway gets the same number of parts, as far as there are nodes.
  static std::vector<std::pair<std::vector<int>, int>> shares(std::map<NodeId, std::vector<int>>& by_gateway, int parts) {
    std::vector<std::pair<std::vector<int>, int>> result;
    for (auto& [gateway, nodes] : by_gateway) result.emplace_back(std::move(nodes), 0);
    for (std::size_t next = 0; parts > 0; next = (next + 1) % result.size()) {
      if (result[next].second == static_cast<int>(result[next].first.size())) continue;
      ++result[next].second;
      --parts;
    }
    return result;
  }

  // Where no node has anything, nodes count.
  [[nodiscard]] double weight(int i) const {
    return weightless_ ? 1 : static_cast<double>(load_.nodes[static_cast<std::size_t>(i)].bytes);
  }

  [[nodiscard]] int longest_dimension(const std::vector<int>& nodes) const {
    int longest = 0, extent_of_longest = -1;
    for (std::size_t d = 0; d < coordinates_.front().size(); ++d) {
      int low = std::numeric_limits<int>::max(), high = std::numeric_limits<int>::min();
      for (const int i : nodes) {
        low = std::min(low, coordinates_[static_cast<std::size_t>(i)][d]);
        high = std::max(high, coordinates_[static_cast<std::size_t>(i)][d]);
      }
      if (high - low > extent_of_longest) {
        longest = static_cast<int>(d);
        extent_of_longest = high - low;
      }
    }
    return longest;
  }

  void bisect(std::vector<int> nodes, int parts, std::vector<std::vector<int>>& result) const {
    if (parts == 1) {
      std::sort(nodes.begin(), nodes.end());
      result.push_back(std::move(nodes));
      return;
    }
    const std::size_t dimension = torus_ ? static_cast<std::size_t>(longest_dimension(nodes)) : 0;
    std::sort(nodes.begin(), nodes.end(), [&](int a, int b) {
      const Coordinates& x = coordinates_[static_cast<std::size_t>(a)];
      const Coordinates& y = coordinates_[static_cast<std::size_t>(b)];
      return std::tie(x[dimension], x, a) < std::tie(y[dimension], y, b);
    });
    double all = 0;
    for (const int i : nodes) all += weight(i);
    const int left_parts = parts / 2;
    const double wanted = all * left_parts / parts;
    // Every part gets a node.
    const std::size_t first = static_cast<std::size_t>(left_parts);
    const std::size_t last = nodes.size() - static_cast<std::size_t>(parts - left_parts);
    const double wanted_nodes = static_cast<double>(nodes.size()) * left_parts / parts;
    std::size_t best = first;
    double sum = 0;
    auto best_distance = std::pair(std::numeric_limits<double>::infinity(), 0.0);
    for (std::size_t i = 0; i <= last; ++i) {
      // Nodes that have nothing are divided evenly too.
      const auto distance_here = std::pair(std::abs(sum - wanted), std::abs(static_cast<double>(i) - wanted_nodes));
      if (i >= first && distance_here < best_distance) {
        best = i;
        best_distance = distance_here;
      }
      if (i < nodes.size()) sum += weight(nodes[i]);
    }
    const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(best);
    bisect({nodes.begin(), middle}, left_parts, result);
    bisect({middle, nodes.end()}, parts - left_parts, result);
  }

  struct Middle {
    int low = 0, high = 0;
  };

  // In each dimension the places with half of the bytes on either side.
  [[nodiscard]] std::vector<Middle> middle_of(const std::vector<int>& part) const {
    double all = 0;
    for (const int i : part) all += weight(i);
    const bool even = all == 0;
    if (even) all = static_cast<double>(part.size());
    std::vector<Middle> result;
    for (std::size_t d = 0; d < coordinates_.front().size(); ++d) {
      std::map<int, double> along;
      for (const int i : part) along[coordinates_[static_cast<std::size_t>(i)][d]] += even ? 1 : weight(i);
      Middle middle;
      double sum = 0;
      for (const auto& [place, bytes] : along) {
        if (bytes > 0 && 2 * sum <= all) middle.high = place;
        if (2 * sum < all) middle.low = place;
        sum += bytes;
      }
      result.push_back(middle);
    }
    return result;
  }

  static int distance(const Coordinates& place, const std::vector<Middle>& middle) {
    int sum = 0;
    for (std::size_t d = 0; d < place.size(); ++d) {
      sum += std::max({middle[d].low - place[d], place[d] - middle[d].high, 0});
    }
    return sum;
  }

  const topology::Machine& machine_;
  const GroupLoad& load_;
  bool torus_;
  bool weightless_ = false;
  std::vector<NodeId> gateways_;
  std::vector<Coordinates> coordinates_;
};

}  // namespace

Bytes Subgroups::most() const { return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end()); }

Subgroups divide(const topology::Machine& machine, const GroupLoad& load, int parts) {
  Division division(machine, load);
  std::vector<std::vector<int>> cut = division.cut(parts);
  const auto lowest_rank = [&](const std::vector<int>& part) {
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    for (const int i : part) lowest = std::min(lowest, load.nodes[static_cast<std::size_t>(i)].first_rank);
    return lowest;
  };
  std::sort(cut.begin(), cut.end(), [&](const auto& a, const auto& b) { return lowest_rank(a) < lowest_rank(b); });

  Subgroups result;
  result.of_node.resize(load.nodes.size());
  for (const std::vector<int>& part : cut) {
    Bytes bytes = 0;
    for (const int i : part) {
      result.of_node[static_cast<std::size_t>(i)] = static_cast<int>(result.aggregator.size());
      bytes += load.nodes[static_cast<std::size_t>(i)].bytes;
    }
    result.aggregator.push_back(division.aggregator(part));
    result.bytes.push_back(bytes);
  }
  return result;
}

}  // namespace glean::plan
