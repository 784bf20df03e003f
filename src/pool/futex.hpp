// SPDX-License-Identifier: BSD-3-Clause
//
// Sleeping on a word in shared memory until another process changes it.
#pragma once

#include <cstdint>

#include "pool/atomic.hpp"

namespace glean::pool {

// Sleeps while `word` is `expected`, for `timeout_ns` at most. May wake early. Blocks.
void futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t timeout_ns);
// Adds one to `word` and wakes every process that sleeps on it. One system call.
void futex_signal(Atomic<std::uint32_t>& word);

}  // namespace glean::pool
