// SPDX-License-Identifier: BSD-3-Clause
//
// Names that a rank of a session with stagers finds nothing under on this host, and that may lie below a directory of the stagers: these
// are asked (docs/transparent.md, "With stagers"). Of ranks only; a child of the program has no part in the session.
#pragma once

#include <sys/stat.h>

#include <string>

namespace glean::posix {

// Each is for a call that has just failed. Where the session has no stagers, the call has failed for another reason than that there is
// nothing, or the path is not below their directories, it does nothing, at the price of a few loads, and errno stays. Otherwise it
// blocks for the stagers; it allocates, so signal handlers must not look for such files.

// What the stagers see under that name. False: errno says why not.
[[nodiscard]] bool found_there(int directory, const char* path, struct stat& status) noexcept;
// As access(2) with `mode`. False: errno says why not.
[[nodiscard]] bool may_access_there(int directory, const char* path, int mode) noexcept;
// A copy of the file in the memory of this host, which the ranks of the node share until the session ends, for a call that opens it to
// read. Empty: errno says why not.
[[nodiscard]] std::string brought_here(int directory, const char* path) noexcept;
// A descriptor of such a copy for a call that opens with these flags, which make no file. -1: errno says why not; EROFS for one that is to
// be changed, too.
[[nodiscard]] int open_there(int directory, const char* path, int flags) noexcept;
// Removes or renames it, when what the session has closed before is published. False: errno says why not.
[[nodiscard]] bool removed_there(const char* call, int directory, const char* path) noexcept;
[[nodiscard]] bool renamed_there(const char* call, int from_directory, const char* from, int to_directory, const char* to) noexcept;

// As the calls have it that a program may make.
void copy_status(const struct stat& from, struct stat* to) noexcept;
void copy_status(const struct stat& from, struct stat64* to) noexcept;
void copy_status(const struct stat& from, struct statx* to) noexcept;

// The copies of sessions on this host that are over; and those of the pool `own`, if that is not empty. By one rank of the node. Local.
void remove_copies(const std::string& own) noexcept;

}  // namespace glean::posix
