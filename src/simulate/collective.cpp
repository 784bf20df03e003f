// SPDX-License-Identifier: BSD-3-Clause
//
// MPI-IO in two phases, for each variable: all ranks of a file exchange offsets and sizes, then the data with aggregators, which are the
// first nodes of each I/O group whatever rank has the data (seed 000, 3); then these write. Nothing overlaps. Or aggregators are those of
// the plan, which have most of what they write in their groups (mode `collective`); or ranks put what they have into the memory of
// aggregators (one-sided, seed 002), which then neither hear of ranks that have nothing for them nor match and copy messages.
#include <algorithm>
#include <cmath>

#include "plan/traffic.hpp"
#include "simulate/strategy_kinds.hpp"

namespace glean::simulate {
namespace {

enum class Kind { one_file, grouped_files, planned, one_sided };

class Collective : public Strategy {
 public:
  Collective(std::string_view name, std::string_view summary, Kind kind) : name_(name), summary_(summary), kind_(kind) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view summary() const override { return summary_; }

  [[nodiscard]] bool executes_the_plan() const override { return kind_ == Kind::planned; }

  // Of a session in one file, unless its settings say otherwise.
  [[nodiscard]] plan::Plan plan(const Scenario& scenario) const override {
    if (kind_ != Kind::planned || scenario.to_io_nodes) return Strategy::plan(scenario);
    plan::Request request = scenario.request;
    request.sink = plan::Sink::storage;
    request.files = std::max<std::int64_t>(1, scenario.files);
    return plan::plan(scenario.machine, scenario.placement, request, scenario.limits);
  }

  [[nodiscard]] double files(const Site& site) const override {
    const Scenario& scenario = site.scenario();
    if (kind_ == Kind::planned) return static_cast<double>(std::max<std::int64_t>(1, site.plan().files));
    if (kind_ != Kind::grouped_files) return 1;
    if (scenario.files > 0) return static_cast<double>(scenario.files);
    return std::max(1.0, std::floor(static_cast<double>(scenario.ranks()) / static_cast<double>(scenario.ranks_per_file)));
  }

  [[nodiscard]] StepEnds add_step(Site& site, const std::vector<ActivityId>& ready, const StepEnds* /*last*/) const override {
    const Scenario& scenario = site.scenario();
    const double count = files(site), bytes = static_cast<double>(scenario.step_bytes());
    std::vector<ActivityId> before = ready;
    if (!scenario.to_io_nodes) before = {site.add("create", {}, 0, count * site.machine().file_system.create_seconds, before)};
    before = {site.add("offsets", {}, 0, offsets_seconds(site) * scenario.request.variables, before)};
    before = {site.add("exchange", {}, 0, exchange_seconds(site), before)};
    // A file that is within a group has one client, behind its I/O node.
    const Files shared{.count = count, .clients_of_one = site.clients() / count, .bytes = bytes};
    std::vector<ActivityId> written = before;
    for (std::size_t crowd = 0; crowd < site.crowds().size(); ++crowd) {
      const Crowd& its = site.crowds()[crowd];
      const std::size_t aggregators = aggregators_of(site, its);
      const double of_one = bytes / site.groups() / static_cast<double>(aggregators);   // even, whichever group the data are from
      for (std::size_t each = 0; each < aggregators && of_one > 0; ++each) {
        Path path{.message_bytes = std::min(of_one / scenario.request.variables, static_cast<double>(scenario.limits.request_bytes))};
        const bool is_planned = kind_ == Kind::planned;
        const NodeId position = is_planned ? its.shape->aggregators[each].position : its.shape->members[each].position;
        site.out_of_group(path, crowd, position, is_planned ? its.shape->aggregators[each].gateway : site.default_gateway(crowd, position));
        if (!scenario.to_io_nodes) site.into_files(path, its.count, shared);
        written.push_back(site.add("write", path, of_one, 0, before));
      }
    }
    const ActivityId end = site.milestone("written", std::move(written));
    return {end, end, end};
  }

