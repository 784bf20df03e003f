// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "plan/subgroups.hpp"

namespace glean::plan {
namespace {

using topology::Machine;
using topology::Placement;

// `part` of `all` of the bytes; the product of all three may not fit.
Bytes share(Bytes bytes, std::int64_t part, std::int64_t all) {
  const Bytes p = static_cast<Bytes>(part), a = static_cast<Bytes>(all);
  return bytes / a * p + bytes % a * p / a;
}

// What is the same for all groups of a request, which has been verified.
class Planner {
 public:
  Planner(const Machine& machine, const Placement& placement, const Request& request, const Limits& limits)
      : machine_(machine), placement_(placement), request_(request), limits_(limits), in_use_(machine, placement),
        bytes_(request.bytes_before(ranks_in(placement))) {
    if (request.sink == Sink::storage) common_ = choose(situation(even_share()));
  }

  Planner(const Machine& machine, const Placement& placement, const Request& request, const Choice& choice)
      : machine_(machine), placement_(placement), request_(request), in_use_(machine, placement),
        bytes_(request.bytes_before(ranks_in(placement))), common_(choice) {}

  [[nodiscard]] const GroupsInUse& in_use() const { return in_use_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

  // For storage every group has to know how many aggregators the others have, so that it cannot depend on what one group has.
  [[nodiscard]] Choice choice_for(const GroupLoad& load) const { return common_ ? *common_ : choose(situation(load)); }

  [[nodiscard]] GroupLoad load(GroupId group) const { return load_of(machine_, placement_, request_, group); }

  [[nodiscard]] GroupPlan plan(const GroupLoad& load, const Choice& choice) const {
    GroupPlan result{.group = load.group, .shape = shape(load, choice), .domains = {}};
    if (request_.sink == Sink::stagers) return result;
    const std::int64_t files = choice.best().files, groups = in_use_.count(), index = in_use_.index_of(load.group);
    const std::int64_t each = choice.best().aggregators;
    result.file = index * files / groups;
    const auto first_of = [&](std::int64_t file) { return (file * groups + files - 1) / files; };
    const std::int64_t first = first_of(result.file), of_file = first_of(result.file + 1) - first;
    result.first_domain = (index - first) * each;
    result.domain_count = each;
    result.domains.window_bytes = choice.best().window_bytes;
    result.domains.aggregators = of_file * each;
    const Bytes file_bytes = share(bytes_, of_file, groups);
    // Divided variable by variable, so that a node meets the same few aggregators in each.
    if (request_.pattern == Pattern::contiguous) result.domains.fixed_end = file_bytes;
    else result.domains.record_bytes = file_bytes / static_cast<Bytes>(request_.variables);
    return result;
  }

 private:
  [[nodiscard]] Situation situation(GroupLoad load) const {
    const std::int64_t index = in_use_.index_of(load.group);
    return {machine_, placement_, request_, limits_, std::move(load), in_use_.count(), index, bytes_};
  }

  // The load of the group with most nodes: what each of them has when all ranks put the same.
  [[nodiscard]] GroupLoad even_share() const {
    GroupLoad load = load_of(machine_, placement_, {}, in_use_.fullest());
    for (NodeLoad& each : load.nodes) each.bytes = share(bytes_, each.ranks, ranks_in(placement_));
    return load;
  }

  [[nodiscard]] GroupShape shape(const GroupLoad& load, const Choice& choice) const {
    GroupShape result;
    result.rounds = choice.rounds();
    const bool idle = request_.sink == Sink::stagers && load.bytes() == 0;
    for (const NodeLoad& each : load.nodes) result.members.push_back({.position = each.position, .bytes = each.bytes});
    if (idle) return result;
    const int count = std::min(choice.best().aggregators, static_cast<int>(load.nodes.size()));
    const Subgroups subgroups = divide(machine_, load, count);
    for (std::size_t i = 0; i < load.nodes.size(); ++i) result.members[i].aggregator = subgroups.of_node[i];
    for (std::size_t part = 0; part < subgroups.aggregator.size(); ++part) {
      const NodeLoad& node = load.nodes[static_cast<std::size_t>(subgroups.aggregator[part])];
      result.aggregators.push_back({.position = node.position,
                                    .gateway = node.gateway >= 0 ? machine_.index_in_group(node.gateway) : -1,
                                    .bytes = subgroups.bytes[part],
                                    .reassigned = node.reassigned});
    }
    return result;
  }

  const Machine& machine_;
  const Placement& placement_;
  const Request& request_;
  const Limits limits_;
  const GroupsInUse in_use_;
  const Bytes bytes_;
  std::optional<Choice> common_;
};

}  // namespace

std::vector<Writer> writers(const Machine& machine, const Placement& placement, const GroupPlan& plan) {
  std::vector<Writer> result;
  for (const GroupShape::Aggregator& each : plan.shape.aggregators) {
    const auto write_at = [&](NodeId position) {
      const NodeId node = machine.node_in_group(plan.group, position);
      const auto ranks = placement.ranks_of(node);
      if (!ranks.empty()) result.push_back({node, ranks.front()});
      return !ranks.empty();
    };
    if (!each.reassigned || !write_at(each.gateway)) write_at(each.position);
  }
  return result;
}

namespace {

GroupPlan plan_group(const Planner& planner, const Machine& machine, GroupId group) {
  if (group < 0 || group >= machine.groups() || planner.in_use().index_of(group) < 0) {
    throw base::Error(base::Errc::invalid_argument, fmt::format("I/O group {} of {} has no ranks", group, machine.name),
                      fmt::format("ranks are in {} of its {} groups", planner.in_use().count(), machine.groups()));
  }
  const GroupLoad load = planner.load(group);
  return planner.plan(load, planner.choice_for(load));
}

}  // namespace

GroupPlan plan_group(const Machine& machine, const Placement& placement, const Request& request, const Limits& limits, GroupId group) {
  verify(machine, placement, request, limits);
  return plan_group(Planner(machine, placement, request, limits), machine, group);
}

Choice choose_for_all(const Machine& machine, const Placement& placement, const Request& request, const Limits& limits) {
  verify(machine, placement, request, limits);
  return Planner(machine, placement, request, limits).choice_for({});
}

GroupPlan plan_group_with(const Choice& choice, const Machine& machine, const Placement& placement, const Request& request,
                          GroupId group) {
  return plan_group(Planner(machine, placement, request, choice), machine, group);
}

GroupId group_of_domain(const Machine& machine, const Placement& placement, const GroupPlan& plan, std::int64_t domain) {
  const GroupsInUse in_use(machine, placement);
  const std::int64_t first_of_file = in_use.index_of(plan.group) - plan.first_domain / plan.domain_count;
  return in_use.at(first_of_file + domain / plan.domain_count);
}

std::int64_t Plan::Alike::count() const {
  std::int64_t sum = 0;
  for (const Run& run : groups) sum += run.count;
  return sum;
}

const GroupShape* Plan::shape_of(GroupId group) const {
  for (const Alike& each : alike) {
    for (const Run& run : each.groups) {
      if (group >= run.first && group < run.first + run.count) return &each.shape;
    }
  }
  return nullptr;
}

std::int64_t Plan::nodes() const {
  std::int64_t sum = 0;
  for (const Alike& each : alike) sum += each.count() * static_cast<std::int64_t>(each.shape.members.size());
  return sum;
}

std::int64_t Plan::aggregators() const {
  std::int64_t sum = 0;
  for (const Alike& each : alike) sum += each.count() * static_cast<std::int64_t>(each.shape.aggregators.size());
  return sum;
}

Plan plan(const Machine& machine, const Placement& placement, const Request& request, const Limits& limits) {
  verify(machine, placement, request, limits);
  const Planner planner(machine, placement, request, limits);
  Plan result{.choice = {}, .groups = planner.in_use().count(), .bytes = planner.bytes(), .alike = {}};
  for (std::int64_t index = 0; index < result.groups; ++index) {
    const GroupLoad load = planner.load(planner.in_use().at(index));
    Choice choice = planner.choice_for(load);
    const GroupPlan group = planner.plan(load, choice);
    if (index == 0 || choice.group_bytes > result.choice.group_bytes) result.choice = std::move(choice);
    const auto same = std::find_if(result.alike.begin(), result.alike.end(),
                                   [&](const Plan::Alike& each) { return each.shape == group.shape; });
    if (same == result.alike.end()) {
      result.alike.push_back({group.shape, {{group.group, 1}}});
    } else if (same->groups.back().first + same->groups.back().count == group.group) {
      ++same->groups.back().count;
    } else {
      same->groups.push_back({group.group, 1});
    }
  }
  result.files = result.choice.best().files;
  return result;
}

}  // namespace glean::plan
