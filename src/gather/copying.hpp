// SPDX-License-Identifier: BSD-3-Clause
//
// Files out of a container, and to other file systems. Blocks.
#pragma once

#include <ctime>
#include <string>

#include "store/container/container.hpp"

namespace glean::gather {

// A new file `path`, as old as `time`. False, with errno: it could not be written, or read, and is not there.
[[nodiscard]] bool copy_out(const store::Container& container, const store::LogicalFile& file, const std::string& path, timespec time);
// The file appears as `to`, with its permission bits and its time, when it is whole and durable. Returns an error number, or 0.
[[nodiscard]] int copy_to(const std::string& from, const std::string& to);

}  // namespace glean::gather
