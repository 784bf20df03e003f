// SPDX-License-Identifier: BSD-3-Clause
//
// What all threads of the drain need.
#pragma once

#include <cstdint>
#include <vector>

namespace glean::drain {

// How long a thread sleeps that waits for what is to come any moment.
inline constexpr std::uint64_t short_nap_ns = 500'000;

// Puts the calling thread on its core of `cores`, or on any. A launcher may have bound the rank, and with it every thread that it starts,
// to one core.
void place_drain_thread(const std::vector<int>& cores, int thread);
// Processor time of the calling thread.
[[nodiscard]] std::uint64_t thread_cpu_ns();

}  // namespace glean::drain
