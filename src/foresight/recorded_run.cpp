// SPDX-License-Identifier: BSD-3-Clause
#include "foresight/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace glean::foresight {
namespace {

using nlohmann::json;

base::Error wrong_report(const std::string& what, const std::string& hint) { return {base::Errc::invalid_argument, what, hint}; }

double time_of(const json& event) { return event.is_null() ? -1 : event.get<double>(); }

void read_drain(const json& drain, RecordedRun& run) {
  run.drain_threads = drain.at("threads");
  run.drain_busy_seconds = drain.at("busy_seconds");
  run.drain_cpu_seconds = drain.at("cpu_seconds");
  for (const json& each : drain.at("requests")) {
    run.requests += each.at("count").get<double>();
    run.request_bytes += each.at("bytes").get<double>();
    if (each.at("kind") == "buffered") run.requests_of_partial_blocks += each.at("count").get<double>();
  }
  for (const json& each : drain.at("intervals")) run.drained.push_back({each.at(0), each.at(1)});
}

void read_outputs(const json& report, RecordedRun& run) {
  for (const json& each : report.at("outputs")) {
    run.outputs.push_back({.path = each.at("path"),
                           .state = each.at("state"),
                           .bytes = each.at("bytes"),
                           .steps = each.at("steps"),
                           .begin = time_of(each.at("first_capture_s")),
                           .last = time_of(each.at("last_capture_s")),
                           .durable = time_of(each.at("durable_s"))});
    run.planned_request_bytes = std::max<Bytes>(run.planned_request_bytes, each.at("request_bytes"));
    run.aggregators = std::max<int>(run.aggregators, each.at("aggregators_per_group"));
  }
  for (const json& each : report.at("passthrough")) {
    run.outputs.push_back({.path = each.at("path"), .state = each.at("mode"), .bytes = each.at("bytes")});
  }
  std::map<std::string, std::int64_t> variables;
  for (const json& each : report.at("datasets")) {
    run.variables_of_a_file = std::max(run.variables_of_a_file, ++variables[each.at("path")]);
  }
}

RecordedRun read(const json& report) {
  RecordedRun run;
  run.ranks = report.at("ranks");
  run.nodes = report.at("nodes");
  run.mode = report.at("mode");
  run.run_seconds = report.at("run_seconds");
  run.setup_seconds = report.at("setup_seconds");
  run.blocked_seconds = report.at("blocked_seconds").at("max");
  run.closing_seconds = report.at("closing_seconds");
  run.observed_rate = report.at("observed_bytes_per_second");
  run.raw_rate = report.at("raw_bytes_per_second");
  run.captured_bytes = report.at("captured_bytes");
  run.puts = report.at("puts");
  run.puts_of_boxes = report.at("puts_of_boxes");
  run.pool_bytes = report.at("pool").at("budget_bytes");
  run.pool_high_water_bytes = report.at("pool").at("high_water_bytes");
  for (const json& each : report.at("steps")) {
    run.steps.push_back({each.at("end_s"), each.at("blocked_seconds"), each.at("captured_bytes")});
  }
  read_drain(report.at("drain"), run);
  read_outputs(report, run);
  return run;
}

std::vector<std::string> problems_of(const RecordedRun& run) {
  constexpr std::int64_t ranks_most = std::int64_t{1} << 30, steps_most = std::int64_t{1} << 30;
  constexpr double bytes_most = 1e18;
  std::vector<std::string> problems;
  if (run.ranks > ranks_most) problems.push_back(fmt::format("{} ranks, of {} at most", run.ranks, ranks_most));
  constexpr int nodes_most = 1 << 20;   // its own machine is simulated node by node
  if (run.nodes > nodes_most) problems.push_back(fmt::format("{} nodes, of {} at most", run.nodes, nodes_most));
  for (const RecordedRun::Output& each : run.outputs) {
    if (each.steps >= 0 && each.steps <= steps_most && each.bytes >= 0 && each.bytes <= bytes_most) continue;
    problems.push_back(fmt::format("'{}' has {} steps of {} bytes together", each.path, each.steps, each.bytes));
  }
  if (!(run.captured_bytes >= 0 && run.captured_bytes <= bytes_most)) problems.push_back(fmt::format("{} bytes", run.captured_bytes));
  if (!problems.empty()) return problems;
  if (run.ranks < 1) problems.push_back(fmt::format("{} ranks", run.ranks));
  if (run.nodes < 1 || run.nodes > run.ranks) problems.push_back(fmt::format("{} ranks on {} nodes", run.ranks, run.nodes));
  if (!(run.run_seconds > 0)) problems.push_back(fmt::format("it took {} s", run.run_seconds));
  if (!(run.blocked_seconds >= 0)) problems.push_back(fmt::format("it was blocked for {} s", run.blocked_seconds));
  if (!(run.step_bytes() * static_cast<double>(run.step_count()) >= 1)) problems.emplace_back("it wrote nothing");
  return problems;
}

}  // namespace

