// SPDX-License-Identifier: BSD-3-Clause
//
// How often values occur, where their range is not known before all of them are there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/encoding.hpp"

namespace glean::analysis {

// Bins are as wide as a power of two, and begin at multiples of it: two neighbours are one of the next width, so parts with different
// ranges are joined without an error. How wide they are follows from the least and the greatest value alone, not from the order of the
// parts: the smallest width of which `most_bins` bins have all.
class Histogram {
 public:
  static constexpr std::uint64_t bins_max = 1u << 16;

  // At most so many bins, 2 to bins_max: less than zero and the rest are never one.
  explicit Histogram(std::uint64_t most_bins) : most_bins_(most_bins) {}

  // Finite values between `minimum` and `maximum`.
  void add(std::span<const double> values, double minimum, double maximum);
  // Both have the same `most_bins`.
  void merge(const Histogram& other);

  // Bin i has what is at least begin(i) and less than begin(i + 1).
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }   // empty without values
  [[nodiscard]] double begin(std::size_t bin) const;
  [[nodiscard]] std::uint64_t most_bins() const { return most_bins_; }

  void encode(base::Encoder& out) const;
  // Throws io when the bytes are not what encode() made.
  [[nodiscard]] static Histogram decode(base::Decoder& in);
  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  void make_room(int exponent, std::int64_t first, std::int64_t last);

  std::uint64_t most_bins_;
  int exponent_ = 0;                   // of the width
  std::int64_t first_ = 0;             // begin of the first bin / width
  std::vector<std::uint64_t> counts_;
};

}  // namespace glean::analysis
