// SPDX-License-Identifier: BSD-3-Clause
//
// A run, as its report tells it (docs/report.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "plan/request.hpp"
#include "topology/machine.hpp"

namespace glean::foresight {

using base::Bytes;

struct RecordedRun {
  struct Step {
    double end = 0, blocked = 0;         // seconds, since the begin of the run; blocked: of the slowest rank
    double bytes = 0;                    // captured, all ranks
  };
  struct Output {
    std::string path, state;
    double bytes = 0;
    std::int64_t steps = 1;
    double begin = -1, last = -1, durable = -1;   // first and last put, durable; -1: has not happened
  };
  struct Interval {
    double begin = 0, end = 0;
  };

  std::int64_t ranks = 1;
  int nodes = 1;
  std::string mode;                      // "threaded", …
  double run_seconds = 0, setup_seconds = 0, blocked_seconds = 0, closing_seconds = 0;
  double observed_rate = 0, raw_rate = 0;          // bytes per second
  double captured_bytes = 0;
  std::uint64_t puts = 0, puts_of_boxes = 0;
  double pool_bytes = 0, pool_high_water_bytes = 0;
  int drain_threads = 0;
  double drain_busy_seconds = 0, drain_cpu_seconds = 0;
  double requests = 0, request_bytes = 0;          // that went to the file system, all together
  double requests_of_partial_blocks = 0;
  Bytes planned_request_bytes = 0;                 // of a write at most; 0: nothing was drained
  int aggregators = 0;                             // of an I/O group; 0: nothing was drained
  std::vector<Step> steps{};                       // those that were ended
  std::vector<Output> outputs{};                   // drained, and passed through
  std::vector<Interval> drained{};
  std::int64_t variables_of_a_file = 0;            // of the one with most, where the report names them; 0: it does not

  // -- what simulations need
  [[nodiscard]] std::int64_t step_count() const;   // at least 1
  [[nodiscard]] double step_bytes() const;         // in files, the average
  [[nodiscard]] double compute_seconds() const;    // between steps, the average
  [[nodiscard]] int ranks_per_node() const;
  [[nodiscard]] std::int64_t variables() const;
  [[nodiscard]] plan::Pattern pattern() const;
  [[nodiscard]] double blocked_share() const;      // of the run
};

// "fine", "acceptable", "worth tuning" or "tune this": below 5 %, 15 %, 30 % of the run time, or above (seed 002).
[[nodiscard]] std::string_view verdict_of(double share);

// Throws invalid_argument with what is wrong with it, and where: no JSON, another schema, written by an older version, nothing written.
[[nodiscard]] RecordedRun run_from_report(std::string_view text, const std::string& origin);

// Reads the file. Throws not_found, and as above.
[[nodiscard]] RecordedRun load_run(const std::string& path);

// The machine as the run has met it: its nodes, and the rates that it got. What a run does not show is left out and takes no time: other
// modes than its own cannot be compared there.
inline constexpr std::string_view own_machine = "the run's own machine";
[[nodiscard]] topology::Machine machine_of(const RecordedRun& run);

}  // namespace glean::foresight
