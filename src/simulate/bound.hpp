// SPDX-License-Identifier: BSD-3-Clause
//
// The static executor: no schedule of a Work is faster.
#pragma once

#include "simulate/work.hpp"

namespace glean::simulate {

// For each activity the later of two: the longest chain that leads to it, each activity alone on the machine; and the end of what
// the busiest resource has to do for all that it waits for, itself included. The second is plan::busiest_link_seconds, for resources
// of all kinds; regular phases take no longer. `held` is empty. Cost: O(activities · (activities + uses)).
[[nodiscard]] Timeline run_bound(const Work& work);

// Of an activity that is alone on the machine: its seconds, and its bytes by its slowest resource.
[[nodiscard]] double seconds_alone(const Work& work, const Activity& activity);

}  // namespace glean::simulate
