// SPDX-License-Identifier: BSD-3-Clause
//
// How much memory there is for this process.
#pragma once

#include "topology/discover/discover.hpp"

namespace glean::topology {

struct Memory {
  Bytes total_bytes = 0;
  Bytes available_bytes = 0;
  friend bool operator==(const Memory&, const Memory&) = default;
};

// /proc/meminfo, and less where a control group of this process (v1 or v2) or one above it allows less. What the
// group's page cache holds counts as available. Throws io when /proc/meminfo cannot be read. Local.
[[nodiscard]] Memory discover_memory(const Places& places);

}  // namespace glean::topology
