// SPDX-License-Identifier: BSD-3-Clause
//
// Which schedules of a scenario are run.
//
// A schedule that fails is made as plain as it goes, printed step by step, and run again when the environment variable
// GLEAN_SCHEDULE holds what was printed. GLEAN_SCHEDULES=n is for long runs: n times as many random schedules, and the
// exhaustive search goes on with one interruption more, for 100,000 n schedules at most.
#pragma once

#include "scheduler.hpp"

namespace glean::schedule {

struct Bounds {
  int interruptions;   // of a process that could go on
};

// All schedules with at most so many interruptions and, where a process may die, at most one death. Sleeps last until
// they are signalled.
void explore_all(const MakeScenario& make, Bounds bounds);

// Random schedules, the same in each run. In every second one sleeps may end early.
void explore_at_random(const MakeScenario& make, std::size_t schedules);

}  // namespace glean::schedule
