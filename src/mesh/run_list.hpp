// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of a file in runs that follow no rule, as a table: what a write of many small irregular pieces leaves in the pool.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "mesh/box.hpp"
#include "mesh/pattern.hpp"

namespace glean::mesh {

// A run as its table has it: where it begins in the file, counted from the first run, and in the stream. It reaches to where the next one
// begins in the stream.
struct ListedRun {
  std::uint32_t offset = 0;
  std::uint32_t source = 0;
  friend bool operator==(const ListedRun&, const ListedRun&) = default;
};

// Ascending, disjoint runs, one after the other in the stream. A view: the table must live as long.
class RunList {
 public:
  // Throws invalid_argument unless `runs`, which hold the first of `bytes` bytes, ascend, are disjoint and not empty, and end in a file.
  RunList(Bytes begin, Bytes bytes, std::span<const ListedRun> runs);

  [[nodiscard]] Bytes file_bytes() const { return bytes_; }
  [[nodiscard]] Extent file_extent() const { return {begin_, begin_ + end_of(runs_.size() - 1)}; }
  [[nodiscard]] std::span<const ListedRun> runs() const { return runs_; }
  // How many bytes lie before a file offset. O(log runs).
  [[nodiscard]] Bytes bytes_before(Bytes file_offset) const;
  // The first byte at or after a file offset, if any. O(log runs).
  [[nodiscard]] std::optional<Bytes> next_byte(Bytes file_offset) const;

  // Calls visit(Pattern::Run) for every run in `window`, ascending, clipped to it. The first is found in O(log runs).
  template <class Visit>
  void for_each_run(Extent window, Visit visit) const {
    for (std::size_t run = first_ending_after(window.begin); run < runs_.size(); ++run) {
      const Bytes position = begin_ + runs_[run].offset;
      if (position >= window.end) return;
      const Bytes begin = std::max(position, window.begin), end = std::min(begin_ + end_of(run), window.end);
      if (begin < end) visit(Pattern::Run{runs_[run].source + (begin - position), end - begin, begin});
    }
  }

 private:
  [[nodiscard]] Bytes bytes_of(std::size_t run) const {
    return (run + 1 < runs_.size() ? runs_[run + 1].source : bytes_) - runs_[run].source;
  }
  [[nodiscard]] Bytes end_of(std::size_t run) const { return runs_[run].offset + bytes_of(run); }
  [[nodiscard]] std::size_t first_ending_after(Bytes file_offset) const;

  Bytes begin_, bytes_;
  std::span<const ListedRun> runs_;
};

// Collects runs until one does not fit, or enough have come.
class RunListBuilder {
 public:
  // Data and table take `most_bytes` together at most.
  explicit RunListBuilder(Bytes most_bytes) : most_bytes_(std::min<Bytes>(most_bytes, std::numeric_limits<std::uint32_t>::max())) {}

  // False, and nothing is added, when it lies before what is there or too far behind it, when there is no room for it, and at the very end
  // of what files reach to.
  [[nodiscard]] bool add(Bytes offset, Bytes bytes);
  [[nodiscard]] bool empty() const { return runs_.empty(); }
  [[nodiscard]] Bytes begin() const { return begin_; }   // of the first run, if there is one
  [[nodiscard]] Bytes end() const { return end_; }       // of the last
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] std::span<const ListedRun> runs() const { return runs_; }
  void clear();

 private:
  Bytes most_bytes_;
  Bytes begin_ = 0, end_ = 0, bytes_ = 0;
  std::vector<ListedRun> runs_;
};

// A run list in the pool's journal: the box of a pattern which has blocks of no bytes and one level (Pattern), and as its payload the
// bytes, then, aligned to 8, the table.
struct RecordedRunList {
  Bytes begin = 0;
  std::uint64_t runs = 0;
  Bytes extent = 0;   // from the first to after the last byte

  // As words of a record.
  [[nodiscard]] std::array<std::uint64_t, 4> encode() const { return {begin, 0, runs, extent}; }
  // Nothing if the words are not those of a list.
  [[nodiscard]] static std::optional<RecordedRunList> decode(std::span<const std::uint64_t> words);
  // Of the payload.
  [[nodiscard]] static Bytes table_offset(Bytes bytes) { return base::align_up(bytes, alignof(std::uint64_t)); }
  [[nodiscard]] Bytes payload_bytes(Bytes bytes) const { return table_offset(bytes) + runs * sizeof(ListedRun); }
  // The list, in a payload of `bytes` bytes and its table. Throws invalid_argument when they do not fit together.
  [[nodiscard]] RunList in(std::span<const std::byte> payload, Bytes bytes) const;
};

}  // namespace glean::mesh
