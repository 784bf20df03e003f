// SPDX-License-Identifier: BSD-3-Clause
//
// How often which call was captured, and how often it was the library's.
#pragma once

#include "calls.hpp"
#include "frontends/mpiio/counters.hpp"

namespace glean::pnetcdf {

using Counters = mpiio::CountersOf<Call>;

// Counters of this process; also without a session. The report has them.
Counters& captured();
Counters& passed_through();

}  // namespace glean::pnetcdf
