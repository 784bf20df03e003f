// SPDX-License-Identifier: BSD-3-Clause
#include "foresight/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/units.hpp"
#include "foresight/page.hpp"
#include "plan/explain.hpp"

namespace glean::foresight {
namespace {

std::string limits_of(const simulate::Outcome& outcome) {
  std::vector<std::string> parts;
  for (const simulate::Limit& limit : outcome.limits) {
    if (parts.size() == 2 || (parts.size() == 1 && limit.share < 0.2)) break;
    parts.push_back(fmt::format("{} {:.0f} %", limit.what, limit.share * 100));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string gain(double ratio) { return ratio > 100 ? fmt::format("{:.0f} x", ratio) : fmt::format("{:.3g} x", ratio); }

}  // namespace

std::string readable_time(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 600) return fmt::format("{:.3g} s", seconds);
  const auto minutes = static_cast<std::int64_t>(std::llround(seconds / 60));
  return minutes < 60 ? fmt::format("{} min", minutes) : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string readable_rate(double bytes_per_second) { return bytes_per_second > 0 ? base::readable_rate(bytes_per_second) : "-"; }
std::string readable_size(double bytes) { return base::readable_bytes(static_cast<Bytes>(std::max(0.0, bytes))); }

std::vector<std::pair<std::string, std::string>> summary_of(const RecordedRun& run) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"ranks", fmt::format("{} on {} node{}, mode {}", run.ranks, run.nodes, run.nodes == 1 ? "" : "s", run.mode)},
      {"run time", readable_time(run.run_seconds)},
      {"blocked", fmt::format("{} of the slowest rank, {:.1f} % of the run: {}", readable_time(run.blocked_seconds),
                              100 * run.blocked_share(), verdict_of(run.blocked_share()))},
      {"of it closing", readable_time(run.closing_seconds)},
      {"steps", fmt::format("{} of {} on average, {} between them", run.step_count(), readable_size(run.step_bytes()),
                            readable_time(run.compute_seconds()))},
      {"a step is", fmt::format("{} variable{}, {}", run.variables(), run.variables() == 1 ? "" : "s", plan::name_of(run.pattern()))},
      {"observed throughput", readable_rate(run.observed_rate)},
      {"raw throughput", readable_rate(run.raw_rate)}};
  if (run.pool_bytes > 0) {
    rows.emplace_back("pool", fmt::format("at most {} of {}", readable_size(run.pool_high_water_bytes), readable_size(run.pool_bytes)));
  }
  if (run.requests > 0) {
    rows.emplace_back("requests", fmt::format("{:.0f} of {} on average, {:.0f} of them not whole blocks", run.requests,
                                              readable_size(run.request_bytes / run.requests), run.requests_of_partial_blocks));
    rows.emplace_back("drain", fmt::format("{} thread{}, busy {}, {} of processor", run.drain_threads, run.drain_threads == 1 ? "" : "s",
                                           readable_time(run.drain_busy_seconds), readable_time(run.drain_cpu_seconds)));
  }
  return rows;
}

std::vector<Row> modes_table(const Forecast& forecast) {
  std::vector<Row> rows = {{"mode", "simulated as", "blocked", "durable", "of the run", "speed-up", "waits for"}};
  for (const ModeForecast& each : forecast.modes) {
    if (!each.outcome) continue;
    const double blocked = each.outcome->blocked_seconds, period = blocked + forecast.scenario.compute_seconds;
    rows.push_back({each.mode, each.strategy, readable_time(blocked), readable_time(each.outcome->durable_seconds),
                    fmt::format("{:.2g} %", period > 0 ? 100 * blocked / period : 0.0),
                    each.production_speedup > 0 ? fmt::format("{:.3f}", each.production_speedup) : "-", limits_of(*each.outcome)});
  }
  return rows;
}

std::vector<Row> trials_table(const std::vector<Trial>& trials, const char* what) {
  std::vector<Row> rows = {{what, "blocked", "staged", "durable", "waits for"}};
  for (const Trial& each : trials) {
    rows.push_back({fmt::format("{}", each.value), readable_time(each.outcome.blocked_seconds), readable_time(each.outcome.staged_seconds),
                    readable_time(each.outcome.durable_seconds), limits_of(each.outcome)});
  }
  return rows;
}

std::vector<Row> advice_table(const std::vector<Advice>& advice) {
  std::vector<Row> rows = {{"what", "now", "better", "blocked", "durable"}};
  const auto change = [](double now, double then, double ratio) {
    return ratio > 0.995 && ratio < 1.005 ? readable_time(now) + ", the same"
                                          : fmt::format("{} to {} ({})", readable_time(now), readable_time(then), gain(ratio));
  };
  for (const Advice& each : advice) {
    if (!each.makes_a_difference) continue;
    rows.push_back({each.subject, each.now, each.then, change(each.blocked_now, each.blocked_then, each.blocked_gain()),
                    change(each.durable_now, each.durable_then, each.durable_gain())});
  }
  return rows;
}

std::string rest_of(const std::vector<Advice>& advice) {
  std::vector<std::string> subjects;
  for (const Advice& each : advice) {
    if (!each.makes_a_difference) subjects.push_back(each.subject);
  }
  return fmt::format("{}", fmt::join(subjects, ", "));
}

std::string title_of(const Forecast& forecast) {
  const simulate::Scenario& scenario = forecast.scenario;
  return fmt::format("{}: {} ranks on {} node{}, {} a step ({}, {} variable{}), {} between steps", scenario.machine.name,
                     scenario.ranks(), scenario.placement.nodes(), scenario.placement.nodes() == 1 ? "" : "s",
                     base::readable_bytes(scenario.step_bytes()), plan::name_of(scenario.request.pattern), scenario.request.variables,
                     scenario.request.variables == 1 ? "" : "s", readable_time(scenario.compute_seconds));
}

std::string stagers_answer(const Forecast& forecast) {
  if (forecast.stagers.empty()) return "stagers: this machine cannot have any";
  if (forecast.best_stagers > 0) {
    return fmt::format("stagers: {} {} enough: each step is durable before the next, and more would not shorten the wait",
                       forecast.best_stagers, forecast.best_stagers == 1 ? "is" : "are");
  }
  return fmt::format("stagers: with {} and fewer a step is not durable before the next", forecast.stagers.back().value);
}

std::string stripes_answer(const Forecast& forecast) {
  if (forecast.stripes.empty()) return "stripes: the file system has one target, as far as the machine file says";
  const auto best = std::find_if(forecast.stripes.begin(), forecast.stripes.end(),
                                 [&](const Trial& each) { return each.value == forecast.best_stripes; });
  return fmt::format("stripes: {} for a file: durable after {}; with 1 it takes {}", forecast.best_stripes,
                     readable_time(best->outcome.durable_seconds), readable_time(forecast.stripes.front().outcome.durable_seconds));
}

}  // namespace glean::foresight
