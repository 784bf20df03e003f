// SPDX-License-Identifier: BSD-3-Clause
//
// Elements of a file that picks take, window by window.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "convert/source.hpp"
#include "mesh/box.hpp"
#include "reduce/selection.hpp"

namespace glean::convert {

// Of one thread. It holds 4 MiB, however large variables are.
class PickedElements {
 public:
  // `picks`: of the dimensions of the file. Both must outlive this.
  PickedElements(const Source& source, const std::vector<reduce::Pick>& picks);

  // Elements of a box, which counts indices of the picks of the variable's dimensions, row by row and as they are in the file: big-endian.
  // Reads what lies between them, too, where they are dense. Throws as Source. Blocks.
  void read(int variable, const mesh::Box& box, std::span<std::byte> into);
  void read(int variable, const mesh::Box& box, std::span<double> into);

 private:
  struct Level {
    std::uint64_t first = 0, step = 1, count = 1, stride = 1;   // in elements of a record
    std::uint64_t span = 1, picked = 1;                         // of it and what is inside, from the first to the last element
  };
  void read_record(int variable, std::uint64_t record, const std::vector<Level>& levels, std::byte*& into);
  void read_level(int variable, std::uint64_t record, const std::vector<Level>& levels, std::size_t level, std::uint64_t base,
                  std::byte*& into);
  void read_row(int variable, std::uint64_t record, const Level& row, std::uint64_t base, std::byte*& into);
  std::span<const std::byte> fetch(int variable, std::uint64_t record, std::uint64_t first, std::uint64_t count);

  const Source& source_;
  const std::vector<reduce::Pick>& picks_;
  std::vector<std::byte> buffer_, raw_;
};

// The shape of the boxes of for_each_window(), but for the last along a dimension.
[[nodiscard]] mesh::Shape window_shape(const mesh::Shape& shape, std::uint64_t elements_most, bool one_record);
// The boxes of a shape, one behind the other, each with as many elements at most and without a gap, row by row. `one_record`: the first
// dimension counts records, and no box has two.
void for_each_window(const mesh::Shape& shape, std::uint64_t elements_most, bool one_record,
                     const std::function<void(const mesh::Box&)>& use);

}   // namespace glean::convert
