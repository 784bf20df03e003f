// SPDX-License-Identifier: BSD-3-Clause
//
// When the time of the batch job is over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glean::base {

// As it is set: `job.end`.
struct JobEnd {
  enum class Kind { automatic, none, after, at };
  Kind kind = Kind::automatic;
  double seconds = 0;               // after: from the start of the session
  std::int64_t epoch_seconds = 0;   // at: since 1970
  friend bool operator==(const JobEnd&, const JobEnd&) = default;
};

// "auto", "none", a duration above 0 ("55min"), or a moment as RFC 3339 has it, with its offset from UTC:
// "2026-01-31T12:00:00Z", "2026-01-31 13:00:00+01:00". Parts of a second of a moment are dropped. nullopt where it is
// none of them, or not between 1970 and 2261.
[[nodiscard]] std::optional<JobEnd> parse_job_end(std::string_view text);

// parse_job_end() takes it back. Moments are in UTC.
[[nodiscard]] std::string exact_job_end(const JobEnd& end);

// "2026-01-31T12:00:00Z".
[[nodiscard]] std::string utc_text(std::int64_t epoch_seconds);

struct KnownEnd {
  std::uint64_t realtime_ns = 0;   // CLOCK_REALTIME; 0: not known
  std::string source;              // "job.end", "SLURM_JOB_END_TIME"; empty: there was nothing to know it from
  std::string ignored;             // why what `source` says does not count; empty: it does
};

// The variable in which Slurm (23.02 and later) hands a job its projected end, in seconds since 1970.
inline constexpr char slurm_end_variable[] = "SLURM_JOB_END_TIME";

// What the setting means for a session that starts now. `slurm_end` is the value of slurm_end_variable, nullptr when
// it is not set. A moment that has passed does not count, nor a variable that is no number or more than ten years ahead.
[[nodiscard]] KnownEnd find_job_end(const JobEnd& setting, std::uint64_t now_realtime_ns, const char* slurm_end);

// CLOCK_REALTIME.
[[nodiscard]] std::uint64_t realtime_ns();

}  // namespace glean::base
