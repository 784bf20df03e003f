// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace glean::analysis {
namespace {

// Sums of so many values side by side: the compiler keeps their order otherwise, and adds one after the other.
constexpr std::size_t lanes = 8;

}  // namespace

void Statistics::add(std::span<const double> values) {
  if (values.empty()) return;
  Statistics part;
  part.finite = values.size();
  std::array<double, lanes> least, most, sum{}, squares{};
  least.fill(values.front());
  most.fill(values.front());
  const std::size_t whole = values.size() / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) {
      const double value = values[i + k];
      least[k] = value < least[k] ? value : least[k];
      most[k] = most[k] < value ? value : most[k];
      sum[k] += value;
    }
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    least[0] = std::min(least[0], values[i]);
    most[0] = std::max(most[0], values[i]);
    sum[0] += values[i];
  }
  part.minimum = *std::min_element(least.begin(), least.end());
  part.maximum = *std::max_element(most.begin(), most.end());
  for (const double each : sum) part.mean += each;
  part.mean /= static_cast<double>(part.finite);
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) {
      const double distance = values[i + k] - part.mean;
      squares[k] += distance * distance;
    }
  }
  for (std::size_t i = whole; i < values.size(); ++i) squares[0] += (values[i] - part.mean) * (values[i] - part.mean);
  for (const double each : squares) part.squares += each;
  merge(part);
}

void Statistics::add_nan(std::uint64_t place) {
  ++nan;
  first_nan = std::min(first_nan, place);
}

void Statistics::add_infinite(std::uint64_t place) {
  ++infinite;
  first_infinite = std::min(first_infinite, place);
}

void Statistics::merge(const Statistics& other) {
  nan += other.nan;
  infinite += other.infinite;
  first_nan = std::min(first_nan, other.first_nan);
  first_infinite = std::min(first_infinite, other.first_infinite);
  if (other.finite == 0) return;
  const double here = static_cast<double>(finite), there = static_cast<double>(other.finite), all = here + there;
  const double distance = other.mean - mean;
  mean = finite == 0 ? other.mean : mean + distance * (there / all);
  squares += finite == 0 ? other.squares : other.squares + distance * distance * (here / all) * there;
  finite += other.finite;
  minimum = std::min(minimum, other.minimum);
  maximum = std::max(maximum, other.maximum);
}

double Statistics::deviation() const {
  return finite == 0 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(squares / static_cast<double>(finite));
}

void Statistics::encode(base::Encoder& out) const {
  for (const std::uint64_t number : {finite, nan, infinite, first_nan, first_infinite}) out.number(number);
  for (const double real : {minimum, maximum, mean, squares}) out.real(real);
}

Statistics Statistics::decode(base::Decoder& in) {
  Statistics read;
  for (std::uint64_t* number : {&read.finite, &read.nan, &read.infinite, &read.first_nan, &read.first_infinite}) *number = in.number();
  for (double* real : {&read.minimum, &read.maximum, &read.mean, &read.squares}) *real = in.real();
  return read;
}

}  // namespace glean::analysis
