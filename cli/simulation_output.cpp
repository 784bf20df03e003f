// SPDX-License-Identifier: BSD-3-Clause
#include "cli/simulation_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/units.hpp"
#include "plan/explain.hpp"

namespace glean::cli {
namespace {

using nlohmann::ordered_json;
using simulate::Outcome;
using simulate::Scenario;

std::string readable_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  return seconds < 1e-3 ? fmt::format("{:.3g} us", seconds * 1e6)
         : seconds < 1  ? fmt::format("{:.3g} ms", seconds * 1e3)
                        : fmt::format("{:.3g} s", seconds);
}

std::string readable_rate(double bytes_per_second) { return bytes_per_second > 0 ? base::readable_rate(bytes_per_second) : "-"; }

// The longest; the second, too, where it is a fifth at least.
std::string limits_of(const Outcome& outcome) {
  std::vector<std::string> parts;
  for (const simulate::Limit& limit : outcome.limits) {
    if (parts.size() == 2 || (parts.size() == 1 && limit.share < 0.2)) break;
    parts.push_back(fmt::format("{} {:.0f} %", limit.what, limit.share * 100));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string title_of(const SimulatedPoint& point) {
  const Scenario& scenario = point.scenario;
  std::string title = fmt::format("{}: {} ranks on {} nodes, {} a step ({}, {} variable{})", scenario.machine.name, scenario.ranks(),
                                  scenario.placement.nodes(), base::readable_bytes(scenario.step_bytes()),
                                  plan::name_of(scenario.request.pattern), scenario.request.variables,
                                  scenario.request.variables == 1 ? "" : "s");
  if (scenario.to_io_nodes) title += ", to the I/O nodes";
  if (scenario.to_stagers) title += ", to the stagers";
  if (!point.varied.empty()) title += fmt::format("; {} = {}", point.varied, point.value);
  return title;
}

using Row = std::array<std::string, 8>;

std::string table(const std::vector<Row>& rows) {
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i + 1 < row.size(); ++i) line += fmt::format("  {:>{}}", row[i], widths[i]);
    text += line + "  " + row.back() + '\n';
  }
  return text;
}

ordered_json to_json(const Outcome& outcome) {
  ordered_json json{{"strategy", outcome.strategy},
                    {"files", outcome.files},
                    {"aggregators_per_group", outcome.aggregators > 0 ? ordered_json(outcome.aggregators) : ordered_json()},
                    {"blocked_seconds", outcome.blocked_seconds},
                    {"staged_seconds", outcome.staged_seconds},
                    {"durable_seconds", outcome.durable_seconds},
                    {"total_seconds", outcome.total_seconds},
                    {"observed_bytes_per_second", outcome.observed_bytes_per_second()},
                    {"staged_bytes_per_second", outcome.staged_bytes_per_second()},
                    {"raw_bytes_per_second", outcome.raw_bytes_per_second()},
                    {"planned_seconds", outcome.planned_seconds > 0 ? ordered_json(outcome.planned_seconds) : ordered_json()},
                    {"limits", ordered_json::array()}};
  for (const simulate::Limit& limit : outcome.limits) json["limits"].push_back({{"what", limit.what}, {"share", limit.share}});
  return json;
}

}  // namespace

std::string to_text(const std::vector<SimulatedPoint>& points) {
  std::string text;
  for (const SimulatedPoint& point : points) {
    if (!text.empty()) text += '\n';
    text += title_of(point) + '\n';
    std::vector<Row> rows = {{"strategy", "blocked", "staged", "durable", "observed", "raw", "files", "waits for"}};
    for (const Outcome& each : point.outcomes) {
      rows.push_back({each.strategy, readable_seconds(each.blocked_seconds),
                      each.staged_seconds < each.durable_seconds ? readable_seconds(each.staged_seconds) : "-",
                      readable_seconds(each.durable_seconds), readable_rate(each.observed_bytes_per_second()),
                      readable_rate(each.raw_bytes_per_second()), each.files > 0 ? fmt::format("{:.0f}", each.files) : "-",
                      limits_of(each)});
    }
    text += table(rows);
    for (const std::string& each : point.left_out) text += fmt::format("left out: {}\n", each);
  }
  return text;
}

std::string to_csv(const std::vector<SimulatedPoint>& points) {
  std::string text =
      "machine,ranks,nodes,step_bytes,pattern,variables,varied,value,strategy,files,aggregators_per_group,blocked_seconds,staged_seconds,"
      "durable_seconds,total_seconds,observed_bytes_per_second,staged_bytes_per_second,raw_bytes_per_second,waits_for\n";
  for (const SimulatedPoint& point : points) {
    const Scenario& scenario = point.scenario;
    for (const Outcome& each : point.outcomes) {
      text += fmt::format("{},{},{},{},{},{},{},{},{},{:.0f},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{}\n",
                          scenario.machine.name, scenario.ranks(), scenario.placement.nodes(), each.bytes,
                          plan::name_of(scenario.request.pattern), scenario.request.variables, point.varied, point.value, each.strategy,
                          each.files, each.aggregators, each.blocked_seconds, each.staged_seconds, each.durable_seconds, each.total_seconds,
                          each.observed_bytes_per_second(), each.staged_bytes_per_second(), each.raw_bytes_per_second(),
                          each.limits.empty() ? "" : each.limits.front().what);
    }
  }
  return text;
}

ordered_json to_json(const std::vector<SimulatedPoint>& points) {
  ordered_json json = ordered_json::array();
  for (const SimulatedPoint& point : points) {
    const Scenario& scenario = point.scenario;
    json.push_back({{"machine", scenario.machine.name},
                    {"ranks", scenario.ranks()},
                    {"nodes", scenario.placement.nodes()},
                    {"step_bytes", scenario.step_bytes()},
                    {"pattern", plan::name_of(scenario.request.pattern)},
                    {"variables", scenario.request.variables},
                    {"to", scenario.to_io_nodes ? "io-nodes" : scenario.to_stagers ? "stagers" : "storage"},
                    {"steps", scenario.steps},
                    {"compute_seconds", scenario.compute_seconds},
                    {"varied", point.varied.empty() ? ordered_json() : ordered_json(point.varied)},
                    {"value", point.varied.empty() ? ordered_json() : ordered_json(point.value)},
                    {"outcomes", ordered_json::array()},
                    {"left_out", point.left_out}});
    for (const Outcome& each : point.outcomes) json.back()["outcomes"].push_back(to_json(each));
  }
  return json;
}

}  // namespace glean::cli
