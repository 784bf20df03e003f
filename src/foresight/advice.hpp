// SPDX-License-Identifier: BSD-3-Clause
//
// What would have been better: each piece of advice is the ratio of two simulations of this run that differ in one thing.
#pragma once

#include <string>
#include <vector>

#include "foresight/forecast.hpp"

namespace glean::foresight {

struct Advice {
  std::string subject;             // "request size", "files", "stripes", "aggregators", "alignment", "mode", "stagers"
  std::string now, then;           // "8 MiB", "32 MiB"
  double blocked_now = 0, blocked_then = 0;      // seconds of a step
  double durable_now = 0, durable_then = 0;
  bool makes_a_difference = false;               // more than `equal`
  [[nodiscard]] double blocked_gain() const { return blocked_then > 0 ? blocked_now / blocked_then : 1; }
  [[nodiscard]] double durable_gain() const { return durable_then > 0 ? durable_now / durable_then : 1; }
};

// Of every subject what is best of what was tried; those that make a difference first, the greatest first. What the machine says nothing
// of makes none.
[[nodiscard]] std::vector<Advice> advice_for(const RecordedRun& run, const Forecast& forecast);

}  // namespace glean::foresight
