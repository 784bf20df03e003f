// SPDX-License-Identifier: BSD-3-Clause
//
// Paths as the file system would resolve them. Nothing here allocates memory, as std::filesystem does: a program may look for a file in a
// signal handler.
#pragma once

#include <array>
#include <climits>
#include <cstddef>

namespace glean::posix {

using Path = std::array<char, PATH_MAX>;

// The path of a directory, absolute and without symbolic links. Its length; 0: there is none. Local, three system calls.
[[nodiscard]] std::size_t resolve_directory(int directory, const char* path, Path& resolved);
// Resolves the path of a file, which need not exist. 0: no file can be there.
enum class LastLink { followed, itself };
[[nodiscard]] std::size_t resolve(int directory, const char* path, LastLink last_link, Path& resolved);

}  // namespace glean::posix
