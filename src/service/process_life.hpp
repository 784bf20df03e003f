// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a process that uses a pool will go on. One that was killed keeps its claims for as long as a thread of it is inside of the
// kernel, giving memory back or waiting for a disk: it does nothing more with the pool, and yet no other process can have it.
#pragma once

#include <cstdint>

namespace glean::service {

enum class ProcessLife : std::uint8_t {
  gone,     // or no more than a number, for its parent to look at
  ending,   // each of its threads was killed or is ending
  going_on
};

// Of a process of this PID namespace; others go on, for all that is known. Local, reads /proc.
[[nodiscard]] ProcessLife life_of(int process);

}  // namespace glean::service
