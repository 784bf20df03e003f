// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration that a session of this directory and environment would have, with what a session itself does not look at.
#pragma once

#include "base/config.hpp"

namespace glean::cli {

// As base::load_configuration(), and throws invalid_config, too, with all formulas of analyses that are none.
[[nodiscard]] base::Configuration checked_configuration();

}  // namespace glean::cli
