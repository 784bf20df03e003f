// SPDX-License-Identifier: BSD-3-Clause
#include "plan/collective.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace glean::plan {
namespace {

bool is_of_one_node(std::string_view file_system) {
  constexpr std::array local = {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs", "overlay"};
  return std::find(local.begin(), local.end(), file_system) != local.end();
}

}  // namespace

CollectivePlan plan_collective(const topology::Storage& storage, int ranks, int nodes, Bytes request_bytes) {
  const int targets = storage.stripe_count < 0 ? storage.targets : storage.stripe_count;
  CollectivePlan plan;
  if (targets <= 0) plan.aggregators = nodes;
  else plan.aggregators = nodes >= targets ? nodes / targets * targets : std::min(targets, ranks);
  plan.aggregators_per_node = (plan.aggregators + nodes - 1) / nodes;
  const Bytes unit = std::max<Bytes>(storage.stripe_bytes, 1);
  plan.buffer_bytes = (request_bytes + unit - 1) / unit * unit;
  plan.gather = is_of_one_node(storage.file_system) ? Gather::interleaved : Gather::always;
  return plan;
}

std::vector<std::pair<std::string, std::string>> hints_of(const CollectivePlan& plan) {
  return {{"cb_nodes", std::to_string(plan.aggregators)},
          {"cb_buffer_size", std::to_string(plan.buffer_bytes)},
          {"cb_config_list", "*:" + std::to_string(plan.aggregators_per_node)},
          {"romio_cb_write", plan.gather == Gather::always ? "enable" : "automatic"},
          {"romio_ds_write", "disable"}};   // no reading of what lies between the parts of a rank
}

}  // namespace glean::plan
