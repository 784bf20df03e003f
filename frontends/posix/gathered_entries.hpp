// SPDX-License-Identifier: BSD-3-Clause
//
// Streams of directories (opendir) that list the files which are gathered, too: before all others, so that a program which removes what it
// finds removes these before their container; but behind "." and ".." where these come first, as some programs take them to do.
#pragma once

#include <dirent.h>

namespace glean::posix {

// The C library's, without files that live on without their names.
struct StreamCalls {
  dirent* (*read)(DIR*);
  long (*tell)(DIR*);
  void (*seek)(DIR*, long);
};

// In place of readdir(), telldir() and seekdir(). Any thread, one at a time for each stream; not in a signal handler. Costs a load where
// nothing is gathered; else the names are looked up when a stream is at its begin.
[[nodiscard]] dirent* next_entry(DIR* stream, const StreamCalls& calls);
[[nodiscard]] long position_of(DIR* stream, const StreamCalls& calls);
void set_position(DIR* stream, long position, const StreamCalls& calls);
// Before closedir() and rewinddir().
void forget_entries(DIR* stream) noexcept;

}  // namespace glean::posix
