// SPDX-License-Identifier: BSD-3-Clause
//
// MPI-IO in two phases, for each variable: all ranks of a file exchange offsets and sizes, then the data with aggregators, which are the
// first nodes of each I/O group whatever rank has the data (seed 000, 3); then these write. Nothing overlaps.
#include <algorithm>
#include <cmath>

#include "plan/traffic.hpp"
#include "simulate/strategy_kinds.hpp"

namespace glean::simulate {
namespace {

class Collective : public Strategy {
 public:
  Collective(std::string_view name, std::string_view summary, bool grouped) : name_(name), summary_(summary), grouped_(grouped) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view summary() const override { return summary_; }

  [[nodiscard]] double files(const Site& site) const override {
    const Scenario& scenario = site.scenario();
    if (!grouped_) return 1;
    if (scenario.files > 0) return static_cast<double>(scenario.files);
    return std::max(1.0, std::floor(static_cast<double>(scenario.ranks()) / static_cast<double>(scenario.ranks_per_file)));
  }

  [[nodiscard]] StepEnds add_step(Site& site, const std::vector<ActivityId>& ready,
                                  const std::vector<ActivityId>& /*drained*/) const override {
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
        const NodeId position = its.shape->members[each].position;
        site.out_of_group(path, crowd, position, site.default_gateway(crowd, position));
        if (!scenario.to_io_nodes) site.into_files(path, its.count, shared);
        written.push_back(site.add("write", path, of_one, 0, before));
      }
    }
    const ActivityId end = site.milestone("written", std::move(written));
    return {end, end, end};
  }

 private:
  [[nodiscard]] static std::size_t aggregators_of(const Site& site, const Crowd& crowd) {
    const std::size_t nodes = crowd.shape->members.size();
    const auto said = static_cast<std::size_t>(site.machine().collective_aggregators);
    return said > 0 ? std::min(said, nodes) : nodes;
  }

  // Of one variable: every rank of a file tells every other. In closed form, since there are ranks² of them.
  [[nodiscard]] double offsets_seconds(const Site& site) const {
    const double in_file = static_cast<double>(site.scenario().ranks()) / files(site);
    const double nodes = static_cast<double>(site.plan().nodes()), of_node = static_cast<double>(site.scenario().ranks()) / nodes;
    if (site.machine().offset_bytes == 0) return in_file * site.machine().message_seconds;
    return plan::all_to_all_seconds(site.machine(), static_cast<double>(site.machine().offset_bytes) * in_file * of_node, nodes);
  }

  // Of all variables: what the aggregators take in, and what the network can carry.
  [[nodiscard]] double exchange_seconds(const Site& site) const {
    const double bytes = static_cast<double>(site.scenario().step_bytes());
    const double nodes = static_cast<double>(site.plan().nodes());
    const double network = plan::all_to_all_seconds(site.machine(), bytes / nodes, nodes);
    double in = 0;
    for (const Crowd& crowd : site.crowds()) {
      const double of_one = bytes / site.groups() / static_cast<double>(aggregators_of(site, crowd));
      for (const double rate : {site.machine().node.receive_bytes_per_second, plan::node_bytes_per_second(site.machine(), 0)}) {
        if (rate > 0) in = std::max(in, of_one / rate);
      }
    }
    return std::max(network, in);
  }

  std::string_view name_, summary_;
  bool grouped_;
};

}  // namespace

const Strategy& collective() {
  static const Collective strategy("collective", "all ranks write one file together, by MPI-IO in two phases", false);
  return strategy;
}

const Strategy& grouped_collective() {
  static const Collective strategy("coio", "the same with a file for so many ranks (nf of seed 001)", true);
  return strategy;
}

}  // namespace glean::simulate
