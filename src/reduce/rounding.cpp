// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/rounding.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace glean::reduce {
namespace {

template <class Real, class Bits, int stored>
Real rounded(Real value, int bits) {
  if (bits >= stored || !std::isfinite(value)) return value;
  const int dropped = stored - bits;
  const auto pattern = std::bit_cast<Bits>(value);
  const Bits half = Bits{1} << (dropped - 1), is_odd = (pattern >> dropped) & 1;
  const Bits all = pattern + (half - 1) + is_odd;
  const auto made = std::bit_cast<Real>(static_cast<Bits>(all >> dropped << dropped));
  return std::isfinite(made) ? made : value;
}

}   // namespace

double round_to_bits(double value, int bits, mesh::Type type) {
  if (type == mesh::Type::float32) return static_cast<double>(rounded<float, std::uint32_t, 23>(static_cast<float>(value), bits));
  return rounded<double, std::uint64_t, 52>(value, bits);
}

int bits_of_digits(int digits) { return static_cast<int>(std::ceil(digits * std::log2(10.0))); }

}   // namespace glean::reduce
