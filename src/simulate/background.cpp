// SPDX-License-Identifier: BSD-3-Clause
//
// GLEAN: ranks copy what they put into the pool, aggregators gather inside the I/O group as the plan says, and the rest is in the
// background. With stagers, aggregators forward what they have, and the stagers write. A session writes of a step when it has all of it
// (src/drain).
#include <algorithm>
#include <cmath>

#include "simulate/strategy_kinds.hpp"

namespace glean::simulate {
namespace {

enum class Stagers { none, all_alike, one_for_group };
enum class Release { captured, durable };

class Background : public Strategy {
 public:
  Background(std::string_view name, std::string_view summary, Stagers stagers, Release release)
      : name_(name), summary_(summary), stagers_(stagers), release_(release) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view summary() const override { return summary_; }
  [[nodiscard]] bool needs_stagers() const override { return stagers_ != Stagers::none; }
  [[nodiscard]] bool executes_the_plan() const override { return true; }

  [[nodiscard]] plan::Plan plan(const Scenario& scenario) const override {
    if (needs_stagers() || scenario.to_io_nodes) return Strategy::plan(scenario);
    plan::Request request = scenario.request;
    request.sink = plan::Sink::storage;
    request.files = scenario.files;
    return plan::plan(scenario.machine, scenario.placement, request, scenario.limits);
  }

  [[nodiscard]] double files(const Site& site) const override {
    if (needs_stagers()) return static_cast<double>(std::max<std::int64_t>(1, site.scenario().files));
    return static_cast<double>(std::max<std::int64_t>(1, site.plan().files));
  }

  // What fits in the pools of a group; data that are gathered are in the pool of the aggregator.
  [[nodiscard]] std::int64_t steps_on_the_way(const Site& site) const override {
    if (release_ == Release::durable) return 0;
    const Bytes memory = site.machine().node.memory_bytes;
    const Bytes pool = site.scenario().pool_bytes > 0 ? site.scenario().pool_bytes : memory / 4;
    Bytes most = 0;
    for (const Crowd& crowd : site.crowds()) {
      for (const auto& member : crowd.shape->members) most = std::max(most, member.bytes);
    }
    if (most == 0 || pool == 0) return site.scenario().steps;   // the machine file says no memory: nothing is held up by it
    return static_cast<std::int64_t>(pool / most);
  }

  [[nodiscard]] StepEnds add_step(Site& site, const std::vector<ActivityId>& ready, const StepEnds* last) const override {
    const ActivityId captured = site.add("capture", {}, 0, copy_seconds(site), ready);
    if (stagers_ == Stagers::one_for_group && site.crowds().front().groups_of_stager == 0) site.send_groups_to_stagers();
    const ActivityId gathered = gather(site, captured);
    if (needs_stagers()) return stage(site, captured, gathered, last);
    std::vector<ActivityId> before = {captured};
    if (last != nullptr) before.push_back(last->durable);
    if (!site.scenario().to_io_nodes) {
      before.push_back(gathered);
      before = {site.add("create", {}, 0, files(site) * create_seconds(site), before)};
    }
    std::vector<ActivityId> ends = forward(site, before);
    ends.push_back(gathered);
    const ActivityId durable = site.milestone("durable", std::move(ends));
    return {released(site, captured, durable), durable, durable};
  }

 private:
  [[nodiscard]] ActivityId released(const Site& site, ActivityId captured, ActivityId durable) const {
    return release_ == Release::durable || steps_on_the_way(site) == 0 ? durable : captured;
  }

  [[nodiscard]] static double create_seconds(const Site& site) { return site.machine().file_system.create_seconds; }

  // Of the node, and of the rank, that has most: each rank copies with its own core, and all of a node share its memory.
  [[nodiscard]] static double copy_seconds(const Site& site) {
    const topology::NodeKind& node = site.machine().node;
    double of_rank = 0, of_node = 0;
    for (const Crowd& crowd : site.crowds()) {
      for (const auto& member : crowd.shape->members) {
        if (member.bytes == 0) continue;
        of_rank = std::max(of_rank, static_cast<double>(member.bytes) / site.ranks_at(crowd, member.position));
        of_node = std::max(of_node, static_cast<double>(member.bytes));
      }
    }
    return std::max(node.copy_bytes_per_second > 0 ? of_rank / node.copy_bytes_per_second : 0,
                    node.memory_bytes_per_second > 0 ? of_node / node.memory_bytes_per_second : 0);
  }

  // Inside the groups; then what belongs to aggregators of others, in the planner's closed form.
  [[nodiscard]] ActivityId gather(Site& site, ActivityId captured) const {
    const double message = site.machine().message_seconds;
    std::vector<ActivityId> ends = {captured};
    for (std::size_t crowd = 0; crowd < site.crowds().size(); ++crowd) {
      const plan::GroupShape& shape = *site.crowds()[crowd].shape;
      std::vector<double> messages(shape.aggregators.size());
      for (const auto& member : shape.members) {
        if (member.aggregator < 0) continue;
        const auto to = static_cast<std::size_t>(member.aggregator);
        if (shape.aggregators[to].position != member.position) messages[to] += pieces(site, static_cast<double>(member.bytes));
      }
      for (const auto& member : shape.members) {
        if (member.aggregator < 0 || member.bytes == 0) continue;
        const NodeId to = shape.aggregators[static_cast<std::size_t>(member.aggregator)].position;
        if (to == member.position) continue;
        Path path;
        site.over_network(path, crowd, member.position, to);
        site.into_aggregator(path, crowd, to);
        ends.push_back(site.add("gather", path, static_cast<double>(member.bytes),
                                messages[static_cast<std::size_t>(member.aggregator)] * message, {captured}));
      }
    }
    const ActivityId gathered = site.milestone("gathered", std::move(ends));
    const double exchange = site.plan().choice.best().cost.exchange;
    return exchange > 0 ? site.add("exchange", {}, 0, exchange, {gathered}) : gathered;
  }

