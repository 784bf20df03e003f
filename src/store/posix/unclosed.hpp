// SPDX-License-Identifier: BSD-3-Clause
//
// Where a file goes that not all ranks have closed, but of which the program was promised something (MPI_File_sync, wait(durable)): under
// its final name if nothing is there, else beside that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/posix/file.hpp"
#include "store/posix/system_calls.hpp"

namespace glean::store {

// "NAME.unclosed", in the same directory. A name that is too long for that is cut, and told from others by its hash.
[[nodiscard]] std::string unclosed_path(const std::string& final_path);
[[nodiscard]] bool is_unclosed_path(const std::string& path);

// Gives the working file its final name, or, if a file is there, that of unclosed_path(), which may replace one of an earlier crash; makes
// this durable, and returns the path. What is in the file is not made durable here. Throws; not_found: there is no working file.
std::string publish_unclosed(SystemCalls& calls, const FileNames& names);

// The one of the two paths that leads to a file of this inode. None: neither does.
[[nodiscard]] std::optional<std::string> find_unclosed(const std::string& final_path, std::uint64_t inode);

}  // namespace glean::store
