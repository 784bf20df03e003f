// SPDX-License-Identifier: BSD-3-Clause
//
// Where the rows of a box are in a file, and which of them are read together.
#pragma once

#include <cstdint>
#include <utility>

#include "base/bytes.hpp"
#include "mesh/box.hpp"

namespace glean::store {

using base::Bytes;

// From storage it takes no longer to read so many bytes too much than to ask once more.
inline constexpr Bytes fetched_gap_most = 64 * base::KiB;

class RowRuns {
 public:
  // The array begins at `begin` in the file.
  RowRuns(mesh::Rows rows, Bytes begin, Bytes element_bytes) : rows_(std::move(rows)), begin_(begin), element_bytes_(element_bytes) {}

  [[nodiscard]] const mesh::Rows& rows() const { return rows_; }
  [[nodiscard]] Bytes row_bytes() const { return rows_.row_elements() * element_bytes_; }
  [[nodiscard]] Bytes begin_of(std::uint64_t row) const { return begin_ + rows_.position(row) * element_bytes_; }
  // The first row that ends behind this place of the file; as many as there are if none does.
  [[nodiscard]] std::uint64_t first_row_ending_after(Bytes place) const {
    return place < begin_ ? 0 : rows_.first_row_ending_after((place - begin_) / element_bytes_);
  }

  // At least `row`, and those behind it that begin so close behind the one before that all are in `most` bytes.
  struct Run {
    std::uint64_t next;   // row
    Bytes end;            // of the last one before
  };
  [[nodiscard]] Run close_rows(std::uint64_t row, Bytes gap_most, Bytes most) const {
    const Bytes first = begin_of(row);
    Run run{row + 1, first + row_bytes()};
    for (; run.next < rows_.row_count(); ++run.next) {
      const Bytes at = begin_of(run.next);
      if (at - run.end > gap_most || at + row_bytes() - first > most) break;
      run.end = at + row_bytes();
    }
    return run;
  }

 private:
  mesh::Rows rows_;
  Bytes begin_, element_bytes_;
};

}  // namespace glean::store
