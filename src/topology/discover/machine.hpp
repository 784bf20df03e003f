// SPDX-License-Identifier: BSD-3-Clause
//
// The machine that this process runs on, as far as it can be seen from here.
#pragma once

#include <string>
#include <vector>

#include "topology/discover/discover.hpp"
#include "topology/discover/launcher.hpp"
#include "topology/machine.hpp"

namespace glean::topology {

struct RunningMachine {
  Machine machine;
  Placement placement;
  Job job;
  std::vector<NodeId> nodes{};        // of each host of the job
  NodeId here = 0;                    // the node of this process
  Node node;
  Storage storage;
  std::vector<std::string> notes{};   // what was not understood or not found, a line each
};

// The nodes of the job as its launcher tells them, linked by Slurm's tree of switches where there is one and otherwise by one
// switch, with the file system of `directory`. Every node is its own I/O group and all nodes are taken to be like this one; what
// cannot be seen, such as rates of the file system, is 0. Local, blocks; reads files of the kernel and of Slurm. Throws not_found
// when there is no such directory; what a launcher or a file says wrongly is a note.
[[nodiscard]] RunningMachine discover_machine(const std::string& directory,
                                              const base::Environment& environment = launcher_environment(),
                                              const Places& places = {});

}  // namespace glean::topology
