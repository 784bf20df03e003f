// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of arrays, and the contiguous rows that they consist of. All arrays are row-major, slowest
// dimension first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace glean::mesh {

using Shape = std::vector<std::uint64_t>;

// start[d] .. start[d] + count[d] in each dimension. A box without dimensions is one element.
struct Box {
  Shape start;
  Shape count;
  [[nodiscard]] std::uint64_t elements() const;
  // Asked of the counts: the number of elements of a box that cannot be may be 0 modulo 2^64.
  [[nodiscard]] bool empty() const;
  // Every index of `inner` is one of this box. An empty `inner` is contained in anything.
  [[nodiscard]] bool contains(const Box& inner) const;
  [[nodiscard]] bool intersects(const Box& other) const;
  friend bool operator==(const Box&, const Box&) = default;
};

[[nodiscard]] std::uint64_t elements_of(std::span<const std::uint64_t> shape);
[[nodiscard]] Box whole(const Shape& shape);
// "[0:4, 16:32)" as half-open ranges, for messages.
[[nodiscard]] std::string to_string(const Box& box);

// The same elements in as few boxes as come of joining neighbours along one dimension after the other; none twice. O(n log n).
[[nodiscard]] std::vector<Box> merged(std::vector<Box> boxes);

// A box of an array as rows: maximal runs that are contiguous in the array. Rows come in ascending
// order of array position, and so do the elements of the box.
class Rows {
 public:
  Rows() = default;   // none
  // Both must have the same number of dimensions, and the box must lie in the array.
  Rows(const Box& box, std::span<const std::uint64_t> array_shape);

  [[nodiscard]] std::uint64_t row_elements() const { return row_elements_; }
  [[nodiscard]] std::uint64_t row_count() const { return row_count_; }
  // Position in the array of the first element of row `row`. O(dimensions).
  [[nodiscard]] std::uint64_t position(std::uint64_t row) const;
  // First row that ends after array position `position`; row_count() if none does. O(dimensions).
  [[nodiscard]] std::uint64_t first_row_ending_after(std::uint64_t position) const;

 private:
  struct Level { std::uint64_t count, stride; };  // of the dimensions outside a row, slowest first
  std::vector<Level> levels_;
  std::uint64_t first_ = 0;         // array position of the box's first element
  std::uint64_t row_elements_ = 0;
  std::uint64_t row_count_ = 0;
};

}  // namespace glean::mesh
