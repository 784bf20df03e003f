// SPDX-License-Identifier: BSD-3-Clause
#include "drain/claims.hpp"

#include <algorithm>

namespace glean::drain {

Claims::Claims(const mesh::Shape& shape) : shape_(shape) {
  if (!shape.empty()) {
    key_dimension_ = static_cast<std::size_t>(std::max_element(shape.begin(), shape.end()) - shape.begin());
  }
}

std::optional<Claims::Claim> Claims::add(const mesh::Box& box, int rank) {
  const std::uint64_t start = shape_.empty() ? 0 : box.start[key_dimension_];
  const std::uint64_t count = shape_.empty() ? 1 : box.count[key_dimension_];
  const std::uint64_t from = start >= longest_ ? start - longest_ : 0;
  for (auto it = by_start_.lower_bound(from); it != by_start_.end() && it->first < start + count; ++it) {
    if (it->second.box.intersects(box)) return it->second;
  }
  by_start_.emplace(start, Claim{box, rank});
  longest_ = std::max(longest_, count);
  elements_ += box.elements();
  return std::nullopt;
}

std::vector<base::Extent> Claims::unclaimed(const store::VariableLayout& variable, std::uint64_t record) const {
  const std::uint64_t total = mesh::elements_of(shape_);
  if (elements_ == total) return {};
  std::vector<base::Extent> claimed;   // in elements
  for (const auto& [start, claim] : by_start_) {
    const mesh::Rows rows(claim.box, shape_);
    for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
      const std::uint64_t position = rows.position(row);
      claimed.push_back({position, position + rows.row_elements()});
    }
  }
  std::sort(claimed.begin(), claimed.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  claimed.push_back({total, total});

  std::vector<base::Extent> holes;
  const base::Bytes size = mesh::size_of(variable.external);
  const base::Bytes begin = variable.record_begin_bytes(record);
  std::uint64_t reached = 0;
  for (const auto& extent : claimed) {
    if (extent.begin > reached) holes.push_back({begin + reached * size, begin + extent.begin * size});
    reached = std::max(reached, extent.end);
  }
  return holes;
}

}  // namespace glean::drain
