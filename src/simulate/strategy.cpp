// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/strategy.hpp"

#include <fmt/format.h>

#include <string>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "simulate/strategy_kinds.hpp"

namespace glean::simulate {

plan::Plan Strategy::plan(const Scenario& scenario) const {
  plan::Request request = scenario.request;
  request.sink = plan::Sink::stagers;
  request.files = 0;
  return plan::plan(scenario.machine, scenario.placement, request, scenario.limits);
}

const std::vector<const Strategy*>& strategies() {
  static const std::vector<const Strategy*> all = {
      &shared_file(),        &file_per_process(),     &container(), &reassigned(),        &reassigned_and_coalesced(),
      &collective(),         &grouped_collective(),   &planned_collective(), &one_sided_collective(), &dedicated_writers(),
      &threaded_writers(),   &background(),           &staged(),    &staged_by_group(),   &staged_synchronously()};
  return all;
}

const Strategy& strategy_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Strategy* each : strategies()) {
    if (each->name() == name) return *each;
    names.emplace_back(each->name());
  }
  const std::string wanted(name);
  throw base::Error(base::Errc::invalid_argument,
                    fmt::format("unknown strategy '{}'; did you mean '{}'?", wanted, base::nearest(wanted, names)),
                    "glean simulate --strategy list shows them");
}

}  // namespace glean::simulate
