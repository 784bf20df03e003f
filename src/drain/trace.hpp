// SPDX-License-Identifier: BSD-3-Clause
//
// What the drain did and when: the raw material of the report.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "drain/end_of_job.hpp"
#include "store/posix/writer.hpp"

namespace glean::drain {

// A file that was to be made of an output when it was complete.
struct CopyTrace {
  std::string path;
  double seconds = 0;
  std::string error;   // why there is none; empty: it was made
};

// What a program of the user's has made of an output's steps.
struct AnalysisTrace {
  std::string name;
  std::uint64_t steps = 0;           // that it has looked at
  std::uint64_t steps_left_out = 0;
  std::string why;                   // of the last of these
};

// Times are CLOCK_MONOTONIC; 0: has not happened.
struct OutputTrace {
  std::string path;
  // open, published, failed, abandoned, dropped; removed, by the program while it was open. Of recovery: postponed, it can be tried again;
  // superseded, a newer file is there.
  std::string state = "open";
  std::string note;                // what is missing, or why it failed
  std::string unclosed_path;       // where its file is although not all ranks have closed it, or it has failed; empty: as always
  base::Bytes bytes = 0;           // written into the file
  base::Bytes request_bytes = 0;   // of a write at most
  int aggregators = 0;             // of each I/O group
  std::uint64_t steps = 0;
  std::uint64_t steps_dropped = 0; // the pool was full
  std::string checksums = "off";   // of a published file: off, recorded, failed
  std::uint64_t range_errors = 0;
  std::uint64_t first_capture_ns = 0;
  std::uint64_t last_capture_ns = 0;
  std::uint64_t written_ns = 0;
  std::uint64_t durable_ns = 0;
  std::vector<CopyTrace> copies{};
  std::vector<AnalysisTrace> analyses{};
  bool had_complete_steps = true;  // of recovery: a failed output without them has lost nothing
  // Files that the program had removed or replaced after it closed this one, which is not published: they have their names again, or
  // other files have these, and where they are then.
  std::vector<std::string> restored{}, hidden{};
};

struct EndOfJobTrace {
  std::uint64_t end_realtime_ns = 0;   // CLOCK_REALTIME; 0: not known, and nothing of the rest
  std::uint64_t boosted_ns = 0;        // when the deadline boost began, the first time
  int added_threads = 0;
  int warnings = 0;                    // that not all would be written
  Forecast worst;
};

struct DrainTrace {
  int threads = 0;
  bool io_uring = false;
  std::uint64_t busy_ns = 0;       // of all threads
  std::uint64_t cpu_ns = 0;
  store::WriteCounters requests;
  std::uint64_t from_pool_bytes = 0;   // of these: written from where they were captured, without a copy
  // Requests of up to 4 KiB, 16 KiB, 64 KiB, …, 16 MiB, and larger.
  static constexpr int size_classes = 8;
  std::array<std::uint64_t, size_classes> request_sizes{};
  [[nodiscard]] static constexpr base::Bytes class_limit(int size_class) { return (4 * base::KiB) << (2 * size_class); }
  struct Interval { std::uint64_t begin_ns, end_ns; };
  std::vector<Interval> intervals;   // when at least one thread was busy; neighbours merged
  std::vector<OutputTrace> outputs;
  EndOfJobTrace end_of_job;

  // Another node's clock is that far behind.
  void shift(std::int64_t ns);
  // What another node of the session did besides: bytes, requests and processor time of both; threads, busy time and
  // forecast of the one that has more; outputs as this one knows them, or those of other files after them.
  enum class Wrote { the_same_files, other_files };
  void add_node(const DrainTrace& other, Wrote wrote = Wrote::the_same_files);

 private:
  void join_outputs(const std::vector<OutputTrace>& others);
};

}  // namespace glean::drain
