// SPDX-License-Identifier: BSD-3-Clause
//
// The tree of switches that Slurm's topology.conf describes (its plugin topology/tree).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.hpp"

namespace glean::topology {

struct SwitchTree {
  FatTree network;               // without rates
  std::vector<NodeId> nodes{};   // of each host
};

// The part of the tree that links the given hosts, at least one. It is made regular: a switch has as many places as the fullest one of its
// level, so that some nodes of the network may be none of the hosts. How many links go up is not in the file; it is 1.
// Throws invalid_config, naming the line or the host, when the text is no such tree or lacks one of the hosts. Local.
[[nodiscard]] SwitchTree tree_of_switches(std::string_view topology_conf, const std::vector<std::string>& hosts);

}  // namespace glean::topology