  // To stagers and I/O nodes piece by piece, while the next ones are gathered: only the first piece has to be there.
  [[nodiscard]] std::vector<ActivityId> forward(Site& site, const std::vector<ActivityId>& before) const {
    const plan::Alternative& chosen = site.plan().choice.best();
    const bool to_storage = site.plan().files > 0;
    const double bytes = static_cast<double>(site.plan().bytes);
    const double clients = std::min(site.clients(), site.groups() * chosen.aggregators);
    const Files shared{.count = files(site), .clients_of_one = clients / files(site), .bytes = bytes};
    const double gathered_in = std::max(1.0, pieces(site, static_cast<double>(chosen.bytes_per_aggregator)));
    const double first_piece = to_storage ? 0 : chosen.cost.gather() / gathered_in;
    std::vector<ActivityId> ends;
    for (std::size_t crowd = 0; crowd < site.crowds().size(); ++crowd) {
      const Crowd& its = site.crowds()[crowd];
      for (const auto& each : its.shape->aggregators) {
        // To storage all aggregators have the same share of the file, whichever rank puts it.
        const double of_one = to_storage ? bytes / static_cast<double>(site.plan().aggregators()) : static_cast<double>(each.bytes);
        if (of_one == 0) continue;
        const Bytes unit = to_storage ? chosen.window_bytes : site.scenario().limits.piece_bytes;
        Path path{.message_bytes = std::min(of_one, static_cast<double>(unit))};
        site.out_of_group(path, crowd, each.position, each.gateway);
        if (stagers_ == Stagers::one_for_group) site.into_stager_of_group(path, crowd);
        if (stagers_ == Stagers::all_alike) site.into_all_stagers(path, crowd);
        if (to_storage) site.into_files(path, its.count, shared);
        ends.push_back(site.add("forward", path, of_one, first_piece, before));
      }
    }
    return ends;
  }

  // With those of seed 000 ranks have no pool: they wait until the stagers have all. These write what has come while more comes.
  [[nodiscard]] StepEnds stage(Site& site, ActivityId captured, ActivityId gathered, const StepEnds* last) const {
    std::vector<ActivityId> before = {captured};
    if (last != nullptr) before.push_back(last->staged);
    std::vector<ActivityId> ends = forward(site, before);
    ends.push_back(gathered);
    const ActivityId staged = site.milestone("staged", std::move(ends));
    const ActivityId durable = site.scenario().to_stagers ? staged : write_staged(site, staged, std::move(before), last);
    if (release_ == Release::captured && stagers_ == Stagers::one_for_group) return {staged, staged, durable};
    return {released(site, captured, durable), staged, durable};
  }

  // What stagers write goes over the network that brings it to them (seed 000, figure 1: one switch complex).
  [[nodiscard]] ActivityId write_staged(Site& site, ActivityId staged, std::vector<ActivityId> before, const StepEnds* last) const {
    const double stagers = static_cast<double>(site.stagers()), bytes = static_cast<double>(site.plan().bytes);
    if (last != nullptr) before.push_back(last->durable);
    const ActivityId created = site.add("create", {}, 0, files(site) * create_seconds(site), std::move(before));
    std::vector<ActivityId> written = {staged, created};
    if (bytes > 0) {
      // To all servers at once, a connection each: so many flows share a network with those that come in.
      const double flows = stagers * site.targets_of(files(site));
      Path path{.alike = flows, .message_bytes = std::min(bytes / stagers, static_cast<double>(site.scenario().limits.request_bytes))};
      if (const double port = site.stager_out_bytes_per_second(); port > 0) path.bytes_per_second_max = port * stagers / flows;
      site.out_of_stagers(path);
      site.into_files(path, flows, {.count = files(site), .clients_of_one = stagers / files(site), .bytes = bytes});
      std::vector<ActivityId> begin = {created};
      if (stagers_ == Stagers::all_alike) begin.push_back(staged);
      written.push_back(site.add("write", path, bytes / flows, 0, std::move(begin)));
    }
    return site.milestone("durable", std::move(written));
  }

  [[nodiscard]] static double pieces(const Site& site, double bytes) {
    const double piece = static_cast<double>(site.scenario().limits.piece_bytes);
    return std::ceil(bytes / piece);
  }

  std::string_view name_, summary_;
  Stagers stagers_;
  Release release_;
};

}  // namespace

const Strategy& background() {
  static const Background strategy("glean", "captured into memory; gathered in the I/O groups and written in the background", Stagers::none,
                                   Release::captured);
  return strategy;
}

const Strategy& staged() {
  static const Background strategy("glean-staged", "the same with stagers: each writes its part of the file, whichever rank has put it",
                                   Stagers::all_alike, Release::captured);
  return strategy;
}

const Strategy& staged_by_group() {
  static const Background strategy("glean-staged-by-group",
                                   "without a pool: the program waits until stagers have it, one for an I/O group (seed 000)",
                                   Stagers::one_for_group, Release::captured);
  return strategy;
}

const Strategy& staged_synchronously() {
  static const Background strategy("glean-staged-sync", "the same by group, and the program waits until the stagers have written",
                                   Stagers::one_for_group, Release::durable);
  return strategy;
}

}  // namespace glean::simulate
