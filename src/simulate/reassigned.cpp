// SPDX-License-Identifier: BSD-3-Clause
//
// Independent writing through gateways that are assigned anew, by their routes and by what they have already (seed 003). A node that has a
// new gateway does not write: it sends to the gateway, which writes on its behalf when it has received ("modified write"). All others
// write as they would.
#include <algorithm>

#include "base/error.hpp"
#include "plan/gateways.hpp"
#include "simulate/strategy_kinds.hpp"

namespace glean::simulate {
namespace {

class Reassigned : public Strategy {
 public:
  Reassigned(std::string_view name, std::string_view summary, bool coalesces) : name_(name), summary_(summary), coalesces_(coalesces) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view summary() const override { return summary_; }
  [[nodiscard]] double files(const Site& site) const override {
    return static_cast<double>(std::max<std::int64_t>(1, site.scenario().files));
  }

  [[nodiscard]] plan::Plan plan(const Scenario& scenario) const override {
    if (!scenario.machine.way_out.gateways.empty()) return Strategy::plan(scenario);
    throw base::Error(base::Errc::invalid_argument,
                      "cannot be simulated: " + std::string(name_) + " assigns gateways, and " + scenario.machine.name + " has none",
                      "way_out.gateways of a machine file says where they are");
  }

  [[nodiscard]] StepEnds add_step(Site& site, const std::vector<ActivityId>& ready, const StepEnds* /*last*/) const override {
    const Files shared{.count = files(site), .clients_of_one = site.clients() / files(site),
                       .bytes = static_cast<double>(site.scenario().step_bytes())};
    std::vector<ActivityId> begin = ready;
    if (coalesces_) begin = {site.add("combine", {}, 0, combine_seconds(site), begin)};
    if (!site.scenario().to_io_nodes) {
      begin = {site.add("create", {}, 0, shared.count * site.machine().file_system.create_seconds, begin)};
    }
    std::vector<ActivityId> written = begin;
    for (std::size_t crowd = 0; crowd < site.crowds().size(); ++crowd) {
      const plan::GatewayAssignment assignment = plan::assign_gateways(site.machine(), site.crowds()[crowd].group);
      for (const auto& member : site.crowds()[crowd].shape->members) {
        if (member.bytes > 0) written.push_back(add_node(site, crowd, member, assignment, shared, begin));
      }
    }
    const ActivityId end = site.milestone("written", std::move(written));
    return {end, end, end};
  }

 private:
  ActivityId add_node(Site& site, std::size_t crowd, const plan::GroupShape::Member& member, const plan::GatewayAssignment& assignment,
                      const Files& shared, std::vector<ActivityId> before) const {
    const Scenario& scenario = site.scenario();
    const double ranks = site.ranks_at(site.crowds()[crowd], member.position), writes = coalesces_ ? 1 : ranks;
    const double of_write = static_cast<double>(member.bytes) / writes;
    const auto& its = assignment.nodes[static_cast<std::size_t>(member.position)];
    const NodeId gateway = site.machine().index_in_group(assignment.gateways[static_cast<std::size_t>(its.gateway)]);
    NodeId writer = member.position;
    if (its.reassigned && gateway != member.position) {
      Path path{.alike = writes};
      site.over_network(path, crowd, member.position, gateway);
      before = {site.add("send", path, of_write, writes * site.machine().message_seconds, std::move(before))};
      writer = gateway;
    }
    Path path{.alike = writes};
    const double of_variable = of_write / (coalesces_ ? 1 : scenario.request.variables);
    path.message_bytes = std::min(of_variable, static_cast<double>(scenario.limits.request_bytes));
    site.out_of_group(path, crowd, writer, gateway);
    if (!scenario.to_io_nodes) site.into_files(path, writes * site.crowds()[crowd].count, shared);
    return site.add("write", path, of_write, 0, std::move(before));
  }

  // Ranks of a node copy into one buffer, one after the other or together, as fast as its memory takes it.
  [[nodiscard]] static double combine_seconds(const Site& site) {
    const topology::NodeKind& node = site.machine().node;
    const double rate = node.memory_bytes_per_second > 0 ? node.memory_bytes_per_second : node.copy_bytes_per_second * node.cores;
    double most = 0;
    for (const Crowd& crowd : site.crowds()) {
      for (const auto& member : crowd.shape->members) most = std::max(most, static_cast<double>(member.bytes));
    }
    return rate > 0 ? most / rate : 0;
  }

  std::string_view name_, summary_;
  bool coalesces_;
};

}  // namespace

const Strategy& reassigned() {
  static const Reassigned strategy("reassigned", "as posix, through gateways that are assigned by routes and load (seed 003)", false);
  return strategy;
}

const Strategy& reassigned_and_coalesced() {
  static const Reassigned strategy("reassigned-coalesced", "the same, and the ranks of a node write together", true);
  return strategy;
}

}  // namespace glean::simulate
