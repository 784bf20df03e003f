// SPDX-License-Identifier: BSD-3-Clause
//
// One captured run of a box, and where its elements go in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "mesh/box.hpp"
#include "mesh/pattern.hpp"
#include "mesh/run_list.hpp"
#include "store/convert.hpp"
#include "store/layout.hpp"

namespace glean::store {

using base::Bytes;
using base::Extent;

// Elements [first, first + elements) of a box of one record of a variable. The bytes of a piece lie in the file in the
// same order as in the pool, with holes.
class Piece {
 public:
  // Refers to `variable`. Throws invalid_argument when the elements do not lie in the box, the box not in the variable,
  // or the record not in a file.
  Piece(const VariableLayout& variable, std::uint64_t record, const mesh::Box& box, std::uint64_t first,
        std::uint64_t elements);
  // Bytes of a file that is nothing but bytes: each is an element.
  explicit Piece(mesh::PatternPart bytes);
  // Likewise. Refers to the table of the list.
  explicit Piece(const mesh::RunList& bytes);

  [[nodiscard]] Bytes file_bytes() const { return elements_ * element_bytes_; }
  // From the first to after the last byte of the piece in the file.
  [[nodiscard]] Extent file_extent() const;
  // How many bytes of the piece lie before a file offset. O(dimensions).
  [[nodiscard]] Bytes bytes_before(Bytes file_offset) const;
  // The first byte of the piece at or after a file offset, if any. O(dimensions).
  [[nodiscard]] std::optional<Bytes> next_byte(Bytes file_offset) const;

  // A run of elements that lie side by side in the file.
  struct Run {
    std::uint64_t source;     // index of the first in the piece's payload
    std::uint64_t elements;
    Bytes file_offset;
  };
  // Calls visit(Run) for every run of which at least a byte lies in `window`, ascending. The first and the last element
  // of a run may lie in the window only partly.
  template <class Visit>
  void for_each_run(Extent window, Visit visit) const {
    const auto visit_bytes = [&](const mesh::Pattern::Run& run) { visit(Run{run.source, run.bytes, run.file_offset}); };
    if (pattern_) return pattern_->for_each_run(window, visit_bytes);
    if (list_) return list_->for_each_run(window, visit_bytes);
    std::uint64_t row = first_row_touching(window.begin);
    for (; row <= last_row_; ++row) {
      Run run = run_of_row(row);
      if (run.file_offset >= window.end) return;
      if (run.file_offset + element_bytes_ <= window.begin) {
        const std::uint64_t skipped = (window.begin - run.file_offset) / element_bytes_;
        if (skipped >= run.elements) continue;
        run.source += skipped;
        run.elements -= skipped;
        run.file_offset += skipped * element_bytes_;
      }
      const Bytes room = window.end - run.file_offset;
      if (run.elements * element_bytes_ > room) run.elements = (room + element_bytes_ - 1) / element_bytes_;
      visit(run);
    }
  }

 private:
  [[nodiscard]] std::uint64_t first_row_touching(Bytes file_offset) const;
  [[nodiscard]] Run run_of_row(std::uint64_t row) const;   // clipped to the piece

  std::optional<mesh::PatternPart> pattern_;   // either of these, and then nothing of what follows but `elements_`
  std::optional<mesh::RunList> list_;
  mesh::Rows rows_;
  Bytes record_begin_ = 0;
  std::size_t element_bytes_ = 1;
  std::uint64_t first_ = 0;
  std::uint64_t elements_ = 0;
  std::uint64_t first_row_ = 0;
  std::uint64_t last_row_ = 0;
};

}  // namespace glean::store
