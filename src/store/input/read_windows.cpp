// SPDX-License-Identifier: BSD-3-Clause
#include "store/input/read_windows.hpp"

#include <cstring>
#include <limits>
#include <utility>

#include "store/input/row_runs.hpp"

namespace glean::store {

ReadWindows::ReadWindows(ArrayPlace place, std::vector<mesh::Box> box_of_rank, Bytes window_bytes, int aggregators)
    : place_(std::move(place)),
      boxes_(std::move(box_of_rank)),
      window_bytes_(window_bytes),
      aggregators_(static_cast<std::uint64_t>(aggregators)) {
  first_ = std::numeric_limits<std::uint64_t>::max();
  for (int rank = 0; rank < ranks(); ++rank) {
    const mesh::Rows rows = rows_of(rank);
    if (rows.row_count() == 0) continue;
    first_ = std::min(first_, rows.position(0));
    end_ = std::max(end_, rows.position(rows.row_count() - 1) + rows.row_elements());
  }
  if (first_ >= end_) return;
  first_window_ = (place_.begin + first_ * place_.element_bytes) / window_bytes_;
  end_window_ = (place_.begin + (end_ - 1) * place_.element_bytes) / window_bytes_ + 1;
}

mesh::Rows ReadWindows::rows_of(int rank) const { return {boxes_[static_cast<std::size_t>(rank)], place_.shape}; }

std::uint64_t ReadWindows::first_element(std::uint64_t window) const {
  const Bytes at = window * window_bytes_;
  return at <= place_.begin ? 0 : (at - place_.begin + place_.element_bytes - 1) / place_.element_bytes;
}

std::uint64_t ReadWindows::rounds() const { return (end_window_ - first_window_ + aggregators_ - 1) / aggregators_; }

ReadWindows::Window ReadWindows::window(int aggregator, std::uint64_t round) const {
  const std::uint64_t all = end_window_ - first_window_, self = static_cast<std::uint64_t>(aggregator);
  const std::uint64_t window = first_window_ + all * self / aggregators_ + round;
  if (window >= first_window_ + all * (self + 1) / aggregators_) return {};
  return {std::max(first_, first_element(window)), std::min(end_, first_element(window + 1))};
}

std::uint64_t ReadWindows::wanted(int rank, const Window& window) const {
  const mesh::Rows rows = rows_of(rank);
  if (window.empty() || rows.row_count() == 0) return 0;
  const auto before = [&](std::uint64_t element) {
    const std::uint64_t row = rows.first_row_ending_after(element);
    if (row >= rows.row_count()) return rows.row_count() * rows.row_elements();
    const std::uint64_t at = rows.position(row);
    return row * rows.row_elements() + (element > at ? element - at : 0);
  };
  return before(window.end) - before(window.first);
}

std::vector<std::byte> ReadWindows::packed(int rank, const Window& window, const std::byte* bytes) const {
  std::vector<std::byte> all(wanted(rank, window) * place_.element_bytes);
  std::byte* to = all.data();
  for_wanted(rank, window, [&](std::uint64_t first, std::uint64_t, std::uint64_t count) {
    std::memcpy(to, bytes + (first - window.first) * place_.element_bytes, count * place_.element_bytes);
    to += count * place_.element_bytes;
  });
  return all;
}

Bytes fetched_bytes(const ArrayPlace& place, const std::vector<mesh::Box>& boxes) {
  std::vector<base::Extent> extents;
  for (const mesh::Box& box : boxes) {
    const RowRuns runs(mesh::Rows(box, place.shape), place.begin, place.element_bytes);
    for (std::uint64_t row = 0; row < runs.rows().row_count();) {
      const RowRuns::Run run = runs.close_rows(row, fetched_gap_most, std::numeric_limits<Bytes>::max());
      extents.push_back({runs.begin_of(row), run.end});
      row = run.next;
    }
  }
  std::sort(extents.begin(), extents.end(), [](const base::Extent& a, const base::Extent& b) { return a.begin < b.begin; });
  Bytes fetched = 0, end = 0;
  for (const base::Extent& extent : extents) {
    if (extent.end <= end) continue;
    fetched += extent.end - std::max(end, extent.begin);
    end = extent.end;
  }
  return fetched;
}

}  // namespace glean::store
