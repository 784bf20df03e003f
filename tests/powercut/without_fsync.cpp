// SPDX-License-Identifier: BSD-3-Clause
//
// Linked into a second writer, goes before the C library's: that writer publishes without ever making anything safe.
// Both checks must catch it, or they would catch nothing.
#include <unistd.h>

#pragma GCC visibility push(default)
extern "C" {
int fsync(int) { return 0; }
int fdatasync(int) { return 0; }
void sync() noexcept {}
int syncfs(int) noexcept { return 0; }
}
#pragma GCC visibility pop
