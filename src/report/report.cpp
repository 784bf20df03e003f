// SPDX-License-Identifier: BSD-3-Clause
#include "report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace glean::report {
namespace {

using nlohmann::ordered_json;

double of_slowest(const std::vector<RankFigures>& ranks, std::uint64_t RankFigures::*time) {
  std::uint64_t slowest = 0;
  for (const auto& rank : ranks) slowest = std::max(slowest, rank.*time);
  return base::seconds(slowest);
}

double ratio(double value, double by) { return by > 0 ? value / by : 0; }

std::string size_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

ordered_json outputs_json(const Report& report) {
  const auto time = [&](std::uint64_t ns) {
    return ns == 0 ? ordered_json(nullptr) : ordered_json(base::seconds(ns - report.begin_ns));
  };
  ordered_json outputs = ordered_json::array();
  for (const auto& output : report.drain.outputs) {
    ordered_json copies = ordered_json::array();
    for (const auto& copy : output.copies) {
      copies.push_back({{"path", copy.path},
                        {"seconds", copy.seconds},
                        {"error", copy.error.empty() ? ordered_json() : ordered_json(copy.error)}});
    }
    ordered_json analyses = ordered_json::array();
    for (const auto& analysis : output.analyses) {
      analyses.push_back({{"name", analysis.name},
                          {"steps", analysis.steps},
                          {"steps_left_out", analysis.steps_left_out},
                          {"why", analysis.why.empty() ? ordered_json() : ordered_json(analysis.why)}});
    }
    outputs.push_back({{"path", output.path},
                       {"state", output.state},
                       {"bytes", output.bytes},
                       {"aggregators_per_group", output.aggregators},
                       {"request_bytes", output.request_bytes},
                       {"steps", output.steps},
                       {"steps_dropped", output.steps_dropped},
                       {"checksums", output.checksums},
                       {"copies", copies},
                       {"analyses", analyses},
                       {"range_errors", output.range_errors},
                       {"first_capture_s", time(output.first_capture_ns)},
                       {"last_capture_s", time(output.last_capture_ns)},
                       {"written_s", time(output.written_ns)},
                       {"durable_s", time(output.durable_ns)}});
  }
  return outputs;
}

ordered_json tuning_json(const Report& report) {
  const auto setup = [](const plan::Tuner::Setup& one) {
    return ordered_json{{"aggregators_per_group", one.aggregators}, {"request_bytes", one.request_bytes}};
  };
  ordered_json changes = ordered_json::array();
  for (const auto& change : report.tuning) {
    changes.push_back({{"path", change.file}, {"from", setup(change.from)}, {"to", setup(change.to)}, {"why", change.why}});
  }
  return changes;
}

ordered_json drain_json(const Report& report) {
  const auto& drain = report.drain;
  ordered_json sizes = ordered_json::array();
  for (int i = 0; i < drain::DrainTrace::size_classes; ++i) {
    const bool last = i + 1 == drain::DrainTrace::size_classes;
    sizes.push_back({{"up_to_bytes", last ? ordered_json(nullptr) : ordered_json(drain::DrainTrace::class_limit(i))},
                     {"count", drain.request_sizes[static_cast<std::size_t>(i)]}});
  }
  ordered_json intervals = ordered_json::array();
  for (const auto& interval : drain.intervals) {
    intervals.push_back({base::seconds(interval.begin_ns - report.begin_ns), base::seconds(interval.end_ns - report.begin_ns)});
  }
  return {{"threads", drain.threads},
          {"io_uring", drain.io_uring},
          {"busy_seconds", base::seconds(drain.busy_ns)},
          {"cpu_seconds", base::seconds(drain.cpu_ns)},
          {"requests",
           {{{"kind", "direct"}, {"count", drain.requests.direct_requests}, {"bytes", drain.requests.direct_bytes}},
            {{"kind", "buffered"}, {"count", drain.requests.buffered_requests}, {"bytes", drain.requests.buffered_bytes}}}},
          {"from_pool_bytes", drain.from_pool_bytes},
          {"request_sizes", sizes},
          {"intervals", intervals}};
}

// Every rank begins every step, so each knows of all that were dropped.
std::uint64_t steps_dropped(const Report& report) {
  std::uint64_t dropped = 0;
  for (const auto& rank : report.ranks) dropped = std::max(dropped, rank.steps_dropped);
  return dropped;
}

ordered_json full_pool_json(const Report& report) {
  const auto full_pool = report.full_pool();
  const auto waits = [](const pool::Recorder::Waits& of) {
    return ordered_json{{"times", of.times}, {"seconds", base::seconds(of.ns)}};
  };
  return {{"waited", {{"pool", waits(full_pool.waited.pool)}, {"journal", waits(full_pool.waited.journal)}}},
          {"spilled",
           {{"pieces", full_pool.spilled_pieces},
            {"bytes", full_pool.spilled_bytes},
            {"high_water_bytes", report.spill_high_water_bytes},
            {"budget_bytes", report.spill_budget_bytes}}},
          {"synchronous", {{"puts", full_pool.synchronous_puts}, {"bytes", full_pool.synchronous_bytes}}},
          {"steps_dropped", steps_dropped(report)}};
}

ordered_json steps_json(const Report& report) {
  ordered_json steps = ordered_json::array();
  for (const StepFigures& step : report.steps) {
    steps.push_back({{"end_s", step.end_seconds}, {"blocked_seconds", step.blocked_seconds}, {"captured_bytes", step.captured_bytes}});
  }
  return steps;
}

ordered_json calls_json(const Report& report) {
  ordered_json calls = ordered_json::array();
  for (const auto& call : report.calls) {
    calls.push_back({{"name", call.name}, {"captured", call.captured}, {"passed_through", call.passed_through}});
  }
  return calls;
}

ordered_json datasets_json(const Report& report) {
  ordered_json datasets = ordered_json::array();
  for (const auto& one : report.datasets) {
    datasets.push_back({{"path", one.path}, {"name", one.name}, {"type", one.type}, {"shape", one.shape}, {"puts", one.puts},
                        {"bytes", one.bytes}});
  }
  return datasets;
}

// "12 MPI_File_read_at, 3 MPI_File_open"
std::string calls_text(const Report& report, std::uint64_t CallFigures::*which) {
  std::vector<std::string> parts;
  for (const auto& call : report.calls) {
    if (call.*which != 0) parts.push_back(fmt::format("{} {}", call.*which, call.name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// What was needed of it.
std::string full_pool_text(const Report& report) {
  const auto full_pool = report.full_pool();
  std::vector<std::string> parts;
  const auto waits = [&](const pool::Recorder::Waits& of, const char* what) {
    if (of.times != 0) parts.push_back(fmt::format("{} waits for {}, {:.3f} s", of.times, what, base::seconds(of.ns)));
  };
  waits(full_pool.waited.pool, "room in it");
  waits(full_pool.waited.journal, "room in its journal");
  if (full_pool.spilled_bytes != 0) {
    parts.push_back(fmt::format("{} spilled, at most {} at a time", size_text(static_cast<double>(full_pool.spilled_bytes)),
                                size_text(static_cast<double>(report.spill_high_water_bytes))));
  }
  if (full_pool.synchronous_bytes != 0) {
    parts.push_back(fmt::format("{} written synchronously", size_text(static_cast<double>(full_pool.synchronous_bytes))));
  }
  if (const auto dropped = steps_dropped(report); dropped != 0) parts.push_back(fmt::format("{} steps dropped", dropped));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// null where the end is not known.
ordered_json end_of_job_json(const Report& report) {
  const auto& end = report.drain.end_of_job;
  if (end.end_realtime_ns == 0) return nullptr;
  const auto time = [&](std::uint64_t ns) {
    return ns == 0 ? ordered_json(nullptr) : ordered_json(base::seconds(ns - report.begin_ns));
  };
  ordered_json worst = nullptr;
  if (end.worst.at_ns != 0) {
    const auto number = [](std::optional<double> value) { return value ? ordered_json(*value) : ordered_json(nullptr); };
    worst = {{"at_s", time(end.worst.at_ns)},
             {"seconds_left", end.worst.seconds_left},
             {"waiting_bytes", end.worst.waiting_bytes},
             {"bytes_per_second", number(end.worst.bytes_per_second)},
             {"needed_seconds", number(end.worst.needed_seconds())},
             {"lost_bytes", end.worst.lost_bytes()}};
  }
  return {{"end_s", base::seconds(end.end_realtime_ns) - report.begin_realtime_seconds},
          {"boost_s", time(end.boosted_ns)},
          {"added_threads", end.added_threads},
          {"warnings", end.warnings},
          {"worst", worst}};
}

// How it stood when the session ended, and at the worst moment.
std::string end_of_job_text(const Report& report) {
  const auto& end = report.drain.end_of_job;
  const double left = base::seconds(end.end_realtime_ns) - report.begin_realtime_seconds - report.run_seconds;
  std::string text = fmt::format("{:.0f} s {} the session", std::abs(left), left < 0 ? "before the end of" : "after");
  if (end.boosted_ns != 0) {
    text += fmt::format(", deadline boost for {:.1f} s", report.run_seconds - base::seconds(end.boosted_ns - report.begin_ns));
  }
  if (end.worst.lost_bytes() != 0) {
    text += fmt::format(", {} at risk {:.0f} s before it", size_text(static_cast<double>(end.worst.lost_bytes())),
                        end.worst.seconds_left);
  }
  return text;
}

}  // namespace

double Report::blocked_seconds() const { return of_slowest(ranks, &RankFigures::blocked_ns); }
double Report::closing_seconds() const { return of_slowest(ranks, &RankFigures::closing_ns); }
double Report::setup_seconds() const { return of_slowest(ranks, &RankFigures::setup_ns); }

Bytes Report::captured_bytes() const {
  Bytes bytes = 0;
  for (const auto& rank : ranks) bytes += rank.captured_bytes;
  return bytes;
}

capture::FullPoolPolicy::Figures Report::full_pool() const {
  capture::FullPoolPolicy::Figures sum;
  for (const auto& rank : ranks) {
    sum.waited.pool += rank.full_pool.waited.pool;
    sum.waited.journal += rank.full_pool.waited.journal;
    sum.spilled_pieces += rank.full_pool.spilled_pieces;
    sum.spilled_bytes += rank.full_pool.spilled_bytes;
    sum.synchronous_puts += rank.full_pool.synchronous_puts;
    sum.synchronous_bytes += rank.full_pool.synchronous_bytes;
  }
  return sum;
}

double Report::observed_bytes_per_second() const {
  return ratio(static_cast<double>(captured_bytes()), blocked_seconds());
}

namespace {

// Of the outputs that have come to an end, which of no other is 0, from their first capture on.
template <class End>
double bytes_per_second(const std::vector<drain::OutputTrace>& outputs, End end_ns) {
  struct Span { std::uint64_t begin, end; };
  std::vector<Span> spans;
  Bytes bytes = 0;
  for (const auto& output : outputs) {
    if (end_ns(output) == 0 || output.first_capture_ns == 0) continue;
    spans.push_back({output.first_capture_ns, end_ns(output)});
    bytes += output.bytes;
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::uint64_t covered = 0, reached = 0;
  for (const auto& span : spans) {
    const std::uint64_t begin = std::max(span.begin, reached);
    if (span.end > begin) covered += span.end - begin;
    reached = std::max(reached, span.end);
  }
  return ratio(static_cast<double>(bytes), base::seconds(covered));
}

}  // namespace

double Report::raw_bytes_per_second() const {
  return bytes_per_second(drain.outputs, [](const drain::OutputTrace& output) { return output.durable_ns; });
}

double Report::staging_bytes_per_second() const {
  return bytes_per_second(drain.outputs, [](const drain::OutputTrace& output) { return output.state == "staged" ? output.written_ns : 0; });
}

std::string to_json(const Report& report) {
  ordered_json per_rank = ordered_json::array();
  std::uint64_t puts = 0, puts_of_boxes = 0;
  for (const auto& rank : report.ranks) {
    per_rank.push_back(base::seconds(rank.blocked_ns));
    puts += rank.puts;
    puts_of_boxes += rank.puts_of_boxes;
  }
  ordered_json passthrough = ordered_json::array();
  for (const auto& output : report.passthrough) {
    passthrough.push_back({{"path", output.path}, {"mode", output.mode}, {"bytes", output.bytes}, {"seconds", output.seconds}});
  }
  const ordered_json json = {
      {"schema", "glean-report-1"},
      {"ranks", report.ranks.size()},
      {"nodes", report.nodes},
      {"mode", report.mode},
      {"run_seconds", report.run_seconds},
      {"epoch_realtime_s", report.begin_realtime_seconds},
      {"setup_seconds", report.setup_seconds()},
      {"closing_seconds", report.closing_seconds()},
      {"blocked_seconds", {{"max", report.blocked_seconds()}, {"per_rank", per_rank}}},
      {"puts", puts},
      {"puts_of_boxes", puts_of_boxes},
      {"captured_bytes", report.captured_bytes()},
      {"observed_bytes_per_second", report.observed_bytes_per_second()},
      {"raw_bytes_per_second", report.raw_bytes_per_second()},
      {"staging_bytes_per_second", report.staging_bytes_per_second()},
      {"pool",
       {{"budget_bytes", report.plan.pool_bytes},
        {"high_water_bytes", report.pool_high_water_bytes},
        {"chunk_bytes", report.plan.chunk_bytes}}},
      {"full_pool", full_pool_json(report)},
      {"drain", drain_json(report)},
      {"end_of_job", end_of_job_json(report)},
      {"outputs", outputs_json(report)},
      {"tuning", tuning_json(report)},
      {"passthrough", passthrough},
      {"steps", steps_json(report)},
      {"calls", calls_json(report)},
      {"datasets", datasets_json(report)},
      {"gathered", {{"files", report.gathered.files}, {"bytes", report.gathered.bytes}, {"containers", report.gathered.containers}}}};
  // Paths need not be UTF-8.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string to_table(const Report& report) {
  std::string text = "GLEAN report\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<26} {}\n", name, value);
  };
  const double blocked = report.blocked_seconds();
  const double share = 100 * ratio(blocked, report.run_seconds);
  line("ranks", std::to_string(report.ranks.size()));
  // Seed 002: below 5 % there is nothing to tune, above 15 % one should, above 30 % one must.
  const char* verdict = share < 5 ? "fine" : share < 15 ? "acceptable" : share < 30 ? "worth tuning" : "tune this";
  line("blocked time", fmt::format("{:.3f} s of {:.1f} s ({:.1f} %: {})", blocked, report.run_seconds, share, verdict));
  line("of it closing", fmt::format("{:.3f} s", report.closing_seconds()));
  line("captured", size_text(static_cast<double>(report.captured_bytes())));
  line("observed throughput", size_text(report.observed_bytes_per_second()) + "/s");
  const double staging = report.staging_bytes_per_second();   // then the stagers are not done
  if (staging != 0) line("throughput to stagers", size_text(staging) + "/s");
  else line("raw throughput", size_text(report.raw_bytes_per_second()) + "/s");
  line("pool high-water mark", size_text(static_cast<double>(report.pool_high_water_bytes)) + " of " +
                                   size_text(static_cast<double>(report.plan.pool_bytes)));
  if (const std::string full = full_pool_text(report); !full.empty()) line("when it was full", full);
  const auto& requests = report.drain.requests;
  const auto mean = [](std::uint64_t bytes, std::uint64_t count) {
    return size_text(ratio(static_cast<double>(bytes), static_cast<double>(count)));
  };
  line("requests, whole blocks", fmt::format("{} of {} on average{}", requests.direct_requests,
                                             mean(requests.direct_bytes, requests.direct_requests),
                                             report.drain.io_uring ? ", io_uring" : ""));
  line("requests, page cache", fmt::format("{} of {} on average", requests.buffered_requests,
                                           mean(requests.buffered_bytes, requests.buffered_requests)));
  line("drain", fmt::format("{} thread(s), busy {:.2f} s, {:.2f} s of processor", report.drain.threads,
                            base::seconds(report.drain.busy_ns), base::seconds(report.drain.cpu_ns)));
  if (report.drain.end_of_job.end_realtime_ns != 0) line("end of the job", end_of_job_text(report));
  if (!report.tuning.empty()) {
    const plan::Tuner::Change& last = report.tuning.back();
    line("tuned", fmt::format("{} times, last for '{}': {} aggregator(s) per group, requests of {}: {}", report.tuning.size(), last.file,
                              last.to.aggregators, size_text(static_cast<double>(last.to.request_bytes)), last.why));
  }
  for (const char* state : {"published", "staged", "removed", "failed", "abandoned", "dropped"}) {
    const auto count = std::count_if(report.drain.outputs.begin(), report.drain.outputs.end(),
                                     [&](const auto& output) { return output.state == state; });
    if (count != 0) line(std::string("outputs ") + state, std::to_string(count));
  }
  const auto without_sums = std::count_if(report.drain.outputs.begin(), report.drain.outputs.end(),
                                          [](const auto& output) { return output.checksums == "failed"; });
  if (without_sums != 0) line("checksums not recorded", fmt::format("of {} outputs", without_sums));
  for (const auto& [mode, label] : {std::pair{"passthrough", "outputs passed through"}, {"collective", "outputs written collectively"}}) {
    const auto count = std::count_if(report.passthrough.begin(), report.passthrough.end(),
                                     [&, mode = mode](const auto& output) { return output.mode == mode; });
    if (count != 0) line(label, std::to_string(count));
  }
  if (const std::string calls = calls_text(report, &CallFigures::captured); !calls.empty()) line("calls captured", calls);
  if (!report.datasets.empty()) line("datasets", std::to_string(report.datasets.size()));
  const GatheredFigures& gathered = report.gathered;
  if (gathered.files != 0) {
    line("files gathered", fmt::format("{}, {}, in {} container{}", gathered.files, base::readable_bytes(gathered.bytes),
                                       gathered.containers, gathered.containers == 1 ? "" : "s"));
  }
  if (const std::string calls = calls_text(report, &CallFigures::passed_through); !calls.empty()) line("passed through", calls);
  return text;
}

}  // namespace glean::report
