// SPDX-License-Identifier: BSD-3-Clause
//
// How a program writes: each strategy says which activities a step consists of. A new one is a class and a line in strategies().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "simulate/site.hpp"

namespace glean::simulate {

struct StepEnds {
  ActivityId released = 0;   // the application goes on
  ActivityId staged = 0;     // held outside of the application; without stagers: as durable
  ActivityId durable = 0;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view summary() const = 0;
  [[nodiscard]] virtual bool needs_stagers() const { return false; }
  // Its aggregators and files are those that the plan has chosen.
  [[nodiscard]] virtual bool executes_the_plan() const { return false; }
  // The whole-machine plan that is executed. The default says only who has what: the plan to stagers.
  [[nodiscard]] virtual plan::Plan plan(const Scenario& scenario) const;
  [[nodiscard]] virtual double files(const Site& site) const = 0;
  // Steps that may be on their way while the program goes on: a step begins when the one so many before is durable. 0: the program
  // goes on when a step is durable.
  [[nodiscard]] virtual std::int64_t steps_on_the_way(const Site& /*site*/) const { return 0; }
  // What is written begins after `ready`; what is in the background also after the same of the step before, if there is one.
  [[nodiscard]] virtual StepEnds add_step(Site& site, const std::vector<ActivityId>& ready, const StepEnds* last) const = 0;
};

// All of them, in the order in which they are shown.
[[nodiscard]] const std::vector<const Strategy*>& strategies();
// Throws invalid_argument with the nearest name.
[[nodiscard]] const Strategy& strategy_named(std::string_view name);

}  // namespace glean::simulate
