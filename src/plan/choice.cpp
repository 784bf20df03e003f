// SPDX-License-Identifier: BSD-3-Clause
#include "plan/choice.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace glean::plan {
namespace {

// 1, 2, 4, … within the limits, and all nodes.
std::vector<int> aggregator_candidates(const Situation& situation) {
  const int nodes = static_cast<int>(situation.load.nodes.size());
  const int most = std::min(situation.limits.aggregators_max, nodes);
  const int least = std::min(situation.limits.aggregators_min, most);
  std::vector<int> candidates{least};
  int power = 1;
  while (power <= least) power *= 2;
  for (; power <= most; power *= 2) candidates.push_back(power);
  if (most == nodes && candidates.back() != nodes) candidates.push_back(nodes);
  return candidates;
}

// 1, 2, 4, …, one for each group.
std::vector<std::int64_t> file_candidates(const Situation& situation) {
  if (situation.request.sink == Sink::stagers) return {0};
  if (situation.request.files != 0) return {situation.request.files};
  std::vector<std::int64_t> candidates;
  for (std::int64_t files = 1; files < situation.groups; files *= 2) candidates.push_back(files);
  candidates.push_back(situation.groups);
  return candidates;
}

void judge(std::vector<Alternative>& alternatives, const Situation& situation, Bytes memory_bytes) {
  Bytes least = std::numeric_limits<Bytes>::max();
  for (const Alternative& each : alternatives) least = std::min(least, each.bytes_per_aggregator);
  const Bytes unit = unit_bytes(situation.machine.file_system);
  for (Alternative& each : alternatives) {
    if (memory_bytes != 0 && each.bytes_per_aggregator > std::max(memory_bytes, least)) each.verdict = Verdict::too_much_memory;
    else if (each.files != 0 && each.aggregators > alternatives.front().aggregators &&
             situation.share_bytes(static_cast<std::size_t>(each.aggregators)) < unit) {
      each.verdict = Verdict::too_little_each;
    }
  }
  // What the memory asks for goes before whole blocks.
  const auto possible = [](const Alternative& each) { return each.verdict == Verdict::possible; };
  if (std::any_of(alternatives.begin(), alternatives.end(), possible)) return;
  for (Alternative& each : alternatives) {
    if (each.verdict == Verdict::too_little_each) each.verdict = Verdict::possible;
  }
}

std::size_t fastest(const std::vector<Alternative>& alternatives) {
  double least = std::numeric_limits<double>::infinity();
  for (const Alternative& each : alternatives) {
    if (each.verdict == Verdict::possible) least = std::min(least, each.cost.total);
  }
  std::size_t best = alternatives.size();
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    const Alternative& each = alternatives[i];
    if (each.verdict != Verdict::possible || each.cost.total > least * (1 + margin)) continue;
    if (best == alternatives.size() || std::tie(each.files, each.aggregators) <
                                           std::tie(alternatives[best].files, alternatives[best].aggregators)) {
      best = i;
    }
  }
  return best;
}

}  // namespace

std::int64_t Choice::rounds() const {
  if (memory_bytes == 0) return 1;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>((best().bytes_per_aggregator + memory_bytes - 1) / memory_bytes));
}

Choice choose(const Situation& situation) {
  Choice choice;
  choice.group = situation.load.group;
  choice.group_bytes = situation.load.bytes();
  choice.memory_bytes = situation.limits.aggregator_memory_bytes(situation.machine);
  const std::vector<std::int64_t> files = file_candidates(situation);
  for (const int aggregators : aggregator_candidates(situation)) {
    const Subgroups subgroups = divide(situation.machine, situation.load, aggregators);
    const Bytes busiest = bytes_of_busiest_aggregator(situation, subgroups);
    const Bytes window = situation.window_bytes(subgroups.aggregator.size());
    const std::vector<Cost> costs = costs_of(situation, subgroups, files);
    for (std::size_t i = 0; i < files.size(); ++i) {
      choice.alternatives.push_back({.aggregators = aggregators,
                                     .files = files[i],
                                     .bytes_per_aggregator = busiest,
                                     .window_bytes = files[i] == 0 ? 0 : window,
                                     .cost = costs[i]});
    }
  }
  judge(choice.alternatives, situation, choice.memory_bytes);
  choice.chosen = fastest(choice.alternatives);
  return choice;
}

}  // namespace glean::plan
