// SPDX-License-Identifier: BSD-3-Clause
//
// rbIO (seed 001, 3): of so many ranks one does nothing but write. The others send to it and go on; it writes a file of its own. With an
// I/O thread it takes in the next step while the one before is being written.
#include <algorithm>
#include <cmath>

#include "plan/traffic.hpp"
#include "simulate/strategy_kinds.hpp"

namespace glean::simulate {
namespace {

class DedicatedWriters : public Strategy {
 public:
  DedicatedWriters(std::string_view name, std::string_view summary, std::int64_t buffers)
      : name_(name), summary_(summary), buffers_(buffers) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view summary() const override { return summary_; }
  [[nodiscard]] std::int64_t steps_on_the_way(const Site& /*site*/) const override { return buffers_; }

  [[nodiscard]] double files(const Site& site) const override {
    const Scenario& scenario = site.scenario();
    if (scenario.files > 0) return static_cast<double>(scenario.files);
    return std::max(1.0, std::floor(static_cast<double>(scenario.ranks()) / static_cast<double>(scenario.ranks_per_file)));
  }

  [[nodiscard]] StepEnds add_step(Site& site, const std::vector<ActivityId>& ready, const StepEnds* last) const override {
    const Scenario& scenario = site.scenario();
    const double writers = files(site), ranks = static_cast<double>(scenario.ranks());
    const double of_writer = static_cast<double>(scenario.step_bytes()) / writers;
    const double sent = of_writer * (1 - writers / ranks);   // its own is there
    const ActivityId gather = site.add("gather", into_writer(site), sent, messages_seconds(site, ranks / writers), ready);
    // To create is the writers' business, and so in the background.
    std::vector<ActivityId> before = {gather};
    if (last != nullptr) before.push_back(last->durable);
    if (!scenario.to_io_nodes) before = {site.add("create", {}, 0, writers * site.machine().file_system.create_seconds, before)};
    const Files own{.count = writers, .clients_of_one = 1, .bytes = static_cast<double>(scenario.step_bytes())};
    std::vector<ActivityId> written = before;
    for (std::size_t crowd = 0; crowd < site.crowds().size(); ++crowd) {
      const Crowd& its = site.crowds()[crowd];
      const double in_group = writers * static_cast<double>(its.ranks) / ranks;
      // Fewer writers than groups: those groups that have one are all the same.
      const double nodes = static_cast<double>(its.shape->members.size());
      const auto positions = static_cast<std::size_t>(std::clamp(std::round(in_group), 1.0, nodes));
      const double at_one = in_group / static_cast<double>(positions);
      for (std::size_t each = 0; each < positions && of_writer > 0; ++each) {
        Path path{.alike = std::max(1.0, at_one), .message_bytes = std::min(of_writer, static_cast<double>(scenario.limits.request_bytes))};
        const NodeId position = its.shape->members[each * its.shape->members.size() / positions].position;
        site.out_of_group(path, crowd, position, site.default_gateway(crowd, position));
        if (!scenario.to_io_nodes) site.into_files(path, at_one * its.count, own);
        written.push_back(site.add("write", path, of_writer, 0, before));
      }
    }
    const ActivityId end = site.milestone("written", std::move(written));
    return {gather, end, end};
  }

 private:
  // All writers are alike: the node's links, and what its rank takes in.
  [[nodiscard]] static Path into_writer(Site& site) {
    Path path;
    site.into_aggregator(path, 0, 0);
    if (const double links = plan::node_bytes_per_second(site.machine(), 0); links > 0) path.bytes_per_second_max = links;
    return path;
  }

  [[nodiscard]] static double messages_seconds(const Site& site, double ranks_of_writer) {
    return (ranks_of_writer - 1) * site.scenario().request.variables * site.machine().message_seconds;
  }

  std::string_view name_, summary_;
  std::int64_t buffers_;
};

}  // namespace

const Strategy& dedicated_writers() {
  static const DedicatedWriters strategy("rbio", "one rank of so many only writes; it takes the next step when it has written", 1);
  return strategy;
}

const Strategy& threaded_writers() {
  static const DedicatedWriters strategy("threaded-rbio", "the same with an I/O thread: it takes the next step while it writes", 2);
  return strategy;
}

}  // namespace glean::simulate
