// SPDX-License-Identifier: BSD-3-Clause
//
// A slice of an array: two of its dimensions, at a place of the others, with every n-th element where it is larger than what shows it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "view/dataset.hpp"

namespace glean::view {

inline constexpr std::uint32_t picture_side_max = 2048;

struct SliceRequest {
  int axis = 0;              // the dimension that it is cut across, of arrays with three or more
  std::vector<double> at;    // where, in each dimension, from 0 to 1; 0.5 where it is not said
  std::uint32_t width_max = 512, height_max = 512;
};

// What a request comes to on an array of that shape, which has elements.
struct SlicePlan {
  int row_dimension = -1, column_dimension = -1;   // that go down and across; row -1: a line
  std::vector<std::uint64_t> place;                // in each dimension; 0 in those two
  std::uint64_t rows = 1, columns = 1;             // of the array
  std::uint64_t row_step = 1, column_step = 1;
  [[nodiscard]] std::uint64_t height() const { return (rows + row_step - 1) / row_step; }
  [[nodiscard]] std::uint64_t width() const { return (columns + column_step - 1) / column_step; }
};

[[nodiscard]] SlicePlan plan_slice(const mesh::Shape& shape, const SliceRequest& request);
// The element that lies at a fraction of so many.
[[nodiscard]] std::uint64_t index_at(double fraction, std::uint64_t length);

// height() rows of width() values. Reads no more than the rows that it takes, and holds a few MiB of them at once.
[[nodiscard]] std::vector<float> read_slice(const Dataset& dataset, int variable, std::uint64_t record, const SlicePlan& plan);

}  // namespace glean::view
