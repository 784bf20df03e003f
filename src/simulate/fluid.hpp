// SPDX-License-Identifier: BSD-3-Clause
//
// The fluid executor: activities that move bytes at the same time share resources max-min fairly.
#pragma once

#include "simulate/work.hpp"

namespace glean::simulate {

// Event by event: from one begin or end to the next all rates are constant. Rates come from progressive filling: all grow alike until a
// resource is full or a flow has its greatest rate; those that it holds keep theirs, the others grow on. Latencies are what
// activities say in `seconds`. Pure, and the same on each machine. Cost: O(events · fillings · uses of what moves at the same time).
[[nodiscard]] Timeline run_fluid(const Work& work);

}  // namespace glean::simulate
