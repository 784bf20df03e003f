// SPDX-License-Identifier: BSD-3-Clause
//
// Minimum, maximum, mean and deviation of values that come in parts, in any order and on any number of nodes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "base/encoding.hpp"

namespace glean::analysis {

inline constexpr std::uint64_t no_place = ~std::uint64_t{0};

// Of the finite values; those that are not are counted, and the first places of them kept. Mean and deviation of parts are joined by the
// pairwise update of Chan, Golub and LeVeque (1979), so that neither a large mean nor many parts cost digits.
struct Statistics {
  std::uint64_t finite = 0, nan = 0, infinite = 0;
  std::uint64_t first_nan = no_place, first_infinite = no_place;   // index in the variable, row-major
  double minimum = std::numeric_limits<double>::infinity(), maximum = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double squares = 0;   // sum of squared distances from the mean

  // Finite values.
  void add(std::span<const double> values);
  void add_nan(std::uint64_t place);
  void add_infinite(std::uint64_t place);
  void merge(const Statistics& other);

  // Of the whole: divided by the number of values, as NumPy's std. NaN without values.
  [[nodiscard]] double deviation() const;

  void encode(base::Encoder& out) const;
  // Throws io when the bytes are not what encode() made.
  [[nodiscard]] static Statistics decode(base::Decoder& in);
  friend bool operator==(const Statistics&, const Statistics&) = default;
};

}  // namespace glean::analysis
