// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/nearest.hpp"

namespace glean::reduce {
namespace {

using Kind = base::Operator::Kind;

// The coordinates of what is left of a dimension, or why there are none.
std::vector<double> coordinates_of(const DimensionToPick& dimension, std::string& flaw) {
  const std::vector<double> all = dimension.coordinates ? dimension.coordinates() : std::vector<double>();
  if (all.empty()) {
    flaw = fmt::format("'{0}' has no coordinates: there is no variable '{0}({0})' of numbers", dimension.name);
    return {};
  }
  std::vector<double> left;
  for (std::uint64_t i = 0; i < dimension.pick.count; ++i) left.push_back(all.at(dimension.pick.at(i)));
  const bool ascends = std::is_sorted(left.begin(), left.end()), descends = std::is_sorted(left.rbegin(), left.rend());
  const bool is_finite = std::all_of(left.begin(), left.end(), [](double value) { return std::isfinite(value); });
  if ((!ascends && !descends) || !is_finite) flaw = fmt::format("the coordinates '{}' neither ascend nor descend", dimension.name);
  return left;
}

void keep(Pick& pick, std::uint64_t begin, std::uint64_t end) {
  pick.first = pick.at(begin);
  pick.count = end - begin;
}

std::string take_region(const base::DimensionRange& range, DimensionToPick& dimension) {
  Pick& pick = dimension.pick;
  if (range.by_coordinates) {
    std::string flaw;
    const std::vector<double> values = coordinates_of(dimension, flaw);
    if (!flaw.empty()) return flaw;
    const auto is_in = [&](double value) { return value >= range.low && value <= range.high; };
    const auto begin = std::find_if(values.begin(), values.end(), is_in);
    const auto end = std::find_if_not(begin, values.end(), is_in);
    if (begin == end) {
      return fmt::format("no coordinate of '{}' is from {} to {}: they are from {} to {}", dimension.name, range.low, range.high,
                         values.front(), values.back());
    }
    keep(pick, static_cast<std::uint64_t>(begin - values.begin()), static_cast<std::uint64_t>(end - values.begin()));
    return {};
  }
  const auto length = static_cast<std::int64_t>(pick.count);
  const std::int64_t begin = range.begin < 0 ? range.begin + length : range.begin;
  const std::int64_t given_end = range.end.value_or(length), end = given_end < 0 ? given_end + length : given_end;
  if (begin < 0 || end > length || begin >= end) {
    return fmt::format("[{}, {}) is not in '{}', which has {} elements", begin, end, dimension.name, length);
  }
  keep(pick, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end));
  return {};
}

std::string take_slice(const base::DimensionRange& range, DimensionToPick& dimension) {
  Pick& pick = dimension.pick;
  std::int64_t index = range.begin < 0 ? range.begin + static_cast<std::int64_t>(pick.count) : range.begin;
  if (range.by_coordinates) {
    std::string flaw;
    const std::vector<double> values = coordinates_of(dimension, flaw);
    if (!flaw.empty()) return flaw;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    // The cell that has the place: the outer ones reach half of the way to the next beyond their centres.
    const double beyond = values.size() < 2 ? INFINITY
                                            : std::max(std::abs(values[1] - values[0]), std::abs(values.back() - values.end()[-2])) / 2;
    if (range.low < *low - beyond || range.low > *high + beyond) {
      return fmt::format("{} is outside of the coordinates '{}', which are from {} to {}", range.low, dimension.name, *low, *high);
    }
    const auto nearest = std::min_element(values.begin(), values.end(),
                                          [&](double a, double b) { return std::abs(a - range.low) < std::abs(b - range.low); });
    index = nearest - values.begin();
  }
  if (index < 0 || static_cast<std::uint64_t>(index) >= pick.count) {
    return fmt::format("{} is not in '{}', which has {} elements", range.begin, dimension.name, pick.count);
  }
  keep(pick, static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(index) + 1);
  pick.is_dropped = true;
  return {};
}

void take_every(std::uint64_t stride, Pick& pick) {
  pick.count = (pick.count + stride - 1) / stride;
  pick.step *= pick.count > 1 ? stride : 1;
}

}   // namespace

void apply(const base::Operator& how, std::vector<DimensionToPick>& dimensions, std::vector<std::string>& wrong) {
  if (how.kind == Kind::subsample && how.dimensions.empty()) {
    for (DimensionToPick& dimension : dimensions) {
      if (dimension.is_subsampled && !dimension.pick.is_dropped) take_every(static_cast<std::uint64_t>(how.number), dimension.pick);
    }
    return;
  }
  for (const base::DimensionRange& range : how.dimensions) {
    const auto found = std::find_if(dimensions.begin(), dimensions.end(), [&](const auto& one) { return one.name == range.dimension; });
    std::string flaw;
    if (found == dimensions.end()) {
      std::vector<std::string> names;
      for (const DimensionToPick& dimension : dimensions) names.push_back(dimension.name);
      const std::string nearest = base::nearest(range.dimension, names);
      flaw = fmt::format("there is no dimension '{}'{}", range.dimension, nearest.empty() ? "" : fmt::format(" (nearest: '{}')", nearest));
    } else if (found->pick.is_dropped) {
      flaw = fmt::format("'{}' is no dimension any more", range.dimension);
    } else if (found->pick.count == 0) {
      flaw = fmt::format("'{}' has no elements", range.dimension);
    } else if (how.kind == Kind::subsample) {
      take_every(static_cast<std::uint64_t>(range.begin), found->pick);
    } else {
      flaw = how.kind == Kind::region ? take_region(range, *found) : take_slice(range, *found);
    }
    if (!flaw.empty()) wrong.push_back(fmt::format("'{}': {}", how.text, flaw));
  }
}

}   // namespace glean::reduce
