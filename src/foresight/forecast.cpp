// SPDX-License-Identifier: BSD-3-Clause
#include "foresight/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "plan/traffic.hpp"
#include "simulate/strategy.hpp"

namespace glean::foresight {
namespace {

struct ModeOfStrategy {
  const char* mode;
  const char* strategy;
};
constexpr ModeOfStrategy modes[] = {{"passthrough", "collective"},
                                    {"collective", "collective-planned"},
                                    {"dedicated", "glean"},
                                    {"threaded", "glean"},
                                    {"staged", "glean-staged"}};

// Enough of them that a step which has to wait for those before is seen to.
constexpr int steps_simulated = 4;

simulate::Outcome simulated(const char* strategy, const simulate::Scenario& scenario) {
  return simulate::simulate(simulate::strategy_named(strategy), scenario);
}

double period_of(const simulate::Scenario& scenario, const simulate::Outcome& outcome) {
  return scenario.compute_seconds + outcome.blocked_seconds;
}

// The fewest of those that pass, in the order in which they were tried.
template <class Passes>
std::int64_t fewest(const std::vector<Trial>& trials, Passes passes) {
  const auto found = std::find_if(trials.begin(), trials.end(), passes);
  return found == trials.end() ? 0 : found->value;
}

void try_stagers(Forecast& forecast) {
  simulate::Scenario scenario = forecast.scenario;
  const std::int64_t nodes = scenario.placement.nodes();
  const std::int64_t most = scenario.machine.staging.nodes > 0 ? scenario.machine.staging.nodes : std::max<std::int64_t>(1, nodes / 4);
  for (std::int64_t count = 1; count <= most && count <= 4096; count *= 2) {
    scenario.stagers = count;
    try {
      forecast.stagers.push_back({count, simulated("glean-staged", scenario)});
    } catch (const base::Error&) {
      return;   // the mode says why
    }
  }
  double least = forecast.stagers.front().outcome.blocked_seconds;
  for (const Trial& each : forecast.stagers) least = std::min(least, each.outcome.blocked_seconds);
  forecast.best_stagers = fewest(forecast.stagers, [&](const Trial& each) {
    return each.outcome.durable_seconds <= period_of(scenario, each.outcome) && each.outcome.blocked_seconds <= least * equal;
  });
}

void try_stripes(Forecast& forecast, const char* strategy) {
  simulate::Scenario scenario = forecast.scenario;
  const int targets = scenario.machine.file_system.targets;
  if (targets <= 1) return;
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count < targets; count *= 2) counts.push_back(count);
  counts.push_back(targets);
  for (const std::int64_t count : counts) {
    scenario.machine.file_system.stripe_count = static_cast<int>(count);
    try {
      forecast.stripes.push_back({count, simulated(strategy, scenario)});
    } catch (const base::Error&) {
      return;
    }
  }
  double least = forecast.stripes.front().outcome.durable_seconds;
  for (const Trial& each : forecast.stripes) least = std::min(least, each.outcome.durable_seconds);
  forecast.best_stripes = fewest(forecast.stripes, [&](const Trial& each) { return each.outcome.durable_seconds <= least * equal; });
}

void compare_modes(Forecast& forecast) {
  const double interval = forecast.scenario.compute_seconds;
  const auto collective = std::find_if(forecast.modes.begin(), forecast.modes.end(),
                                       [](const ModeForecast& each) { return each.mode == "collective"; });
  if (collective == forecast.modes.end() || !collective->outcome) return;
  for (ModeForecast& each : forecast.modes) {
    if (!each.outcome || !(each.outcome->blocked_seconds + interval > 0)) continue;
    // What drains in ranks takes their processors; of dedicated writers the others do the part. Stagers have their own.
    const int of_node = forecast.scenario.placement.ranks_per_node;
    double overhead = each.mode == "threaded" ? forecast.drain_overhead : 0;
    if (each.mode == "dedicated") overhead = 1.0 / std::max(1, of_node - 1);
    const double of_collective = collective->outcome->blocked_seconds + interval;
    each.production_speedup = of_collective / (each.outcome->blocked_seconds + interval) / (1 + overhead);
  }
}

}  // namespace

namespace {

// A machine without staging nodes lends some of its own: their ports take in what comes. Of one that is a single node the file says what
// its own interface carries.
double port_of(const topology::Machine& machine) {
  if (machine.nodes() > 1) return plan::node_bytes_per_second(machine, 0);
  const auto* tree = std::get_if<topology::FatTree>(&machine.network);
  return tree != nullptr && !tree->levels.empty() ? tree->levels.front().link_bytes_per_second : 0;
}

}  // namespace

simulate::Scenario scenario_of(const RecordedRun& run, const topology::Machine& machine, const Wanted& wanted) {
  simulate::Scenario scenario;
  scenario.placement.ranks = wanted.ranks > 0 ? wanted.ranks : run.ranks;
  scenario.placement.ranks_per_node = wanted.ranks_per_node > 0 ? wanted.ranks_per_node : run.ranks_per_node();
  scenario.machine = topology::partition(machine, scenario.placement.nodes());
  topology::Staging& staging = scenario.machine.staging;
  if (staging.bytes_per_second == 0) staging.bytes_per_second = port_of(machine);
  scenario.request.bytes_per_rank = static_cast<Bytes>(std::max(1.0, std::round(run.step_bytes() / static_cast<double>(run.ranks))));
  scenario.request.pattern = run.pattern();
  scenario.request.variables = static_cast<int>(run.variables());
  if (run.planned_request_bytes > 0) scenario.limits.request_bytes = run.planned_request_bytes;
  scenario.steps = steps_simulated;
  scenario.compute_seconds = wanted.interval_seconds.value_or(run.compute_seconds());
  return scenario;
}

std::string_view strategy_of_mode(std::string_view mode) {
  for (const ModeOfStrategy& each : modes) {
    if (each.mode == mode) return each.strategy;
  }
  return "";
}

Forecast forecast(const RecordedRun& run, const topology::Machine& machine, const Wanted& wanted) {
  Forecast forecast{.scenario = scenario_of(run, machine, wanted)};
  forecast.compares_modes = machine.name != own_machine;
  forecast.drain_overhead = run.drain_cpu_seconds / (run.run_seconds * static_cast<double>(run.ranks));
  try_stagers(forecast);
  std::string problem;
  for (const ModeOfStrategy& each : modes) {
    ModeForecast mode{.mode = each.mode, .strategy = each.strategy};
    simulate::Scenario scenario = forecast.scenario;
    if (mode.mode == "staged" && wanted.stagers > 0) {
      scenario.stagers = wanted.stagers;
    } else if (mode.mode == "staged" && scenario.machine.staging.nodes == 0) {
      scenario.stagers = forecast.best_stagers > 0 ? forecast.best_stagers : std::max<std::int64_t>(1, scenario.placement.nodes() / 4);
    }
    try {
      mode.outcome = simulated(each.strategy, scenario);
    } catch (const base::Error& error) {
      mode.why = problem = error.what();
    }
    forecast.modes.push_back(std::move(mode));
  }
  if (std::none_of(forecast.modes.begin(), forecast.modes.end(), [](const ModeForecast& each) { return each.outcome.has_value(); })) {
    throw base::Error(base::Errc::invalid_argument, problem, "no mode can do this");
  }
  const std::string_view own = strategy_of_mode(run.mode);
  try_stripes(forecast, own.empty() ? "glean" : own.data());
  compare_modes(forecast);
  return forecast;
}

}  // namespace glean::foresight
