// SPDX-License-Identifier: BSD-3-Clause
//
// What a program removes, replaces, renames or cuts while files that it closed before are not durable yet. The change of names happens at
// once; the file that goes lives on under a hidden name until they are (pool/name_log.hpp), so that at every moment as many complete files
// exist as without GLEAN. Nothing waits but the cutting of a file that the session has written, and what cannot be done so.
#pragma once

#include <dirent.h>

#include <string_view>

namespace glean::posix {

// Around the program's unlink(), remove() or unlinkat() of a file. True: it has been removed, and the call is not made. Local.
[[nodiscard]] bool removes_now(const char* call, int directory, const char* path) noexcept;
// Around rename(), renameat() and renameat2() without flags, likewise.
[[nodiscard]] bool renames_now(const char* call, int from_directory, const char* from, int to_directory, const char* to) noexcept;
// Before the program cuts a file to nothing, or to another length. Blocks where the session may have written it and what it closed
// before is not durable.
void wait_to_cut(const char* call, int directory, const char* path) noexcept;
[[nodiscard]] bool cuts(int open_flags);
[[nodiscard]] bool cuts(const char* fopen_mode);

// A directory that could not be removed has nothing in it but hidden files, or working files of what was renamed, and now it may not have
// them any more. Blocks until what they wait for is durable, and on several nodes until all nodes know; for at most 10 s longer where files
// stay that a killed job has left.
[[nodiscard]] bool loses_hidden_files(const char* call, int directory, const char* path) noexcept;
// Names that a program does not see when it lists a directory.
[[nodiscard]] bool is_hidden(const char* name) noexcept;

}  // namespace glean::posix
