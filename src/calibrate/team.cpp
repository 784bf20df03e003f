// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/team.hpp"

#include <fmt/format.h>

namespace glean::calibrate {

std::vector<double> numbers_of_all(Team& team, double mine) {
  std::vector<double> numbers;
  for (const std::string& each : team.from_all(fmt::format("{:.17g}", mine))) numbers.push_back(std::stod(each));
  return numbers;
}

}  // namespace glean::calibrate
