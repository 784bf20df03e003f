// SPDX-License-Identifier: BSD-3-Clause
//
// A plan as JSON, for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "plan/plan.hpp"

namespace glean::cli {

// Sizes in bytes, times in seconds; docs/plan.md has the names.
[[nodiscard]] nlohmann::ordered_json to_json(const topology::Machine& machine, const topology::Placement& placement,
                                             const plan::Request& request, const plan::Plan& plan);

}  // namespace glean::cli
