// SPDX-License-Identifier: BSD-3-Clause
//
// A figure that was measured several times.
#pragma once

#include <string>
#include <vector>

namespace glean::calibrate {

struct Figure {
  std::vector<double> samples{};
  std::string how{};               // "8 MiB requests past the page cache, one writer"; or why there are no samples

  [[nodiscard]] bool is_known() const { return !samples.empty(); }
  // 0 without samples; of an even number the mean of the two in the middle.
  [[nodiscard]] double median() const;
  [[nodiscard]] double least() const;
  [[nodiscard]] double most() const;
};

enum class Unit { bytes_per_second, seconds };

// "1.69 GB/s to 1.91 GB/s in 3 samples: 8 MiB requests, …"; without samples what `how` says.
[[nodiscard]] std::string spread_of(const Figure& figure, Unit unit);

// Of a server that takes `seconds_small` for a request of `small` bytes and moves `bytes_per_second` otherwise: what the request itself
// takes. Never negative.
[[nodiscard]] double request_seconds(double seconds_small, double small_bytes, double bytes_per_second);

}  // namespace glean::calibrate
