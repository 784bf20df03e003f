// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/box.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace glean::mesh {

std::uint64_t elements_of(std::span<const std::uint64_t> shape) {
  std::uint64_t elements = 1;
  for (const auto extent : shape) elements *= extent;
  return elements;
}

std::uint64_t Box::elements() const { return elements_of(count); }

bool Box::empty() const { return std::find(count.begin(), count.end(), 0u) != count.end(); }

bool Box::contains(const Box& inner) const {
  if (inner.empty()) return true;
  for (std::size_t d = 0; d < count.size(); ++d) {
    if (inner.start[d] < start[d] || inner.count[d] > count[d] ||
        inner.start[d] - start[d] > count[d] - inner.count[d]) {
      return false;
    }
  }
  return true;
}

bool Box::intersects(const Box& other) const {
  for (std::size_t d = 0; d < count.size(); ++d) {
    const bool before = start[d] <= other.start[d];
    if (before ? other.start[d] - start[d] >= count[d] : start[d] - other.start[d] >= other.count[d]) return false;
  }
  return !empty() && !other.empty();
}

Box whole(const Shape& shape) { return {Shape(shape.size(), 0), shape}; }

std::string to_string(const Box& box) {
  std::string text = "[";
  for (std::size_t d = 0; d < box.count.size(); ++d) {
    if (d != 0) text += ", ";
    text += std::to_string(box.start[d]) + ":" + std::to_string(box.start[d] + box.count[d]);
  }
  return text + "]";
}

std::vector<Box> merged(std::vector<Box> boxes) {
  std::erase_if(boxes, [](const Box& box) { return box.empty(); });
  const std::size_t dimensions = boxes.empty() ? 0 : boxes.front().start.size();
  const auto in_order = [](const Box& a, const Box& b) { return std::tie(a.start, a.count) < std::tie(b.start, b.count); };
  std::sort(boxes.begin(), boxes.end(), in_order);
  boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
  for (std::size_t d = dimensions; d-- > 0;) {
    // Those that differ along `d` only, one behind the other.
    const auto elsewhere = [d](Box box) {
      box.start[d] = box.count[d] = 0;
      return box;
    };
    std::stable_sort(boxes.begin(), boxes.end(), [&](const Box& a, const Box& b) {
      const Box p = elsewhere(a), q = elsewhere(b);
      return std::tie(p.start, p.count, a.start[d]) < std::tie(q.start, q.count, b.start[d]);
    });
    std::vector<Box> joined;
    for (Box& box : boxes) {
      Box* last = joined.empty() ? nullptr : &joined.back();
      const bool follows = last != nullptr && last->start[d] + last->count[d] == box.start[d] && elsewhere(*last) == elsewhere(box);
      if (follows) last->count[d] += box.count[d];
      else joined.push_back(std::move(box));
    }
    boxes = std::move(joined);
  }
  return boxes;
}

Rows::Rows(const Box& box, std::span<const std::uint64_t> array_shape) {
  const std::size_t dimensions = array_shape.size();
  Shape strides(dimensions, 1);
  for (std::size_t d = dimensions; d-- > 1;) strides[d - 1] = strides[d] * array_shape[d];

  // Trailing dimensions that the box covers whole, and one more, make up a row.
  std::size_t outer = dimensions;
  row_elements_ = 1;
  while (outer > 0) {
    --outer;
    row_elements_ *= box.count[outer];
    if (box.count[outer] != array_shape[outer]) break;
  }

  row_count_ = box.empty() ? 0 : 1;
  for (std::size_t d = 0; d < dimensions; ++d) first_ += box.start[d] * strides[d];
  for (std::size_t d = 0; d < outer; ++d) {
    row_count_ *= box.count[d];
    if (box.count[d] != 1) levels_.push_back({box.count[d], strides[d]});
  }
}

std::uint64_t Rows::position(std::uint64_t row) const {
  std::uint64_t position = first_;
  for (std::size_t l = levels_.size(); l-- > 0;) {
    position += row % levels_[l].count * levels_[l].stride;
    row /= levels_[l].count;
  }
  return position;
}

std::uint64_t Rows::first_row_ending_after(std::uint64_t position) const {
  if (row_count_ == 0 || position < first_ + row_elements_) return 0;
  // A row starts at `first_ + sum(index * stride)`; the first one that starts after position - row_elements_.
  std::uint64_t rest = position - row_elements_ + 1 - first_;
  std::uint64_t row = 0;
  std::uint64_t rows_inside = row_count_;
  for (const auto& level : levels_) {
    rows_inside /= level.count;
    const std::uint64_t index = rest / level.stride;
    if (index >= level.count) return row + level.count * rows_inside;
    row += index * rows_inside;
    rest -= index * level.stride;
  }
  // What remains is less than the innermost stride: past this row's start, so the next one.
  return rest == 0 ? row : row + 1;
}

}  // namespace glean::mesh
