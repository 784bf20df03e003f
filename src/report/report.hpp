// SPDX-License-Identifier: BSD-3-Clause
//
// What a session did, for people and for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/full_pool_policy.hpp"
#include "drain/trace.hpp"
#include "plan/node_plan.hpp"
#include "plan/tuner.hpp"

namespace glean::report {

using base::Bytes;

// The figures of one rank. Trivially copyable: ranks send it.
struct RankFigures {
  std::uint64_t setup_ns = 0;         // joining the session, which touches the pool's memory; not in blocked_ns
  std::uint64_t blocked_ns = 0;       // in all other calls, closing included
  std::uint64_t closing_ns = 0;       // closing the session: waiting for the drain
  std::uint64_t captured_bytes = 0;   // copied into the pool, in memory types
  std::uint64_t puts = 0;
  std::uint64_t puts_of_boxes = 0;    // not in one piece of the file: boxes of arrays of several dimensions
  capture::FullPoolPolicy::Figures full_pool;   // when the pool was full
  std::uint64_t steps_dropped = 0;    // the same on all ranks
  std::uint64_t notices = 0;          // what this rank has met that is said once in a job: a bit for each (session/core.hpp)
};

// From the end of the step before, or the begin, to the end of this one.
struct StepFigures {
  double end_seconds = 0;             // since the begin, rank 0
  double blocked_seconds = 0;         // of the slowest rank
  Bytes captured_bytes = 0;           // of all ranks
};

// An output that the format library wrote itself.
struct PassthroughFigures {
  std::string path;
  std::string mode;  // passthrough or collective
  Bytes bytes = 0;   // put by this rank's program, all ranks
  double seconds = 0;
};

// A call of an interface that programs use without knowing of GLEAN.
struct CallFigures {
  std::string name;
  std::uint64_t captured = 0;         // of all ranks
  std::uint64_t passed_through = 0;   // to the library that it belongs to
};

// What the program calls a part of a file: a variable of NetCDF, a dataset of HDF5.
struct DatasetFigures {
  std::string path;                   // of the file
  std::string name;
  std::string type;                   // in the file, such as float64
  std::vector<std::uint64_t> shape;   // slowest dimension first
  std::uint64_t puts = 0;             // of all ranks, those without elements not counted
  Bytes bytes = 0;                    // of them, in the file
};

// Files that ranks have written for themselves, and the containers that they have become.
struct GatheredFigures {
  std::uint64_t files = 0, bytes = 0, containers = 0;   // of all nodes; a file that was written again counts again
};

struct Report {
  std::uint64_t begin_ns = 0;              // CLOCK_MONOTONIC; times of the report count from here
  double begin_realtime_seconds = 0;       // since the epoch
  double run_seconds = 0;                  // of the session
  std::string mode;                        // as settings call it
  int nodes = 1;
  std::vector<RankFigures> ranks;
  std::vector<StepFigures> steps;
  plan::NodePlan plan;                         // pool_bytes 0: the session had no pool
  Bytes pool_high_water_bytes = 0;
  Bytes spill_budget_bytes = 0;            // 0: nowhere to spill
  Bytes spill_high_water_bytes = 0;
  drain::DrainTrace drain;
  std::vector<PassthroughFigures> passthrough;
  std::vector<CallFigures> calls;
  std::vector<DatasetFigures> datasets;
  GatheredFigures gathered;
  std::vector<plan::Tuner::Change> tuning;

  [[nodiscard]] double blocked_seconds() const;                  // of the slowest rank
  [[nodiscard]] double closing_seconds() const;
  [[nodiscard]] double setup_seconds() const;
  [[nodiscard]] Bytes captured_bytes() const;
  [[nodiscard]] capture::FullPoolPolicy::Figures full_pool() const;   // of all ranks
  // captured bytes / blocked time of the slowest rank; 0 without captures.
  [[nodiscard]] double observed_bytes_per_second() const;
  // bytes in files / (first capture to last byte durable), summed over outputs that overlap in time; 0 without.
  [[nodiscard]] double raw_bytes_per_second() const;
  // bytes that stagers have of files that they were still writing / (first capture to the last of them there); 0 without.
  [[nodiscard]] double staging_bytes_per_second() const;
};

// The schema is described in docs/report.md.
[[nodiscard]] std::string to_json(const Report& report);
// About twenty lines for a terminal.
[[nodiscard]] std::string to_table(const Report& report);

}  // namespace glean::report