std::int64_t RecordedRun::step_count() const {
  if (!steps.empty()) return static_cast<std::int64_t>(steps.size());
  std::int64_t count = 0;
  for (const Output& each : outputs) count += std::max<std::int64_t>(1, each.steps);
  return std::max<std::int64_t>(1, count);
}

double RecordedRun::step_bytes() const {
  double bytes = 0;
  for (const Output& each : outputs) bytes += each.bytes;
  return std::max(bytes, captured_bytes) / static_cast<double>(step_count());
}

double RecordedRun::compute_seconds() const {
  return std::max(0.0, run_seconds - setup_seconds - blocked_seconds) / static_cast<double>(step_count());
}

int RecordedRun::ranks_per_node() const { return static_cast<int>((ranks + nodes - 1) / nodes); }

std::int64_t RecordedRun::variables() const {
  if (variables_of_a_file > 0) return std::min<std::int64_t>(variables_of_a_file, 1000);
  const double puts_each = static_cast<double>(puts) / static_cast<double>(ranks * step_count());
  return std::clamp<std::int64_t>(std::llround(puts_each), 1, 1000);
}

plan::Pattern RecordedRun::pattern() const {
  if (puts_of_boxes * 2 > puts) return plan::Pattern::s3d;
  return variables() > 1 ? plan::Pattern::flash : plan::Pattern::contiguous;
}

double RecordedRun::blocked_share() const { return run_seconds > 0 ? blocked_seconds / run_seconds : 0; }

std::string_view verdict_of(double share) {
  return share < 0.05 ? "fine" : share < 0.15 ? "acceptable" : share < 0.3 ? "worth tuning" : "tune this";
}

RecordedRun run_from_report(std::string_view text, const std::string& origin) {
  const json report = json::parse(text, nullptr, false);
  if (report.is_discarded() || !report.is_object()) {
    throw wrong_report(fmt::format("'{}' is no report: it is not a JSON object", origin), "report.file = \"…\" makes a session write one");
  }
  const std::string schema = report.contains("schema") && report["schema"].is_string() ? report["schema"].get<std::string>() : "";
  if (schema != "glean-report-1") {
    throw wrong_report(schema.empty() ? fmt::format("'{}' is no report of GLEAN: it has no schema", origin)
                                      : fmt::format("'{}' has the schema '{}'; this version reads glean-report-1", origin, schema),
                       "read it with the version that has written it, or run again");
  }
  for (const char* each : {"nodes", "mode", "steps", "puts_of_boxes"}) {
    if (report.contains(each)) continue;
    throw wrong_report(fmt::format("'{}' was written by an older version: it does not have '{}'", origin, each),
                       "run again with this version");
  }
  RecordedRun run;
  try {
    run = read(report);
  } catch (const json::exception& error) {
    throw wrong_report(fmt::format("'{}' is damaged: {}", origin, error.what()), "docs/report.md says what a report has");
  }
  const std::vector<std::string> problems = problems_of(run);
  if (!problems.empty()) {
    throw wrong_report(fmt::format("nothing can be foretold from '{}': {}", origin, problems.front()), "it needs a run that has written");
  }
  return run;
}

RecordedRun load_run(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const base::Error why = base::system_error(errno == 0 ? ENOENT : errno, "cannot read the report '" + path + "'");
    throw base::Error(why.code(), why.what(), "a session writes one where report.file, or GLEAN_REPORT_FILE, says");
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return run_from_report(text, path);
}

topology::Machine machine_of(const RecordedRun& run) {
  topology::Machine machine{.name = std::string(own_machine), .description = "as the run has met it"};
  machine.node.cores = run.ranks_per_node();
  machine.network = topology::FatTree{.nodes = run.nodes, .levels = {{.down = run.nodes}}};
  machine.way_out.nodes_per_group = 1;
  const double seconds_of_puts = run.blocked_seconds - run.closing_seconds;
  if (run.captured_bytes > 0 && seconds_of_puts > 0) {
    machine.node.copy_bytes_per_second = run.captured_bytes / static_cast<double>(run.ranks) / seconds_of_puts;
  }
  const double drained = run.drain_busy_seconds > 0 ? run.request_bytes / run.drain_busy_seconds : 0;
  machine.file_system = {.name = "", .block_bytes = 4096, .bytes_per_second = std::max(drained, run.raw_rate)};
  return machine;
}

}  // namespace glean::foresight
