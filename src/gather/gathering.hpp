// SPDX-License-Identifier: BSD-3-Clause
//
// Files of ranks become a container, or a newer one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gather/node_files.hpp"

namespace glean::gather {

struct Gathered {
  std::uint64_t files = 0;        // that were on the node
  std::uint64_t in_container = 0; // that it has now; 0: it is removed, or there is none, or nothing was to be done
  Bytes bytes = 0;                // of those on the node
};

// Brings what is closed into the container of the family, with what that has already: the new one takes its place when it is complete and
// durable, and then the files on the node go. A program may write, remove and rename files of the family meanwhile. Takes the lock by
// itself. Waits while another job of this user on this host brings its files into the same container. Throws what the system says, and io
// where something else has the name of the container: nothing is lost then. Blocks.
Gathered gather(const NodeFiles& files, const Family& family);

}  // namespace glean::gather
