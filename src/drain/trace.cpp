// SPDX-License-Identifier: BSD-3-Clause
#include "drain/trace.hpp"

#include <algorithm>

namespace glean::drain {
namespace {

void take_earlier(std::uint64_t& mine, std::uint64_t other) {
  if (other != 0 && (mine == 0 || other < mine)) mine = other;
}

void take_later(std::uint64_t& mine, std::uint64_t other) { mine = std::max(mine, other); }

void join(OutputTrace& mine, const OutputTrace& other) {
  if (mine.note.empty()) mine.note = other.note;
  mine.bytes += other.bytes;
  mine.range_errors += other.range_errors;
  take_earlier(mine.first_capture_ns, other.first_capture_ns);
  take_later(mine.last_capture_ns, other.last_capture_ns);
  take_later(mine.written_ns, other.written_ns);
  take_later(mine.durable_ns, other.durable_ns);
}

std::vector<DrainTrace::Interval> merged(std::vector<DrainTrace::Interval> all) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  std::vector<DrainTrace::Interval> result;
  for (const auto& interval : all) {
    if (result.empty() || interval.begin_ns > result.back().end_ns) result.push_back(interval);
    else take_later(result.back().end_ns, interval.end_ns);
  }
  return result;
}

}  // namespace

void DrainTrace::shift(std::int64_t ns) {
  const auto move = [ns](std::uint64_t& time) {
    if (time != 0) time += static_cast<std::uint64_t>(ns);
  };
  for (Interval& interval : intervals) {
    move(interval.begin_ns);
    move(interval.end_ns);
  }
  for (OutputTrace& output : outputs) {
    for (auto* time : {&output.first_capture_ns, &output.last_capture_ns, &output.written_ns, &output.durable_ns}) move(*time);
  }
  move(end_of_job.boosted_ns);
  move(end_of_job.worst.at_ns);
}

// They end in another order there, and there may be several of a name.
void DrainTrace::join_outputs(const std::vector<OutputTrace>& others) {
  std::vector<bool> taken(outputs.size());
  for (const OutputTrace& theirs : others) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (taken[i] || outputs[i].path != theirs.path) continue;
      taken[i] = true;
      join(outputs[i], theirs);
      break;
    }
  }
}

void DrainTrace::add_node(const DrainTrace& other, Wrote wrote) {
  threads = std::max(threads, other.threads);
  io_uring = io_uring && other.io_uring;
  take_later(busy_ns, other.busy_ns);
  cpu_ns += other.cpu_ns;
  requests += other.requests;
  from_pool_bytes += other.from_pool_bytes;
  for (std::size_t i = 0; i < request_sizes.size(); ++i) request_sizes[i] += other.request_sizes[i];
  intervals.insert(intervals.end(), other.intervals.begin(), other.intervals.end());
  intervals = merged(std::move(intervals));
  if (wrote == Wrote::other_files) {
    outputs.insert(outputs.end(), other.outputs.begin(), other.outputs.end());
  } else {
    join_outputs(other.outputs);
  }
  take_earlier(end_of_job.boosted_ns, other.end_of_job.boosted_ns);
  end_of_job.added_threads = std::max(end_of_job.added_threads, other.end_of_job.added_threads);
  end_of_job.warnings = std::max(end_of_job.warnings, other.end_of_job.warnings);
  if (other.end_of_job.worst.at_ns != 0 && other.end_of_job.worst.is_worse_than(end_of_job.worst)) {
    end_of_job.worst = other.end_of_job.worst;
  }
}

}  // namespace glean::drain
