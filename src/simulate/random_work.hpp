// SPDX-License-Identifier: BSD-3-Clause
//
// Works for tests that hold a rule for many of them.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "simulate/work.hpp"

namespace glean::simulate::test {

// A few resources, and activities that use some of them and wait for some of those before. The same for the same seed.
inline Work random_work(std::uint32_t seed, int activities = 12) {
  std::mt19937 random(seed);
  const auto up_to = [&](std::size_t n) { return random() % n; };
  Work work;
  const std::size_t resources = 1 + up_to(5);
  for (std::size_t i = 0; i < resources; ++i) work.add(Resource{"r" + std::to_string(i), static_cast<double>(1 + up_to(100))});
  for (int i = 0; i < activities; ++i) {
    Activity activity{.name = "a" + std::to_string(i), .bytes = static_cast<double>(up_to(1000))};
    if (up_to(3) == 0) activity.seconds = static_cast<double>(up_to(20));
    if (up_to(4) == 0) activity.bytes_per_second_max = static_cast<double>(1 + up_to(50));
    for (ResourceId r = 0; r < resources; ++r) {
      if (up_to(2) == 0) activity.uses.push_back({r, static_cast<double>(1 + up_to(4))});
    }
    for (int before = 0; before < i; ++before) {
      if (up_to(6) == 0) activity.after.push_back(static_cast<ActivityId>(before));
    }
    work.add(activity);
  }
  return work;
}

}  // namespace glean::simulate::test
