// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/figure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"

namespace glean::calibrate {
namespace {

std::string text_of(double value, Unit unit) {
  if (unit == Unit::bytes_per_second) return base::readable_rate(value);
  if (value < 1e-3) return fmt::format("{:.3g} us", value * 1e6);
  return value < 1 ? fmt::format("{:.3g} ms", value * 1e3) : fmt::format("{:.3g} s", value);
}

}  // namespace

double Figure::median() const {
  if (samples.empty()) return 0;
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double Figure::least() const { return samples.empty() ? 0 : *std::min_element(samples.begin(), samples.end()); }
double Figure::most() const { return samples.empty() ? 0 : *std::max_element(samples.begin(), samples.end()); }

std::string spread_of(const Figure& figure, Unit unit) {
  if (!figure.is_known()) return figure.how;
  const std::string how = figure.how.empty() ? "" : ": " + figure.how;
  if (figure.samples.size() == 1) return fmt::format("1 sample{}", how);
  return fmt::format("{} to {} in {} samples{}", text_of(figure.least(), unit), text_of(figure.most(), unit), figure.samples.size(), how);
}

double request_seconds(double seconds_small, double small_bytes, double bytes_per_second) {
  const double moving = bytes_per_second > 0 ? small_bytes / bytes_per_second : 0;
  return std::max(0.0, seconds_small - moving);
}

}  // namespace glean::calibrate
