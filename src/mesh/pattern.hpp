// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of a file that repeat at fixed strides, as one small value: what a strided write leaves in the journal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "mesh/box.hpp"

namespace glean::mesh {

using base::Bytes;
using base::Extent;

// Runs of `block_bytes` at offset + sum(i_k * levels[k].stride), i_k < levels[k].count; slowest level first. The bytes
// of the runs, in this order, are the pattern's stream.
//
// Everything but is_valid() and decode() asks for a pattern that is valid.
struct Pattern {
  struct Level {
    std::uint64_t count = 0;
    Bytes stride = 0;
    friend bool operator==(const Level&, const Level&) = default;
  };
  Bytes offset = 0;
  Bytes block_bytes = 0;
  std::vector<Level> levels;

  // A box of a row-major array that starts at `begin`. The box must lie in the array, and the array in a file.
  [[nodiscard]] static Pattern from_box(std::span<const std::uint64_t> shape, const Box& box, Bytes element_bytes,
                                        Bytes begin);

  // The runs ascend and are disjoint: each stride is at least the extent of what is inside, and end() is at most
  // 2^63 - 1. The only valid pattern without bytes is that of no block and no levels. For any numbers.
  [[nodiscard]] bool is_valid() const;
  // The same stream with the longest blocks and fewest levels: none of count 1, none whose runs touch, none that goes on
  // at the stride of the next.
  [[nodiscard]] Pattern canonical() const;

  [[nodiscard]] std::uint64_t runs() const;
  [[nodiscard]] Bytes bytes() const { return runs() * block_bytes; }
  // After the last byte in the file.
  [[nodiscard]] Bytes end() const;
  // Where a byte of the stream lies in the file; `stream_byte` < bytes(). O(levels).
  [[nodiscard]] Bytes file_offset(Bytes stream_byte) const;
  // How many bytes of the pattern lie before a file offset. O(levels).
  [[nodiscard]] Bytes bytes_before(Bytes file_offset) const;
  // The first byte of the pattern at or after a file offset, if any. O(levels).
  [[nodiscard]] std::optional<Bytes> next_byte(Bytes file_offset) const;

  struct Run {
    Bytes source;        // byte in the stream
    Bytes bytes;
    Bytes file_offset;
    friend bool operator==(const Run&, const Run&) = default;
  };
  // Calls visit(Run) for what of the stream's bytes [first_byte, first_byte + byte_count) lies in the window, ascending.
  // Runs are clipped to both. The first is found in O(levels), nothing is allocated.
  template <class Visit>
  void for_each_run(Bytes first_byte, Bytes byte_count, Extent window, Visit visit) const {
    if (byte_count == 0 || window.empty()) return;
    const Bytes after = first_byte + byte_count;
    const std::uint64_t last_run = (after - 1) / block_bytes;
    const std::uint64_t row_runs = levels.empty() ? 1 : levels.back().count;
    const Bytes stride = levels.empty() ? 0 : levels.back().stride;
    std::uint64_t run = std::max(first_byte / block_bytes, first_run_ending_after(window.begin));
    while (run <= last_run) {
      const std::uint64_t row_end = std::min(run - run % row_runs + row_runs, last_run + 1);
      for (Bytes position = position_of_run(run); run < row_end; ++run, position += stride) {
        const Bytes run_source = run * block_bytes;
        const Bytes skipped = first_byte > run_source ? first_byte - run_source : 0;
        const Bytes begin = std::max(position + skipped, window.begin);
        const Bytes end = std::min(position + std::min(block_bytes, after - run_source), window.end);
        if (position >= window.end) return;
        if (begin < end) visit(Run{run_source + (begin - position), end - begin, begin});
      }
    }
  }

  // As words of a journal: offset, block_bytes, then count and stride of each level.
  [[nodiscard]] std::vector<std::uint64_t> encode() const;
  // Nothing if the words are not those of a valid pattern.
  [[nodiscard]] static std::optional<Pattern> decode(std::span<const std::uint64_t> words);

  friend bool operator==(const Pattern&, const Pattern&) = default;

 private:
  [[nodiscard]] Bytes position_of_run(std::uint64_t run) const;
  [[nodiscard]] std::uint64_t first_run_ending_after(Bytes file_offset) const;   // runs() if none does
};

// Bytes [first, first + bytes) of the stream of a pattern: what one captured run of it is.
class PatternPart {
 public:
  // Throws invalid_argument when the pattern is not valid or the bytes, at least one, do not lie in its stream.
  PatternPart(Pattern pattern, Bytes first, Bytes bytes);

  [[nodiscard]] const Pattern& pattern() const { return pattern_; }
  [[nodiscard]] Bytes first_byte() const { return first_; }   // of the stream
  [[nodiscard]] Bytes file_bytes() const { return bytes_; }
  // From the first to after the last byte of the part in the file.
  [[nodiscard]] Extent file_extent() const;
  // How many bytes of the part lie before a file offset. O(levels).
  [[nodiscard]] Bytes bytes_before(Bytes file_offset) const;
  // The first byte of the part at or after a file offset, if any. O(levels).
  [[nodiscard]] std::optional<Bytes> next_byte(Bytes file_offset) const;

  // Calls visit(Pattern::Run) for every run of the part in `window`, ascending, clipped to it. `source` counts from the
  // first byte of the part.
  template <class Visit>
  void for_each_run(Extent window, Visit visit) const {
    pattern_.for_each_run(first_, bytes_, window, [&](Pattern::Run run) {
      run.source -= first_;
      visit(run);
    });
  }

 private:
  Pattern pattern_;
  Bytes first_ = 0;
  Bytes bytes_ = 0;
};

}  // namespace glean::mesh
