// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/clock.hpp"

namespace glean::calibrate {

// Of a clock that never goes back.
inline double seconds_now() { return base::seconds(base::now_ns()); }

}  // namespace glean::calibrate
