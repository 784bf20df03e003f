// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the drain will be done before the job's time is over.
//
// Pure: the engine says once a second where it is, and is told what follows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.hpp"

namespace glean::drain {

using base::Bytes;

// Where the drain is. The counters only grow; what they were before the first look does not matter.
struct DrainPosition {
  std::uint64_t now_ns = 0;      // CLOCK_MONOTONIC
  double seconds_left = 0;       // of the job; below 0: its time is over
  Bytes waiting_bytes = 0;       // captured, and not written
  Bytes written_bytes = 0;
  std::uint64_t busy_ns = 0;     // in which the drain has worked, fsync and publishing included
};

struct Forecast {
  std::uint64_t at_ns = 0;       // CLOCK_MONOTONIC; 0: there is none
  double seconds_left = 0;       // at least 0
  Bytes waiting_bytes = 0;
  std::optional<double> bytes_per_second;   // recent; none: too little was written to know
  // Until all that waits is written. None: it is not known, or nothing moves.
  [[nodiscard]] std::optional<double> needed_seconds() const;
  // What will not be written in the time that is left; 0 where the rate is not known.
  [[nodiscard]] Bytes lost_bytes() const;
  // More is lost; or, where nothing is, less of the time would be left.
  [[nodiscard]] bool is_worse_than(const Forecast& other) const;
};

// For people, in one sentence: how much waits, how long it takes, what may be lost.
[[nodiscard]] std::string warning_text(const Forecast& forecast);

class EndOfJob {
 public:
  // It is time for the deadline boost when `needed_seconds` × boost_factor + boost_seconds are left: a storage system is slower at
  // some times than at others, and what is written must still be synchronised and published. It is not any more when
  // there is twice the time and a minute.
  static constexpr double boost_factor = 1.5, boost_seconds = 30;
  static constexpr double relax_factor = 2, relax_seconds = 60;
  // So many seconds before the end when the rate is not known.
  static constexpr double boost_seconds_unknown = 60;
  // The rate is bytes per busy time; what lies this far back, in busy time, counts half. So pauses do not matter, and a
  // slow minute is soon seen.
  static constexpr double half_life_seconds = 10;
  // A look counts when the drain was busy for half of the time since the look before, or has written that much: what
  // small files cost does not tell how fast a checkpoint goes.
  static constexpr double busy_share_min = 0.5;
  static constexpr Bytes bytes_min = 16 * base::MiB;
  // The rate is known after a second of work or this many bytes; that it is 0, after ten seconds.
  static constexpr double known_after_seconds = 1, known_zero_after_seconds = 10;
  static constexpr Bytes known_after_bytes = 64 * base::MiB;
  // A warning needs this many looks in a row that see a loss. It comes again when the loss has doubled, not sooner than
  // after ten seconds.
  static constexpr int looks_before_warning = 3;
  static constexpr double seconds_between_warnings = 10;

  struct Look {
    Forecast forecast;
    bool boost = false;
    bool warn = false;   // tell the user now
  };
  Look look(const DrainPosition& position);

  // The worst of all looks so far with something waiting.
  [[nodiscard]] const Forecast& worst() const { return worst_; }

 private:
  void measure(const DrainPosition& position);
  [[nodiscard]] bool is_time_to_boost(const Forecast& forecast) const;
  [[nodiscard]] bool is_time_to_warn(const Forecast& forecast);

  std::optional<DrainPosition> previous_;
  double recent_bytes_ = 0, recent_seconds_ = 0;   // decayed
  double measured_bytes_ = 0, measured_seconds_ = 0;
  bool boosts_ = false;
  int looks_with_loss_ = 0;
  Forecast warned_;
  Forecast worst_;
};

}  // namespace glean::drain
