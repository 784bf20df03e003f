// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions of other programs on this node whose files this one may see: of programs that it has started with MPI_Comm_spawn, that have
// started it, or to which it is connected. What they have closed and drain is waited for as this program's own files are.
#pragma once

#include "interposition.hpp"

namespace glean::posix {

// From now on there may be such programs. Local.
void expect_other_sessions() noexcept;
// Looks which sessions there are, if there may be any and pools have come or gone since it has looked last. In calls of MPI: it allocates
// memory. Local, one system call, or none where there are no such programs.
void find_other_sessions() noexcept;
// Whether any is known. Local, a load.
[[nodiscard]] bool knows_other_sessions() noexcept;
// Waits until what they have closed is there under the path. As Look. Blocks.
void wait_for_other_sessions(const char* call, int directory, const char* path, Wanted wanted) noexcept;

}  // namespace glean::posix
