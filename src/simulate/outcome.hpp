// SPDX-License-Identifier: BSD-3-Clause
//
// A strategy on a scenario, executed: what the program and its files wait for.
#pragma once

#include <string>
#include <vector>

#include "simulate/scenario.hpp"
#include "simulate/strategy.hpp"
#include "simulate/work.hpp"

namespace glean::simulate {

// Activities of a step with the same name, from the begin of the first to the end of the last.
struct Phase {
  std::string what;
  int step = 0;
  double begin = 0, end = 0;         // seconds since the program began
};

enum class Executor { fluid, bound };

// What a step waited for: a resource, or an activity of its own.
struct Limit {
  std::string what;
  double share = 0;                  // of the time
  friend bool operator==(const Limit&, const Limit&) = default;
};

struct Outcome {
  std::string strategy;
  Bytes bytes = 0;                   // of a step
  double files = 0;                  // of a step; 0: the data end before
  int aggregators = 0;               // of an I/O group; 0: it has none that the plan names
  // Of a step, the average of all; from its begin on.
  double blocked_seconds = 0;        // until the program goes on
  double staged_seconds = 0;         // until it is held outside of the program; without stagers as durable
  double durable_seconds = 0;
  double total_seconds = 0;          // of the program, computing and all, until everything is durable
  std::vector<Limit> limits{};       // of what the last step waited for until it was durable, the longest first; empty: static executor
  std::vector<Phase> phases{};       // of all steps, in the order in which they began; those that take no time are left out
  double planned_seconds = 0;        // what the planner says of the same; 0: it says nothing
  double cost_seconds = 0;           // how long it took to find out

  [[nodiscard]] double observed_bytes_per_second() const { return rate(blocked_seconds); }
  [[nodiscard]] double staged_bytes_per_second() const { return rate(staged_seconds); }
  [[nodiscard]] double raw_bytes_per_second() const { return rate(durable_seconds); }

 private:
  [[nodiscard]] double rate(double seconds) const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};

// Throws invalid_argument with all that cannot be, as the plan does, and where a strategy needs stagers that the machine does not have.
[[nodiscard]] Outcome simulate(const Strategy& strategy, const Scenario& scenario, Executor executor = Executor::fluid);

}  // namespace glean::simulate
