// SPDX-License-Identifier: BSD-3-Clause
#include "drain/coverage.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace glean::drain {

Coverage::Coverage(const mesh::Shape& shape) : shape_(shape), parts_(shape.size(), 0.0) {}

std::optional<Coverage::Put> Coverage::add(const mesh::Box& box, int rank) {
  choose_key_dimension(box);
  const std::uint64_t start = shape_.empty() ? 0 : box.start[key_dimension_];
  const std::uint64_t count = shape_.empty() ? 1 : box.count[key_dimension_];
  for (const auto& [bits, by_start] : by_extent_) {
    const std::uint64_t reach = ~0ull >> (64 - bits);   // the largest extent in this map
    const std::uint64_t from = start >= reach ? start - reach : 0;
    for (auto it = by_start.lower_bound(from); it != by_start.end() && it->first < start + count; ++it) {
      if (it->second.box.intersects(box)) return it->second;
    }
  }
  insert({box, rank});
  elements_ += box.elements();
  return std::nullopt;
}

void Coverage::insert(Put put) {
  const std::uint64_t start = shape_.empty() ? 0 : put.box.start[key_dimension_];
  const std::uint64_t count = shape_.empty() ? 1 : put.box.count[key_dimension_];
  by_extent_[static_cast<int>(std::bit_width(count))].emplace(start, std::move(put));
}

// Where boxes are a small part of the whole they lie side by side, and few meet another. Looked at again whenever there
// are twice as many.
void Coverage::choose_key_dimension(const mesh::Box& box) {
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    parts_[d] += static_cast<double>(box.count[d]) / static_cast<double>(shape_[d]);
  }
  if (!std::has_single_bit(++boxes_) || shape_.empty()) return;
  const auto best = static_cast<std::size_t>(std::min_element(parts_.begin(), parts_.end()) - parts_.begin());
  if (best == key_dimension_) return;
  key_dimension_ = best;
  for (auto& [bits, by_start] : std::exchange(by_extent_, {})) {
    for (auto& [start, put] : by_start) insert(std::move(put));
  }
}

std::vector<base::Extent> Coverage::uncovered(const store::VariableLayout& variable, std::uint64_t record) const {
  const std::uint64_t total = mesh::elements_of(shape_);
  if (elements_ == total) return {};
  std::vector<base::Extent> covered;   // in elements
  for (const auto& [bits, by_start] : by_extent_) {
    for (const auto& [start, put] : by_start) {
      const mesh::Rows rows(put.box, shape_);
      for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
        const std::uint64_t position = rows.position(row);
        covered.push_back({position, position + rows.row_elements()});
      }
    }
  }
  std::sort(covered.begin(), covered.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  covered.push_back({total, total});

  std::vector<base::Extent> holes;
  const base::Bytes size = mesh::size_of(variable.external);
  const base::Bytes begin = variable.record_begin_bytes(record);
  std::uint64_t reached = 0;
  for (const auto& extent : covered) {
    if (extent.begin > reached) holes.push_back({begin + reached * size, begin + extent.begin * size});
    reached = std::max(reached, extent.end);
  }
  return holes;
}

}  // namespace glean::drain
