// SPDX-License-Identifier: BSD-3-Clause
#include "foresight/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.hpp"
#include "base/units.hpp"
#include "plan/plan.hpp"
#include "simulate/strategy.hpp"

namespace glean::foresight {
namespace {

using simulate::Outcome;
using simulate::Scenario;

class Adviser {
 public:
  Adviser(const RecordedRun& run, const Forecast& forecast) : scenario_(forecast.scenario) {
    const std::string_view own = strategy_of_mode(run.mode);
    strategy_ = own.empty() ? "glean" : own;
    // With other ranks the plan chooses anew, as a session would.
    const bool is_as_it_was = scenario_.ranks() == run.ranks;
    if (is_as_it_was && run.aggregators > 0 && strategy_ == "glean") set_aggregators(scenario_, run.aggregators);
    if (strategy_ == "glean-staged" && scenario_.machine.staging.nodes == 0) {
      scenario_.stagers = std::max<std::int64_t>(1, forecast.best_stagers);
    }
    now_ = simulated(strategy_, scenario_);
    if (!now_) {
      set_aggregators(scenario_, 0);   // more than the groups of this machine have
      now_ = simulated(strategy_, scenario_);
    }
  }

  [[nodiscard]] bool can_advise() const { return now_.has_value(); }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Outcome& now() const { return *now_; }
  [[nodiscard]] std::string_view strategy() const { return strategy_; }

  struct Variant {
    std::string then;
    Scenario scenario;
    std::string_view strategy;
  };
  // The best of them by what the program waits for; where that is the same, by when the step is durable. The first of equals.
  void try_all(const char* subject, const std::string& now_is, const std::vector<Variant>& variants) {
    std::optional<Advice> best;
    for (const Variant& each : variants) {
      const auto outcome = simulated(each.strategy, each.scenario);
      if (!outcome) continue;
      Advice advice{.subject = subject,
                    .now = now_is,
                    .then = each.then,
                    .blocked_now = now_->blocked_seconds,
                    .blocked_then = outcome->blocked_seconds,
                    .durable_now = now_->durable_seconds,
                    .durable_then = outcome->durable_seconds};
      advice.makes_a_difference = gain_of(advice) > equal;
      if (!best || gain_of(advice) > gain_of(*best) * 1.001) best = advice;
    }
    if (best) all_.push_back(*best);
  }
  [[nodiscard]] std::vector<Advice> sorted() {
    std::stable_sort(all_.begin(), all_.end(), [](const Advice& a, const Advice& b) {
      return a.makes_a_difference != b.makes_a_difference ? a.makes_a_difference : a.makes_a_difference && gain_of(a) > gain_of(b);
    });
    return all_;
  }

  static void set_aggregators(Scenario& scenario, int count) {
    scenario.limits.aggregators_min = count > 0 ? count : plan::Limits{}.aggregators_min;
    scenario.limits.aggregators_max = count > 0 ? count : plan::Limits{}.aggregators_max;
  }

 private:
  // What makes the program wait longer is no advice, however soon it is durable.
  static double gain_of(const Advice& advice) {
    if (advice.blocked_gain() > equal || advice.blocked_gain() < 1 / equal) return advice.blocked_gain();
    return advice.durable_gain();
  }

  static std::optional<Outcome> simulated(std::string_view strategy, const Scenario& scenario) {
    try {
      return simulate::simulate(simulate::strategy_named(strategy), scenario);
    } catch (const base::Error&) {
      return std::nullopt;   // the machine cannot do it
    }
  }

  Scenario scenario_;
  std::string_view strategy_;
  std::optional<Outcome> now_;
  std::vector<Advice> all_;
};

void try_requests(Adviser& adviser) {
  std::vector<Adviser::Variant> variants;
  for (const Bytes bytes : {base::MiB, 2 * base::MiB, 4 * base::MiB, 8 * base::MiB, 16 * base::MiB, 32 * base::MiB}) {
    Scenario scenario = adviser.scenario();
    if (bytes == scenario.limits.request_bytes) continue;
    scenario.limits.request_bytes = bytes;
    variants.push_back({base::readable_bytes(bytes), scenario, adviser.strategy()});
  }
  adviser.try_all("request size", base::readable_bytes(adviser.scenario().limits.request_bytes), variants);
}

void try_files(Adviser& adviser) {
  std::vector<Adviser::Variant> variants;
  const std::int64_t most = std::min<std::int64_t>(adviser.scenario().placement.nodes(), 1024);
  for (std::int64_t files = 1; files <= most; files *= 4) {
    Scenario scenario = adviser.scenario();
    scenario.files = files;
    variants.push_back({fmt::format("{}", files), scenario, adviser.strategy()});
  }
  adviser.try_all("files of a step", fmt::format("{:.0f}", adviser.now().files), variants);
}

void try_aggregators(Adviser& adviser) {
  if (adviser.now().aggregators == 0) return;   // none that the plan names
  std::vector<Adviser::Variant> variants;
  for (int count = 1; count <= 64; count *= 2) {
    Scenario scenario = adviser.scenario();
    Adviser::set_aggregators(scenario, count);
    if (count != adviser.now().aggregators) variants.push_back({fmt::format("{}", count), scenario, adviser.strategy()});
  }
  adviser.try_all("aggregators of an I/O group", fmt::format("{}", adviser.now().aggregators), variants);
}

void try_stripes(Adviser& adviser, const Forecast& forecast) {
  if (forecast.best_stripes == 0) return;
  Scenario scenario = adviser.scenario();
  const int now = scenario.machine.file_system.stripe_count;
  scenario.machine.file_system.stripe_count = static_cast<int>(forecast.best_stripes);
  adviser.try_all("stripes of a file", now > 0 ? fmt::format("{}", now) : "as the file system does",
                  {{fmt::format("{}", forecast.best_stripes), scenario, adviser.strategy()}});
}

// Requests that begin and end on blocks take no lock away from another client.
void try_alignment(Adviser& adviser) {
  if (adviser.scenario().machine.file_system.lock_seconds == 0) return;
  Scenario scenario = adviser.scenario();
  scenario.machine.file_system.lock_seconds = 0;
  adviser.try_all("alignment", "clients lock parts of shared files",
                  {{fmt::format("each block of {} has one writer", base::readable_bytes(plan::unit_bytes(scenario.machine.file_system))),
                    scenario, adviser.strategy()}});
}

void try_modes(Adviser& adviser, const RecordedRun& run, const Forecast& forecast) {
  std::vector<Adviser::Variant> variants;
  for (const ModeForecast& each : forecast.modes) {
    if (!each.outcome || each.mode == run.mode) continue;
    Scenario scenario = adviser.scenario();
    Adviser::set_aggregators(scenario, 0);
    if (each.mode == "staged" && scenario.machine.staging.nodes == 0) {
      scenario.stagers = std::max<std::int64_t>(1, forecast.best_stagers);
    }
    variants.push_back({each.mode, scenario, each.strategy});
  }
  adviser.try_all("mode", run.mode, variants);
}

}  // namespace

std::vector<Advice> advice_for(const RecordedRun& run, const Forecast& forecast) {
  Adviser adviser(run, forecast);
  if (!adviser.can_advise()) return {};
  if (forecast.compares_modes) try_modes(adviser, run, forecast);
  try_alignment(adviser);
  try_requests(adviser);
  try_files(adviser);
  try_stripes(adviser, forecast);
  try_aggregators(adviser);
  return adviser.sorted();
}

}  // namespace glean::foresight
