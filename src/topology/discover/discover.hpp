// SPDX-License-Identifier: BSD-3-Clause
//
// Looks at the machine and tells what it found as values.
#pragma once

#include <optional>
#include <string>

#include "topology/node.hpp"

namespace glean::topology {

// Where the files of the kernel and of Slurm are. Tests put recorded machines there.
struct Places {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string shared_memory = "/dev/shm";
  std::string slurm = "/etc/slurm";
};

// The node that this process runs on, as this process may use it: its processors, and the memory that the smallest
// of its control groups leaves. Local; reads a few files of the kernel, with hwloc about ten milliseconds.
[[nodiscard]] Node discover_node(const Places& places = {});

// The file system that holds `directory`. Writes one block to a file without a name to see whether direct I/O works.
// Local, blocks. Throws not_found when there is no such directory.
[[nodiscard]] Storage discover_storage(const std::string& directory, const Places& places = {});

struct Availability {
  bool available = false;
  std::string reason;   // why not
};

// Asks the kernel for an io_uring, and gives it back. Local.
[[nodiscard]] Availability discover_io_uring();

}  // namespace glean::topology
