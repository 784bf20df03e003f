// SPDX-License-Identifier: BSD-3-Clause
//
// What is taken of each dimension of a file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/operators.hpp"

namespace glean::reduce {

// Of one dimension: indices first, first + step, … of the file.
struct Pick {
  std::uint64_t first = 0, step = 1, count = 0;
  bool is_dropped = false;   // a slice: one index, and the result has no such dimension
  [[nodiscard]] std::uint64_t at(std::uint64_t index) const { return first + index * step; }
  [[nodiscard]] bool is_whole(std::uint64_t length) const { return first == 0 && step == 1 && count == length && !is_dropped; }
  friend bool operator==(const Pick&, const Pick&) = default;
};

// A dimension as an operator meets it.
struct DimensionToPick {
  std::string name;
  Pick pick;
  bool is_subsampled = true;   // by a stride that names no dimension
  // Its coordinates at all indices of the file; empty: it has none. Called when they are asked for.
  std::function<std::vector<double>()> coordinates;
};

// Applies region, slice or subsample: indices are those of what earlier operators have left. What cannot be is added to `wrong`.
void apply(const base::Operator& how, std::vector<DimensionToPick>& dimensions, std::vector<std::string>& wrong);

}   // namespace glean::reduce
