// SPDX-License-Identifier: BSD-3-Clause
//
// The fastest port that this node has into a network.
#pragma once

#include <string>

#include "topology/discover/discover.hpp"

namespace glean::topology {

struct Port {
  std::string name{};             // "mlx5_0", "eth0"; empty: none is up, or none says how fast it is
  double bytes_per_second = 0;
  bool is_fabric = false;         // of those that /sys/class/infiniband lists: InfiniBand, Omni-Path, RoCE, EFA
  friend bool operator==(const Port&, const Port&) = default;
};

// An InfiniBand port that is active, or else a network interface that is up; of several the fastest. Local.
[[nodiscard]] Port discover_port(const Places& places);

}  // namespace glean::topology
