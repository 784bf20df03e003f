// SPDX-License-Identifier: BSD-3-Clause
//
// How several aggregators read an array for all ranks: contiguous aligned windows of the file, each by one of them and once, of which every
// rank gets the elements of its box (two-phase reading). A value: all ranks make the same one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "mesh/box.hpp"

namespace glean::store {

using base::Bytes;

// Where the elements of an array are in a file.
struct ArrayPlace {
  mesh::Shape shape;
  Bytes begin = 0, element_bytes = 1;
};

class ReadWindows {
 public:
  // The boxes lie in the array; those that are empty want nothing. `aggregators`, 1 or more.
  ReadWindows(ArrayPlace place, std::vector<mesh::Box> box_of_rank, Bytes window_bytes, int aggregators);

  // Elements of the array, [first, end); empty: nothing is wanted of it.
  struct Window {
    std::uint64_t first = 0, end = 0;
    [[nodiscard]] bool empty() const { return first >= end; }
  };
  // As many for each aggregator; some of the last ones are empty.
  [[nodiscard]] std::uint64_t rounds() const;
  // Those of an aggregator follow each other in the file, and begin where a window of the file does, which an element may lie across.
  [[nodiscard]] Window window(int aggregator, std::uint64_t round) const;
  [[nodiscard]] base::Extent extent_of(const Window& window) const {
    return {place_.begin + window.first * place_.element_bytes, place_.begin + window.end * place_.element_bytes};
  }

  [[nodiscard]] int ranks() const { return static_cast<int>(boxes_.size()); }
  // How many elements of a window a rank wants. O(dimensions).
  [[nodiscard]] std::uint64_t wanted(int rank, const Window& window) const;
  // Where they are: calls `each(first element in the array, first element in the box, how many)`, in the order of both.
  template <class Each>
  void for_wanted(int rank, const Window& window, Each each) const {
    const mesh::Rows rows = rows_of(rank);
    const std::uint64_t length = rows.row_elements();
    for (std::uint64_t row = rows.first_row_ending_after(window.first); row < rows.row_count(); ++row) {
      const std::uint64_t at = rows.position(row), first = std::max(at, window.first), end = std::min(at + length, window.end);
      if (first >= end) break;
      each(first, row * length + (first - at), end - first);
    }
  }
  // They, one after the other, from the bytes of the window.
  [[nodiscard]] std::vector<std::byte> packed(int rank, const Window& window, const std::byte* bytes) const;

 private:
  [[nodiscard]] mesh::Rows rows_of(int rank) const;
  [[nodiscard]] std::uint64_t first_element(std::uint64_t window) const;   // that begins in this window of the file or behind it

  ArrayPlace place_;
  std::vector<mesh::Box> boxes_;
  Bytes window_bytes_;
  std::uint64_t aggregators_;
  std::uint64_t first_ = 0, end_ = 0;                    // elements that are wanted
  std::uint64_t first_window_ = 0, end_window_ = 0;      // of the file
};

// How many bytes it takes to read these boxes where rows that are close to each other are read together, each once.
[[nodiscard]] Bytes fetched_bytes(const ArrayPlace& place, const std::vector<mesh::Box>& boxes);

}  // namespace glean::store
