// SPDX-License-Identifier: BSD-3-Clause
#include "view/slices.hpp"

#include <algorithm>
#include <cmath>

namespace glean::view {
namespace {

constexpr std::uint64_t elements_at_once = 1 << 20;

std::uint64_t step_for(std::uint64_t length, std::uint32_t most) {
  const std::uint64_t side = std::clamp<std::uint64_t>(most, 1, picture_side_max);
  return (length + side - 1) / side;
}

// To the next column that is taken, or to the begin of the next row.
std::uint64_t column_step_of(std::uint64_t column, std::uint64_t columns, std::uint64_t step) { return std::min(step, columns - column); }

}  // namespace

std::uint64_t index_at(double fraction, std::uint64_t length) {
  if (!(fraction > 0)) return 0;
  if (fraction >= 1) return length - 1;
  return std::min(length - 1, static_cast<std::uint64_t>(fraction * static_cast<double>(length)));
}

SlicePlan plan_slice(const mesh::Shape& shape, const SliceRequest& request) {
  SlicePlan plan;
  const int dimensions = static_cast<int>(shape.size());
  const int across = dimensions < 3 ? -1 : std::clamp(request.axis, 0, dimensions - 1);
  for (int d = dimensions - 1; d >= 0; --d) {
    if (d == across) continue;
    if (plan.column_dimension < 0) plan.column_dimension = d;
    else if (plan.row_dimension < 0) plan.row_dimension = d;
  }
  for (int d = 0; d < dimensions; ++d) {
    const auto index = static_cast<std::size_t>(d);
    const bool is_shown = d == plan.row_dimension || d == plan.column_dimension;
    plan.place.push_back(is_shown ? 0 : index_at(index < request.at.size() ? request.at[index] : 0.5, shape[index]));
  }
  if (plan.column_dimension >= 0) plan.columns = shape[static_cast<std::size_t>(plan.column_dimension)];
  if (plan.row_dimension >= 0) plan.rows = shape[static_cast<std::size_t>(plan.row_dimension)];
  plan.row_step = step_for(plan.rows, request.height_max);
  plan.column_step = step_for(plan.columns, request.width_max);
  return plan;
}

std::vector<float> read_slice(const Dataset& dataset, int variable, std::uint64_t record, const SlicePlan& plan) {
  std::vector<float> picture;
  picture.reserve(plan.height() * plan.width());
  mesh::Box box{plan.place, mesh::Shape(plan.place.size(), 1)};
  const std::uint64_t rows_at_once = std::max<std::uint64_t>(1, elements_at_once / std::max<std::uint64_t>(1, plan.columns));
  const std::uint64_t band = plan.row_step == 1 ? rows_at_once : 1;
  // Of a row that is longer than can be held its parts.
  const std::uint64_t part =
      plan.columns <= elements_at_once ? plan.columns : std::max<std::uint64_t>(1, elements_at_once / plan.column_step) * plan.column_step;
  std::vector<double> values;
  for (std::uint64_t row = 0; row < plan.rows; row += band * plan.row_step) {
    const std::uint64_t rows = std::min(band, plan.rows - row);
    if (plan.row_dimension >= 0) {
      box.start[static_cast<std::size_t>(plan.row_dimension)] = row;
      box.count[static_cast<std::size_t>(plan.row_dimension)] = rows;
    }
    for (std::uint64_t column = 0; column < plan.columns; column += part) {
      const std::uint64_t columns = std::min(part, plan.columns - column);
      if (plan.column_dimension >= 0) {
        box.start[static_cast<std::size_t>(plan.column_dimension)] = column;
        box.count[static_cast<std::size_t>(plan.column_dimension)] = columns;
      }
      values.resize(rows * columns);
      dataset.read(variable, record, box, values.data());
      for (std::uint64_t i = 0; i < rows * columns; i += column_step_of(i % columns, columns, plan.column_step)) {
        picture.push_back(static_cast<float>(values[i]));
      }
    }
  }
  return picture;
}

}  // namespace glean::view
