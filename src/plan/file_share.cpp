// SPDX-License-Identifier: BSD-3-Clause
#include "plan/file_share.hpp"

#include <algorithm>
#include <utility>

#include "plan/group_load.hpp"

namespace glean::plan {
namespace {

constexpr Bytes page_bytes = 4 * base::KiB;

// One rank stands for each node: the one that drains it.
topology::Placement one_rank_of_each_node(const FileShare& share) {
  return {.ranks = share.nodes, .ranks_per_node = 1, .listed = share.machine_nodes};
}

}  // namespace

topology::Machine plain_machine(std::int64_t nodes, std::int64_t nodes_per_group) {
  return {.name = "plain",
          .network = topology::FatTree{.nodes = nodes, .levels = {{.down = static_cast<int>(nodes)}}},
          .way_out = {.nodes_per_group = nodes_per_group}};
}

FileShare share_in_turn(std::int64_t stagers, std::int64_t clients, Bytes request_bytes, std::int64_t writers) {
  return {.machine = plain_machine(stagers, stagers), .nodes = stagers, .first = clients,
          .aggregators = static_cast<int>(std::min(stagers, writers)), .window_bytes = request_bytes, .request_bytes = request_bytes};
}

Bytes request_of_window(Bytes window_bytes, Bytes request_bytes) {
  for (Bytes parts = std::max<Bytes>(1, (window_bytes + request_bytes - 1) / request_bytes);; ++parts) {
    const Bytes part = window_bytes / parts;
    if (part <= page_bytes) return page_bytes;
    if (part * parts == window_bytes && part % page_bytes == 0) return part;
  }
}

Choice choose_share(const FileShare& share, Bytes file_bytes, int variables, const Limits& limits) {
  const Request request{.bytes_per_rank = file_bytes / static_cast<Bytes>(share.nodes),
                        .pattern = Pattern::flash,
                        .variables = std::max(1, variables),
                        .files = 1};
  return choose_for_all(share.machine, one_rank_of_each_node(share), request, limits);
}

FileWriters::FileWriters(FileShare share, FileDomains extents) : share_(std::move(share)), domains_(extents) {
  choice_.alternatives = {{.aggregators = share_.aggregators, .files = 1, .window_bytes = share_.window_bytes, .cost = {}}};
  first_ = plan_of(GroupsInUse(share_.machine, one_rank_of_each_node(share_)).at(0));
  domains_.window_bytes = share_.window_bytes;
  domains_.aggregators = first_.domains.aggregators;
}

GroupPlan FileWriters::plan_of(GroupId group) const {
  return plan_group_with(choice_, share_.machine, one_rank_of_each_node(share_), {.files = 1}, group);
}

std::int64_t FileWriters::node_of(std::uint64_t request) {
  const std::int64_t domain = domains_.owner(request * share_.request_bytes / share_.window_bytes);
  if (const auto known = node_of_domain_.find(domain); known != node_of_domain_.end()) return known->second;
  const topology::Placement placement = one_rank_of_each_node(share_);
  const GroupPlan its = plan_of(group_of_domain(share_.machine, placement, first_, domain));
  const std::vector<Writer> writing = writers(share_.machine, placement, its);
  for (std::int64_t i = 0; i < its.domain_count; ++i) {
    node_of_domain_[its.first_domain + i] = share_.first + writing[static_cast<std::size_t>(i) % writing.size()].rank;
  }
  return node_of_domain_.at(domain);
}

}  // namespace glean::plan
