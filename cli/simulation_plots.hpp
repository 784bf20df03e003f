// SPDX-License-Identifier: BSD-3-Clause
//
// What `glean simulate` has found out, as pictures.
#pragma once

#include <string>
#include <vector>

#include "cli/simulation_output.hpp"

namespace glean::cli {

// Blocked and durable of each strategy, by what is swept; without a sweep as bars of the strategies.
[[nodiscard]] std::string plot_of(const std::vector<SimulatedPoint>& points);
// What each strategy does when, of the first point.
[[nodiscard]] std::string timeline_of(const std::vector<SimulatedPoint>& points);

// Writes `svg`, or, where the name ends in ".png", what rsvg-convert makes of it. Throws invalid_argument for other names and where
// there is no rsvg-convert.
void write_picture(const std::string& path, const std::string& svg);

}  // namespace glean::cli
