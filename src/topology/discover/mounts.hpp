// SPDX-License-Identifier: BSD-3-Clause
//
// The mount table of the kernel.
#pragma once

#include <istream>
#include <string>

namespace glean::topology {

// The type of the file system that holds `path`, absolute and without symbolic links, by the lines of
// /proc/self/mountinfo: that of the longest mount point above it, the last one of several on top of each other.
// "unknown" where none is. Local.
[[nodiscard]] std::string file_system_of(std::istream& mountinfo, const std::string& path);

}  // namespace glean::topology
