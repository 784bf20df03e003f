// SPDX-License-Identifier: BSD-3-Clause
//
// How much a file may hold, and storage for it before it is written.
#pragma once

#include <limits>
#include <string>

#include "base/bytes.hpp"

namespace glean::store {

// What an offset can say, and what every file system takes.
inline constexpr base::Bytes longest_offset = std::numeric_limits<std::int64_t>::max(), always_possible = (base::Bytes{1} << 32) - 1;

// How long this process may make a file. Local, one system call.
[[nodiscard]] base::Bytes longest_of_process();
// How long its file system lets this file become; longest_offset where that cannot be found out. Local, opens the file.
[[nodiscard]] base::Bytes longest_of_file_system(const std::string& path);

// Allocates storage for the first `size` bytes. Returns what failed, or 0. The file stays as long as it is. More than there is would first
// fill the storage that others need: that is ENOSPC at once. Local, blocks.
[[nodiscard]] int allocate_storage(int file, base::Bytes size);

}  // namespace glean::store
