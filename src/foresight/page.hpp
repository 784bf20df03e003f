// SPDX-License-Identifier: BSD-3-Clause
//
// A run, where its time went, and what would have been better: for people, as a page or as text.
#pragma once

#include <string>
#include <vector>

#include "foresight/advice.hpp"

namespace glean::foresight {

// One HTML page that asks nothing of any network: tables, and plots as SVG.
[[nodiscard]] std::string to_html(const RecordedRun& run, const Forecast& forecast, const std::vector<Advice>& advice);

// About thirty lines for a terminal.
[[nodiscard]] std::string to_text(const RecordedRun& run, const Forecast& forecast, const std::vector<Advice>& advice);

// The forecast alone: modes, stagers, stripes.
[[nodiscard]] std::string to_text(const Forecast& forecast);

// "3.2 ms", "14.1 s", "2 h 5 min"
[[nodiscard]] std::string readable_time(double seconds);

}  // namespace glean::foresight
