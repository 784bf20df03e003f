// SPDX-License-Identifier: BSD-3-Clause
//
// What a recorded run would be on a machine that is only a file, with as many ranks as one likes: simulations of that run, and
// nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foresight/recorded_run.hpp"
#include "simulate/outcome.hpp"

namespace glean::foresight {

struct Wanted {
  std::int64_t ranks = 0;                      // 0: as in the run
  int ranks_per_node = 0;                      // 0: as in the run
  std::int64_t stagers = 0;                    // of mode `staged`; 0: the fewest that are enough
  std::optional<double> interval_seconds{};    // between the ends of steps; none: as in the run
};

// Ranks put what they put in the run: the step grows with them. Nodes are filled one after the other. Throws what topology::partition says.
[[nodiscard]] simulate::Scenario scenario_of(const RecordedRun& run, const topology::Machine& machine, const Wanted& wanted = {});

// The strategy that stands for a mode: docs/simulate.md. Empty: there is no such mode.
[[nodiscard]] std::string_view strategy_of_mode(std::string_view mode);

// Of a mode; without `outcome` it cannot be there, and `why` says so.
struct ModeForecast {
  std::string mode, strategy;
  std::optional<simulate::Outcome> outcome{};
  std::string why{};
  // Seed 001, (7): (blocked of collective + interval) / (blocked + interval) / (1 + processor time that the drain takes).
  double production_speedup = 0;
};

struct Trial {
  std::int64_t value = 0;                      // stagers, stripes
  simulate::Outcome outcome{};
};

struct Forecast {
  simulate::Scenario scenario;
  bool compares_modes = true;                  // false: on own_machine
  double drain_overhead = 0;                   // of the processor time of the run's ranks
  std::vector<ModeForecast> modes{};           // all
  std::vector<Trial> stagers{};                // of glean-staged; empty: it cannot be
  std::int64_t best_stagers = 0;               // the fewest with which no step waits for the one before and none is blocked longer; 0: none
  std::vector<Trial> stripes{};                // of the mode of the run; empty: there is one target, or none is known
  std::int64_t best_stripes = 0;               // the fewest that are as fast as any
};

// Throws invalid_argument where nothing can be simulated.
[[nodiscard]] Forecast forecast(const RecordedRun& run, const topology::Machine& machine, const Wanted& wanted = {});

// What is taken for equal.
inline constexpr double equal = 1.02;

}  // namespace glean::foresight
