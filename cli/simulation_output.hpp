// SPDX-License-Identifier: BSD-3-Clause
//
// What `glean simulate` has found out, as a table, as CSV, and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulate/outcome.hpp"

namespace glean::cli {

// One value of what is swept, and all strategies with it. Without a sweep there is one.
struct SimulatedPoint {
  std::string varied{};                     // "ranks"; empty: nothing is
  std::string value{};                      // as the user has written it
  simulate::Scenario scenario{};
  std::vector<simulate::Outcome> outcomes{};
  std::vector<std::string> left_out{};      // strategies that cannot be, with the reason
};

[[nodiscard]] std::string to_text(const std::vector<SimulatedPoint>& points);
[[nodiscard]] std::string to_csv(const std::vector<SimulatedPoint>& points);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<SimulatedPoint>& points);

}  // namespace glean::cli