 private:
  [[nodiscard]] std::size_t aggregators_of(const Site& site, const Crowd& crowd) const {
    if (kind_ == Kind::planned) return crowd.shape->aggregators.size();
    const std::size_t nodes = crowd.shape->members.size();
    const auto said = static_cast<std::size_t>(site.machine().collective_aggregators);
    return said > 0 ? std::min(said, nodes) : nodes;
  }

  // Of one variable: every rank of a file tells every other. In closed form, since there are ranks² of them.
  [[nodiscard]] double offsets_seconds(const Site& site) const {
    const double in_file = static_cast<double>(site.scenario().ranks()) / files(site);
    const double nodes = static_cast<double>(site.plan().nodes()), of_node = static_cast<double>(site.scenario().ranks()) / nodes;
    if (kind_ == Kind::one_sided) return one_sided_offsets_seconds(site, in_file, nodes, of_node);
    if (site.machine().offset_bytes == 0) return in_file * site.machine().message_seconds;
    return plan::all_to_all_seconds(site.machine(), static_cast<double>(site.machine().offset_bytes) * in_file * of_node, nodes);
  }

  // Every rank tells the aggregators, and none of the other ranks.
  [[nodiscard]] double one_sided_offsets_seconds(const Site& site, double ranks, double nodes, double of_node) const {
    double aggregators = 0;
    for (const Crowd& crowd : site.crowds()) aggregators += crowd.count * static_cast<double>(aggregators_of(site, crowd));
    const double bytes = static_cast<double>(site.machine().offset_bytes);
    if (bytes == 0) return aggregators * site.machine().message_seconds;
    const double link = plan::node_bytes_per_second(site.machine(), 0);
    return std::max(plan::all_to_all_seconds(site.machine(), bytes * aggregators * of_node, nodes), link > 0 ? bytes * ranks / link : 0);
  }

  // Of all variables: what the aggregators take in, and what the network can carry. On Blue Gene/P it is the collective network, of
  // which each group has its tree, that the data pass to the aggregators (seed 000, 3).
  [[nodiscard]] double exchange_seconds(const Site& site) const {
    if (kind_ == Kind::planned && has_a_variable_at_a_time(site)) return site.plan().choice.best().cost.gather();
    const double bytes = static_cast<double>(site.scenario().step_bytes());
    const double nodes = static_cast<double>(site.plan().nodes());
    const double network = plan::all_to_all_seconds(site.machine(), bytes / nodes, nodes);
    double in = 0;
    for (const Crowd& crowd : site.crowds()) {
      const double of_one = bytes / site.groups() / static_cast<double>(aggregators_of(site, crowd));
      const double receive = kind_ == Kind::one_sided ? 0 : site.machine().node.receive_bytes_per_second;
      for (const double rate : {receive, plan::node_bytes_per_second(site.machine(), 0)}) {
        if (rate > 0) in = std::max(in, of_one / rate);
      }
    }
    const double tree = site.machine().way_out.tree_bytes_per_second;
    return std::max({network, in, tree > 0 ? bytes / site.groups() / tree : 0});
  }

  // A session writes variables together until each aggregator has a request of them: then each aggregator writes what all ranks have put.
  [[nodiscard]] static bool has_a_variable_at_a_time(const Site& site) {
    const double batch = static_cast<double>(site.plan().aggregators()) * static_cast<double>(site.scenario().limits.request_bytes);
    return static_cast<double>(site.scenario().step_bytes()) / site.scenario().request.variables >= batch;
  }

  std::string_view name_, summary_;
  Kind kind_;
};

}  // namespace

const Strategy& collective() {
  static const Collective strategy("collective", "all ranks write one file together, by MPI-IO in two phases", Kind::one_file);
  return strategy;
}

const Strategy& grouped_collective() {
  static const Collective strategy("coio", "the same with a file for so many ranks (nf of seed 001)",
                                   Kind::grouped_files);
  return strategy;
}

const Strategy& planned_collective() {
  static const Collective strategy("collective-planned", "the same, and aggregators are where the plan has them (mode collective)",
                                   Kind::planned);
  return strategy;
}

const Strategy& one_sided_collective() {
  static const Collective strategy("collective-one-sided", "the same, and ranks put what they have into aggregators' memory (seed 002)",
                                   Kind::one_sided);
  return strategy;
}

}  // namespace glean::simulate
