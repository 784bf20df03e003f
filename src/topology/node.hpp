// SPDX-License-Identifier: BSD-3-Clause
//
// One node of the machine, as a value. Filled in by topology/discover/.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace glean::topology {

using base::Bytes;

struct Node {
  std::string host_name;
  std::vector<int> cores;              // logical processors that this process may use
  int numa_nodes = 1;
  Bytes memory_bytes = 0;              // of the node, or of the container if that is less
  Bytes memory_available_bytes = 0;
  Bytes shared_memory_available_bytes = 0;   // what POSIX shared memory can still take
  Bytes page_bytes = 4096;
};

// The file system that holds a directory.
struct Storage {
  std::string directory;
  std::string file_system;             // "ext4", "tmpfs", "lustre", …
  Bytes block_bytes = 4096;
  Bytes available_bytes = 0;
  // Lustre: how files in it are striped, -1: over all targets, 0: as the file system does; and how many targets there are.
  int stripe_count = 0;
  Bytes stripe_bytes = 0;
  int targets = 1;
  bool direct_io = false;
  bool writable = false;
};

}  // namespace glean::topology
