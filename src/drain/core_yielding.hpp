// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the drain yields the cores to ranks that just capture: what it writes meanwhile makes them wait, and can be written
// when they do something else.
//
// Pure: the engine says where it is whenever it could begin something.
#pragma once

#include <cstdint>

namespace glean::drain {

struct CaptureLook {
  std::uint64_t now_ns = 0;     // CLOCK_MONOTONIC
  std::uint64_t captured = 0;   // a count of anything that grows with each capture
  double fullest = 0;           // share of the pool, or of a journal, that is in use
  bool is_full = false;         // a rank waits for space
  bool is_closing = false;      // a rank waits until others have closed, or has not gone on since
};

class CoreYielding {
 public:
  // Ranks that have not captured anything for so long do something else.
  static constexpr std::uint64_t pause_ns = 5'000'000;
  // No rank tells the drain that it need not wait any more: it looks so often.
  static constexpr std::uint64_t between_looks_ns = 1'000'000;
  // Then the drain begins even if they go on.
  static constexpr std::uint64_t most_ns = 250'000'000;
  static constexpr double most_share = 0.75;

  // Whether to wait. Not in a pool that has been full before: there the space counts.
  [[nodiscard]] bool look(const CaptureLook& look);

 private:
  std::uint64_t captured_ = 0;
  std::uint64_t begin_ns_ = 0, last_ns_ = 0;   // of captures that follow each other without a pause
  bool has_been_full_ = false;
};

}  // namespace glean::drain
