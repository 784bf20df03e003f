// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/outcome.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.hpp"
#include "simulate/bound.hpp"
#include "simulate/fluid.hpp"

namespace glean::simulate {
namespace {

void verify(const Strategy& strategy, const Scenario& scenario) {
  std::vector<std::string> problems = problems_of(scenario);
  if (strategy.needs_stagers() && scenario.to_io_nodes) {
    problems.push_back(fmt::format("{} goes on to stagers, and the data are to end at the I/O nodes", strategy.name()));
  }
  if (!strategy.needs_stagers() && scenario.to_stagers) {
    problems.push_back(fmt::format("{} sends nothing to stagers, where the data are to end", strategy.name()));
  }
  if (strategy.needs_stagers() && scenario.machine.staging.nodes == 0 && scenario.stagers == 0) {
    problems.push_back(fmt::format("{} needs stagers, and {} says nothing of staging nodes", strategy.name(), scenario.machine.name));
  }
  if (problems.empty()) return;
  throw base::Error(base::Errc::invalid_argument, fmt::format("cannot be simulated: {}", fmt::join(problems, "; ")),
                    "docs/simulate.md says what a scenario consists of");
}

struct Step {
  ActivityId computed = 0;
  StepEnds ends;
};

std::vector<Step> add_steps(const Strategy& strategy, Site& site) {
  std::vector<Step> steps;
  const auto on_the_way = static_cast<std::size_t>(strategy.steps_on_the_way(site));
  for (int i = 0; i < site.scenario().steps; ++i) {
    std::vector<ActivityId> released;
    if (i > 0) released.push_back(steps.back().ends.released);
    Step step;
    step.computed = site.add("compute", {}, 0, site.scenario().compute_seconds, released);
    std::vector<ActivityId> ready = {step.computed};
    if (on_the_way > 0 && steps.size() >= on_the_way) ready.push_back(steps[steps.size() - on_the_way].ends.durable);
    step.ends = strategy.add_step(site, ready, i > 0 ? &steps.back().ends : nullptr);
    steps.push_back(step);
  }
  return steps;
}

// From the end back to the begin: at each activity on to the one that it waited for longest.
std::vector<Limit> limits_of(const Work& work, const Timeline& timeline, const Step& step) {
  std::map<std::string, double> seconds;
  const double begin = timeline.spans[step.computed].end;
  double all = 0;
  for (ActivityId at = step.ends.durable; at != step.computed;) {
    for (const Held& held : timeline.spans[at].held) {
      const std::string& what = held.resource == Held::by_itself ? work.activities()[at].name : work.resources()[held.resource].name;
      seconds[what] += held.seconds;
      all += held.seconds;
    }
    const std::vector<ActivityId>& after = work.activities()[at].after;
    if (after.empty()) break;
    at = *std::max_element(after.begin(), after.end(),
                           [&](ActivityId a, ActivityId b) { return timeline.spans[a].end < timeline.spans[b].end; });
    if (timeline.spans[at].end <= begin) break;
  }
  std::vector<Limit> limits;
  for (const auto& [what, its] : seconds) {
    if (its > 0) limits.push_back({what, its / all});
  }
  std::sort(limits.begin(), limits.end(), [](const Limit& a, const Limit& b) { return a.share > b.share; });
  return limits;
}

// Activities are added step by step, each step after the one before.
std::vector<Phase> phases_of(const Work& work, const Timeline& timeline, const std::vector<Step>& steps) {
  std::vector<Phase> phases;
  std::size_t step = 0, first_of_step = 0;
  for (ActivityId at = 0; at < work.activities().size(); ++at) {
    if (step + 1 < steps.size() && at == steps[step + 1].computed) ++step, first_of_step = phases.size();
    const Timeline::Span& span = timeline.spans[at];
    if (!(span.end > span.begin)) continue;
    const std::string& name = work.activities()[at].name;
    const auto known = std::find_if(phases.begin() + static_cast<std::ptrdiff_t>(first_of_step), phases.end(),
                                    [&](const Phase& each) { return each.what == name; });
    if (known == phases.end()) {
      phases.push_back({name, static_cast<int>(step), span.begin, span.end});
    } else {
      known->begin = std::min(known->begin, span.begin);
      known->end = std::max(known->end, span.end);
    }
  }
  std::stable_sort(phases.begin(), phases.end(), [](const Phase& a, const Phase& b) { return a.begin < b.begin; });
  return phases;
}

}  // namespace

Outcome simulate(const Strategy& strategy, const Scenario& scenario, Executor executor) {
  const auto started = std::chrono::steady_clock::now();
  verify(strategy, scenario);
  const plan::Plan plan = strategy.plan(scenario);
  Work work;
  Site site(scenario, plan, work);
  const std::vector<Step> steps = add_steps(strategy, site);
  const Timeline timeline = executor == Executor::fluid ? run_fluid(work) : run_bound(work);

  Outcome outcome{.strategy = std::string(strategy.name()), .bytes = plan.bytes};
  outcome.files = scenario.to_io_nodes || scenario.to_stagers ? 0 : strategy.files(site);
  for (const Step& step : steps) {
    const double begin = timeline.spans[step.computed].end;
    outcome.blocked_seconds += (timeline.spans[step.ends.released].end - begin) / scenario.steps;
    outcome.staged_seconds += (timeline.spans[step.ends.staged].end - begin) / scenario.steps;
    outcome.durable_seconds += (timeline.spans[step.ends.durable].end - begin) / scenario.steps;
  }
  outcome.total_seconds = timeline.end();
  outcome.limits = limits_of(work, timeline, steps.back());
  outcome.phases = phases_of(work, timeline, steps);
  if (strategy.executes_the_plan()) {
    outcome.aggregators = plan.choice.best().aggregators;
    outcome.planned_seconds = plan.choice.best().cost.total;
  }
  outcome.cost_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return outcome;
}

}  // namespace glean::simulate
