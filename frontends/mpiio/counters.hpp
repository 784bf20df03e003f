// SPDX-License-Identifier: BSD-3-Clause
//
// How often which call went to the library that it belongs to, and how often it was captured.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "calls.hpp"

namespace glean::mpiio {

// Counters of this process, for an enumeration of calls that ends with `count`. Any thread.
template <class Which>
class CountersOf {
 public:
  using Values = std::array<std::uint64_t, static_cast<std::size_t>(Which::count)>;

  void count(Which call) { counts_[static_cast<std::size_t>(call)].fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] Values values() const {
    Values values{};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = counts_[i].load(std::memory_order_relaxed);
    return values;
  }

 private:
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Which::count)> counts_{};
};

using Counters = CountersOf<Call>;

}  // namespace glean::mpiio
