// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/histogram.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace glean::analysis {
namespace {

// Multiples of a width are whole numbers that a double has exactly, and so is what a width is multiplied with.
constexpr int digits = 51, least_exponent = -1000;

std::int64_t floor_of(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return whole - (value < static_cast<double>(whole) ? 1 : 0);
}

std::int64_t bin_of(double value, int exponent) { return floor_of(std::ldexp(value, -exponent)); }

int narrowest(double minimum, double maximum) {
  const double greatest = std::max(std::abs(minimum), std::abs(maximum));
  return greatest == 0 ? least_exponent : std::max(least_exponent, std::ilogb(greatest) - digits);
}

}  // namespace

void Histogram::add(std::span<const double> values, double minimum, double maximum) {
  if (values.empty()) return;
  int exponent = std::max(narrowest(minimum, maximum), counts_.empty() ? least_exponent : exponent_);
  // The width of so many bins is at least the range over their number: from there on it is tried.
  const double least_width = maximum / static_cast<double>(most_bins_) - minimum / static_cast<double>(most_bins_);
  if (least_width > 0) exponent = std::max(exponent, std::ilogb(least_width));
  const auto fits = [&](int tried) {
    return static_cast<std::uint64_t>(bin_of(maximum, tried) - bin_of(minimum, tried)) < most_bins_;
  };
  while (!fits(exponent)) ++exponent;
  make_room(exponent, bin_of(minimum, exponent), bin_of(maximum, exponent));

  const double scale = std::ldexp(1.0, -exponent_);
  std::uint64_t* const counts = counts_.data();
  const std::int64_t first = first_;
  for (const double value : values) ++counts[floor_of(value * scale) - first];
}

// All bins become as wide as 2^exponent at least, and there is one for `first` to `last` of that width: where these are too many together
// with those that are there, wider ones.
void Histogram::make_room(int exponent, std::int64_t first, std::int64_t last) {
  if (counts_.empty()) {
    exponent_ = exponent;
    first_ = first;
    counts_.assign(static_cast<std::size_t>(last - first) + 1, 0);
    return;
  }
  std::int64_t here_first = first_ >> (exponent - exponent_);
  std::int64_t here_last = (first_ + static_cast<std::int64_t>(counts_.size()) - 1) >> (exponent - exponent_);
  int wider = exponent;
  while (static_cast<std::uint64_t>(std::max(last, here_last) - std::min(first, here_first)) >= most_bins_) {
    ++wider;
    for (std::int64_t* const each : {&first, &last, &here_first, &here_last}) *each >>= 1;
  }
  first = std::min(first, here_first);
  last = std::max(last, here_last);
  const int shift = wider - exponent_;
  if (shift == 0 && first == first_ && last - first + 1 == static_cast<std::int64_t>(counts_.size())) return;
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(last - first) + 1);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts[static_cast<std::size_t>(((first_ + static_cast<std::int64_t>(i)) >> shift) - first)] += counts_[i];
  }
  counts_ = std::move(counts);
  first_ = first;
  exponent_ = wider;
}

void Histogram::merge(const Histogram& other) {
  if (other.counts_.empty()) return;
  if (counts_.empty()) {
    *this = other;
    return;
  }
  const int exponent = std::max(exponent_, other.exponent_);
  const int shift = exponent - other.exponent_;
  const std::int64_t last = other.first_ + static_cast<std::int64_t>(other.counts_.size()) - 1;
  make_room(exponent, other.first_ >> shift, last >> shift);
  for (std::size_t i = 0; i < other.counts_.size(); ++i) {
    const std::int64_t bin = (other.first_ + static_cast<std::int64_t>(i)) >> (exponent_ - other.exponent_);
    counts_[static_cast<std::size_t>(bin - first_)] += other.counts_[i];
  }
}

double Histogram::begin(std::size_t bin) const {
  return std::ldexp(static_cast<double>(first_ + static_cast<std::int64_t>(bin)), exponent_);
}

void Histogram::encode(base::Encoder& out) const {
  out.number(most_bins_);
  out.number(static_cast<std::uint64_t>(static_cast<std::int64_t>(exponent_)));
  out.number(static_cast<std::uint64_t>(first_));
  out.number(counts_.size());
  for (const std::uint64_t count : counts_) out.number(count);
}

Histogram Histogram::decode(base::Decoder& in) {
  Histogram read(in.number());
  if (read.most_bins_ < 2 || read.most_bins_ > bins_max) in.reject("a histogram cannot have so many bins");
  const auto exponent = static_cast<std::int64_t>(in.number());
  if (exponent < least_exponent || exponent > 1024) in.reject("the bins of a histogram cannot be so wide");
  read.exponent_ = static_cast<int>(exponent);
  read.first_ = static_cast<std::int64_t>(in.number());
  constexpr std::int64_t furthest = std::int64_t{1} << (digits + 2);
  if (read.first_ < -furthest || read.first_ > furthest) in.reject("a histogram cannot begin there");
  read.counts_.resize(in.count(8, "bins"));
  if (read.counts_.size() > read.most_bins_) in.reject("a histogram has more bins than it says");
  for (std::uint64_t& count : read.counts_) count = in.number();
  return read;
}

}  // namespace glean::analysis
