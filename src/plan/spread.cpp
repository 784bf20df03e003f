// SPDX-License-Identifier: BSD-3-Clause
#include "plan/spread.hpp"

#include <algorithm>
#include <cmath>

namespace glean::plan {
namespace {

struct Interval {
  double begin = 0, end = 0;
  [[nodiscard]] double length() const { return end - begin; }
};

// The part of every variable that the ranks of a node have their data in.
Interval interval_of(const Situation& situation, const NodeLoad& node, const Cuts& cuts) {
  const double ranks = static_cast<double>(ranks_in(situation.placement));
  if (situation.request.pattern == Pattern::s3d) {
    const auto slow = [&](std::int64_t rank) { return static_cast<double>(rank / (cuts.fast * cuts.middle)); };
    const double all = static_cast<double>(cuts.slow);
    return {slow(node.first_rank) / all, (slow(node.last_rank) + 1) / all};
  }
  if (situation.bytes_of_all == 0) {
    return {static_cast<double>(node.first_rank) / ranks, static_cast<double>(node.last_rank + 1) / ranks};
  }
  const auto before = [&](std::int64_t rank) {
    return static_cast<double>(situation.request.bytes_before(rank)) / static_cast<double>(situation.bytes_of_all);
  };
  return {before(node.first_rank), before(node.last_rank + 1)};
}

}  // namespace

Cuts cuts_of(std::int64_t ranks) {
  const auto largest_factor_up_to = [](std::int64_t number, double root) {
    std::int64_t factor = std::max<std::int64_t>(1, std::llround(std::floor(root + 1e-9)));
    while (number % factor != 0) --factor;
    return factor;
  };
  const std::int64_t slow = largest_factor_up_to(ranks, std::cbrt(static_cast<double>(ranks)));
  const std::int64_t middle = largest_factor_up_to(ranks / slow, std::sqrt(static_cast<double>(ranks / slow)));
  return {.fast = ranks / slow / middle, .middle = middle, .slow = slow};
}

Spread spread_of(const Situation& situation, std::int64_t files) {
  const Cuts cuts = cuts_of(ranks_in(situation.placement));
  const double groups = static_cast<double>(situation.groups);
  const double index = static_cast<double>(situation.group_index);
  const Interval own{index / groups, (index + 1) / groups};

  Spread spread;
  double staying = 0, all = 0;
  for (const NodeLoad& node : situation.load.nodes) {
    const Interval its = interval_of(situation, node, cuts);
    const double bytes = static_cast<double>(node.bytes);
    const double common = std::max(0.0, std::min(its.end, own.end) - std::max(its.begin, own.begin));
    spread.of_node = std::max(spread.of_node, its.length());
    all += bytes;
    staying += its.length() > 0 ? bytes * common / its.length() : 0;
  }
  const double share = all > 0 ? staying / all : 1;
  // In a file of few groups no less stays than of data that are spread evenly over it.
  const double groups_in_file = std::max(1.0, groups / static_cast<double>(files));
  spread.leaving = std::clamp(1 - std::max(share, 1 / groups_in_file), 0.0, 1.0);
  if (spread.leaving < 1e-9) spread.leaving = 0;
  return spread;
}

}  // namespace glean::plan
