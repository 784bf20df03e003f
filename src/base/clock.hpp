// SPDX-License-Identifier: BSD-3-Clause
//
// Time as the trace records it.
#pragma once

#include <chrono>
#include <cstdint>

namespace glean::base {

// Nanoseconds of CLOCK_MONOTONIC: comparable between the processes of one node.
[[nodiscard]] inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

[[nodiscard]] constexpr double seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace glean::base
