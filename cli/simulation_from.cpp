// SPDX-License-Identifier: BSD-3-Clause
#include "cli/simulation_from.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "foresight/page.hpp"
#include "topology/machine_files.hpp"

namespace glean::cli {
namespace {

using nlohmann::ordered_json;

base::Error refused(const std::string& what, const std::string& hint) { return {base::Errc::invalid_argument, what, hint}; }

ordered_json of_outcome(const simulate::Outcome& outcome) {
  return {{"blocked_seconds", outcome.blocked_seconds}, {"staged_seconds", outcome.staged_seconds},
          {"durable_seconds", outcome.durable_seconds}, {"waits_for", outcome.limits.empty() ? "" : outcome.limits.front().what}};
}

ordered_json of_trials(const std::vector<foresight::Trial>& trials) {
  ordered_json json = ordered_json::array();
  for (const foresight::Trial& each : trials) {
    json.push_back(of_outcome(each.outcome));
    json.back()["value"] = each.value;
  }
  return json;
}

ordered_json of_forecast(const foresight::Forecast& forecast) {
  const simulate::Scenario& scenario = forecast.scenario;
  ordered_json json{{"machine", scenario.machine.name},
                    {"ranks", scenario.ranks()},
                    {"nodes", scenario.placement.nodes()},
                    {"step_bytes", scenario.step_bytes()},
                    {"variables", scenario.request.variables},
                    {"interval_seconds", scenario.compute_seconds},
                    {"modes", ordered_json::array()},
                    {"stagers", forecast.best_stagers > 0 ? ordered_json(forecast.best_stagers) : ordered_json()},
                    {"stagers_tried", of_trials(forecast.stagers)},
                    {"stripes", forecast.best_stripes > 0 ? ordered_json(forecast.best_stripes) : ordered_json()},
                    {"stripes_tried", of_trials(forecast.stripes)}};
  for (const foresight::ModeForecast& each : forecast.modes) {
    ordered_json mode{{"mode", each.mode}, {"strategy", each.strategy}};
    if (each.outcome) {
      mode.update(of_outcome(*each.outcome));
      mode["production_speedup"] = each.production_speedup;
    } else {
      mode["why_not"] = each.why;
    }
    json["modes"].push_back(std::move(mode));
  }
  return json;
}

}  // namespace

void simulate_from(const FromOptions& options) {
  const foresight::RecordedRun run = foresight::load_run(options.report);
  const topology::Machine machine = topology::load_machine(options.machine);
  foresight::Wanted wanted{.ranks_per_node = options.ranks_per_node, .stagers = options.stagers};
  if (!options.ranks.empty()) {
    const bool is_number = CLI::detail::lexical_cast(options.ranks, wanted.ranks);
    if (!is_number || wanted.ranks < 1 || wanted.ranks > (std::int64_t{1} << 30)) {
      throw refused(fmt::format("--ranks takes a whole number from 1 on, not '{}'", options.ranks), "such as 16384");
    }
  }
  if (!options.interval.empty()) {
    wanted.interval_seconds = base::parse_seconds(options.interval);
    if (!wanted.interval_seconds) throw refused(fmt::format("--interval takes a time, not '{}'", options.interval), "such as 10min");
  }
  const foresight::Forecast forecast = foresight::forecast(run, machine, wanted);
  if (options.format == "json") std::cout << of_forecast(forecast).dump(2) << '\n';
  else std::cout << foresight::to_text(forecast);
}

}  // namespace glean::cli
