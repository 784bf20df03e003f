// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <sstream>

#include "run.hpp"

namespace nekcem {

namespace {

template <class... Values>
std::string line(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string array(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += line("%s%.6g", text.empty() ? "[" : ", ", value);
  return text.empty() ? "[]" : text + "]";
}

const char* word(bool value) { return value ? "true" : "false"; }

}  // namespace

std::string describe(const Outcome& outcome, const Summary& summary, const Options& options) {
  std::string text = line("%d steps to t = %.5f: error %.2e (allowed %.2e), energy changed by %.1e: %s\n", options.steps, outcome.time,
                          outcome.error, outcome.allowed, outcome.energy_change,
                          outcome.passed() ? "as exact as it should be" : "NOT AS EXACT AS IT SHOULD BE");
  text += line("%.3f s, %.2f ms per step", outcome.loop_seconds, summary.step_seconds * 1e3);
  if (outcome.outputs == 0) return text + "\n";
  text += line("; %d outputs of %.1f MB through %s\n", outcome.outputs, outcome.output_bytes / 1e6, name_of(options.writer.way));
  text += line("blocked %.2f ms per output (X = %.2f steps), perceived %.1f MB/s", summary.blocked_seconds * 1e3, summary.steps_per_output,
               summary.perceived / 1e6);
  if (summary.raw > 0) text += line(", raw %.1f MB/s", summary.raw / 1e6);   // of GLEAN its own report knows
  if (summary.worker_blocked_seconds > 0) {
    text += line("\nranks that only send: blocked %.2f ms, perceived %.1f MB/s", summary.worker_blocked_seconds * 1e3,
                 summary.worker_perceived / 1e6);
  }
  if (summary.writer_lag_seconds != 0) {
    text += line("; ranks that write lag %.3f ms per step, jitter %.3f ms", summary.writer_lag_seconds * 1e3,
                 summary.writer_jitter_seconds * 1e3);
  }
  return text + "\n";
}

std::string to_json(const Outcome& outcome, const Summary& summary, const Options& options, const Mesh& mesh,
                    const std::vector<RankTimes>& ranks) {
  const Mesh::Box& box = mesh.box();
  std::ostringstream out;
  out << "{\"way\": \"" << name_of(options.writer.way) << "\", \"files\": " << options.writer.files
      << ", \"writers\": " << options.writer.groups << ", \"writers_compute\": " << word(options.writers == Writers::computing)
      << ", \"order\": " << box.order
      << line(", \"elements\": [%d, %d, %d], \"points\": %lld", box.elements[0], box.elements[1], box.elements[2],
              static_cast<long long>(mesh.elements()) * static_cast<long long>(mesh.points_per_element()))
      << ",\n \"steps\": " << options.steps << ", \"every\": " << options.every
      << line(", \"time\": %.17g, \"dt\": %.17g", outcome.time, outcome.dt)
      << line(", \"outputs\": %d, \"output_bytes\": %.0f", outcome.outputs, outcome.output_bytes)
      << line(",\n \"error\": %.6g, \"allowed_error\": %.6g, \"energy_change\": %.6g, \"passed\": %s", outcome.error, outcome.allowed,
              outcome.energy_change, word(outcome.passed()))
      << line(",\n \"loop_seconds\": %.6g, \"step_seconds\": %.6g, \"blocked_seconds\": %.6g", outcome.loop_seconds,
              summary.step_seconds, summary.blocked_seconds)
      << line(", \"perceived_bytes_per_second\": %.6g, \"raw_bytes_per_second\": %.6g", summary.perceived, summary.raw)
      << line(", \"worker_blocked_seconds\": %.6g, \"worker_perceived_bytes_per_second\": %.6g", summary.worker_blocked_seconds,
              summary.worker_perceived)
      << line(",\n \"writer_lag_seconds\": %.6g, \"writer_jitter_seconds\": %.6g,\n \"ranks\": [", summary.writer_lag_seconds,
              summary.writer_jitter_seconds);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankTimes& rank = ranks[i];
    out << (i == 0 ? "\n" : ",\n") << "  {\"rank\": " << i << ", \"elements\": " << mesh.runs()[i].size()
        << ", \"writes\": " << word(rank.writes_files) << ", \"steps\": " << array(rank.steps)
        << ", \"computed\": " << array(rank.computed) << ", \"blocked\": " << array(rank.blocked)
        << ", \"files\": " << array(rank.files) << "}";
  }
  out << "]}\n";
  return out.str();
}

}  // namespace nekcem
