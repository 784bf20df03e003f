// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/site.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/traffic.hpp"

namespace glean::simulate {
namespace {

// The slower of two rates, of which 0 is none.
double slower_of(double a, double b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

bool has_own_ports(const topology::WayOut& out) { return out.gateways.empty() && out.tree_bytes_per_second == 0; }

}  // namespace

Site::Site(const Scenario& scenario, const plan::Plan& plan, Work& work) : scenario_(scenario), plan_(plan), work_(work) {
  for (const plan::Plan::Alike& alike : plan.alike) {
    Crowd crowd{.shape = &alike.shape, .group = alike.groups.front().first, .count = static_cast<double>(alike.count())};
    for (const auto& member : alike.shape.members) {
      crowd.bytes += static_cast<double>(member.bytes);
      crowd.ranks += static_cast<std::int64_t>(ranks_at(crowd, member.position));
    }
    crowds_.push_back(crowd);
  }
}

double Site::groups() const { return static_cast<double>(plan_.groups); }

std::int64_t Site::stagers() const {
  return scenario_.stagers > 0 ? scenario_.stagers : std::max<std::int64_t>(1, machine().staging.nodes);
}

double Site::clients() const {
  return has_own_ports(machine().way_out) ? static_cast<double>(plan_.nodes()) : groups();
}

double Site::ranks_at(const Crowd& crowd, NodeId position) const {
  return static_cast<double>(scenario_.placement.ranks_of(machine().node_in_group(crowd.group, position)).size());
}

void Site::send_groups_to_stagers() {
  const double stagers = static_cast<double>(this->stagers());
  const double less = std::max(1.0, std::floor(groups() / stagers));
  const double fuller = groups() > stagers ? std::fmod(groups(), stagers) : 0;   // stagers that have one more
  const double share = fuller * (less + 1) / groups();
  std::vector<Crowd> split;
  for (const Crowd& each : crowds_) {
    for (const auto& [part, of_stager] : {std::pair{share, less + 1}, std::pair{1 - share, less}}) {
      if (part <= 0) continue;
      split.push_back(each);
      split.back().count = each.count * part;
      split.back().groups_of_stager = of_stager;
    }
  }
  crowds_ = std::move(split);
}

NodeId Site::default_gateway(std::size_t crowd, NodeId position) const {
  const auto gateway = machine().default_gateway(machine().node_in_group(crowds_[crowd].group, position));
  return gateway ? machine().index_in_group(*gateway) : -1;
}

void Site::over_network(Path& path, std::size_t crowd, NodeId from, NodeId to) {
  const topology::GroupId group = crowds_[crowd].group;
  for (const topology::Link& link : machine().route(machine().node_in_group(group, from), machine().node_in_group(group, to))) {
    use(path, {Kind::link, static_cast<std::int64_t>(crowd), link.from, link.to}, "network links", machine().bytes_per_second(link),
        path.alike);
  }
}

void Site::into_aggregator(Path& path, std::size_t crowd, NodeId position) {
  const double rate = slower_of(machine().node.copy_bytes_per_second, machine().node.receive_bytes_per_second);
  use(path, {Kind::aggregator, static_cast<std::int64_t>(crowd), position, 0}, "what an aggregator takes in", rate, path.alike);
}

void Site::out_of_group(Path& path, std::size_t crowd, NodeId position, NodeId gateway) {
  const topology::WayOut& out = machine().way_out;
  const std::int64_t at = static_cast<std::int64_t>(crowd);
  const double control = out.message_seconds / path.message_bytes * path.alike;
  const double tree_only = out.tree_bytes_per_second > 0 ? out.tree_bytes_per_second : out.group_bytes_per_second;
  const double rate = scenario_.to_io_nodes ? tree_only : slower_of(out.tree_bytes_per_second, out.group_bytes_per_second);
  if (gateway >= 0) {
    over_network(path, crowd, position, gateway);
    use(path, {Kind::gateway, at, gateway, 0}, "gateways", out.gateway_bytes_per_second, path.alike);
  }
  if (has_own_ports(out)) {
    const double port = out.gateway_bytes_per_second > 0 ? out.gateway_bytes_per_second : plan::node_bytes_per_second(machine(), 0);
    use(path, {Kind::port, at, position, 0}, "ports of the nodes", port, path.alike);
  }
  if (rate > 0) {
    // The I/O node moves bytes and handles control, one after the other; a message has one of its threads.
    use(path, {Kind::io_node, at, 0, 0}, "I/O nodes", rate, path.alike + control * rate);
    if (out.concurrent_messages > 0) path.bytes_per_second_max = std::min(path.bytes_per_second_max, rate / out.concurrent_messages);
  } else if (control > 0) {
    use(path, {Kind::control, at, gateway >= 0 ? gateway : position, 0}, "control of messages", 1, control);
  }
}

void Site::into_stager_of_group(Path& path, std::size_t crowd) {
  const Crowd& its = crowds_[crowd];
  use(path, {Kind::stager, static_cast<std::int64_t>(crowd), 0, 0}, "stagers", machine().staging.bytes_per_second,
      path.alike * its.groups_of_stager);
  use(path, {Kind::network, 0, 0, 0}, "network to the stagers", machine().staging.network_bytes_per_second, path.alike * its.count);
}

void Site::into_all_stagers(Path& path, std::size_t crowd) {
  const double flows = path.alike * crowds_[crowd].count;
  use(path, {Kind::stager, -1, 0, 0}, "stagers", machine().staging.bytes_per_second * static_cast<double>(stagers()), flows);
  use(path, {Kind::network, 0, 0, 0}, "network to the stagers", machine().staging.network_bytes_per_second, flows);
}

double Site::stager_out_bytes_per_second() const {
  const topology::WayOut& out = machine().way_out;
  const bool is_lent = machine().staging.nodes == 0 && has_own_ports(out) && out.gateway_bytes_per_second > 0;
  return is_lent ? out.gateway_bytes_per_second : machine().staging.bytes_per_second;
}

double Site::targets_of(double files) const {
  const topology::FileSystem& system = machine().file_system;
  const double striped = system.stripe_count > 0 ? files * system.stripe_count : system.targets;
  return std::max(1.0, std::min<double>(system.targets, striped));
}

void Site::out_of_stagers(Path& path) {
  use(path, {Kind::network, 0, 0, 0}, "network to the stagers", machine().staging.network_bytes_per_second, path.alike);
}

void Site::into_files(Path& path, double flows, const Files& files) {
  const topology::FileSystem& system = machine().file_system;
  // As the planner counts: a file ends with a block that is not whole, and is on so many targets.
  const double block = static_cast<double>(plan::unit_bytes(system)), of_one = files.bytes / files.count;
  const double blocks = of_one > 0 ? std::ceil(of_one / block) * block / of_one : 1;
  const double targets = targets_of(files.count);
  const double request = flows / path.message_bytes;   // a second for each byte
  use(path, {Kind::rate, 0, 0, 0}, "file system", slower_of(system.bytes_per_second, system.sustained_bytes_per_second), flows * blocks);
  use(path, {Kind::targets, 0, 0, 0}, "storage targets", targets * system.target_bytes_per_second, flows * blocks);
  use(path, {Kind::servers, 0, 0, 0}, "requests at the servers", system.request_seconds > 0 ? targets : 0,
      request * system.request_seconds);
  if (files.clients_of_one > 1) {
    use(path, {Kind::locks, 0, 0, 0}, "locks of shared files", system.lock_seconds > 0 ? files.count : 0, request * system.lock_seconds);
  }
}

ActivityId Site::add(std::string name, const Path& path, double bytes, double seconds, std::vector<ActivityId> after) {
  return work_.add(Activity{.name = std::move(name),
                            .seconds = seconds,
                            .bytes = bytes,
                            .bytes_per_second_max = path.bytes_per_second_max,
                            .uses = path.uses,
                            .after = std::move(after)});
}

ActivityId Site::milestone(std::string name, std::vector<ActivityId> after) {
  return work_.add(Activity{.name = std::move(name), .after = std::move(after)});
}

ResourceId Site::resource(const Key& key, const char* name, double units_per_second) {
  const auto found = resources_.find(key);
  if (found != resources_.end()) return found->second;
  return resources_[key] = work_.add(Resource{name, units_per_second});
}

// A rate of 0 is one that the machine file does not say: nothing is held by it.
void Site::use(Path& path, const Key& key, const char* name, double units_per_second, double units_per_byte) {
  if (units_per_second > 0 && units_per_byte > 0) path.uses.push_back({resource(key, name, units_per_second), units_per_byte});
}

}  // namespace glean::simulate
