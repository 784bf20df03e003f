// SPDX-License-Identifier: BSD-3-Clause
//
// The typemap of a datatype, reduced to where its bytes lie. A vector of a million is one loop, not a million extents.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.hpp"

namespace glean::mpiio {

using base::Bytes;

struct Loop {
  std::uint64_t count = 1;
  std::int64_t stride = 0;   // bytes; may be negative, or less than what is repeated
  friend bool operator==(const Loop&, const Loop&) = default;
};

// Blocks of `block_bytes` at offset + i * outer.stride + sum(i_k * inner[k].stride), slowest loop first, which hold the
// bytes of the stream from `first_byte` on.
struct StridedBlocks {
  Bytes first_byte;
  std::int64_t offset;
  Bytes block_bytes;
  Loop outer;
  std::span<const Loop> inner;
};

// An immutable value; copies share what is below. The order of its bytes, the stream, is that of the typemap. Displacements
// may be absolute addresses.
class ByteMap {
 public:
  ByteMap() = default;   // no bytes
  [[nodiscard]] static ByteMap block(Bytes bytes);
  // One behind the other in the stream. What touches or repeats at a fixed distance becomes one. O(parts).
  [[nodiscard]] static ByteMap sequence(std::vector<ByteMap> parts);
  [[nodiscard]] ByteMap shifted(std::int64_t by) const;
  [[nodiscard]] ByteMap repeated(std::uint64_t count, std::int64_t stride) const;

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] bool is_contiguous() const { return node_ == nullptr; }
  // Lowest byte, and after the highest; 0 and 0 without bytes.
  [[nodiscard]] std::int64_t begin() const { return offset_ + (node_ == nullptr ? 0 : node_->begin); }
  [[nodiscard]] std::int64_t end() const { return offset_ + (node_ == nullptr ? static_cast<std::int64_t>(bytes_) : node_->end); }
  // Each byte of the stream lies behind the one before.
  [[nodiscard]] bool is_ascending() const { return node_ == nullptr || node_->ascending; }
  // In how many blocks it is written down; some of them may touch.
  [[nodiscard]] std::uint64_t blocks() const { return node_ != nullptr ? node_->blocks : bytes_ == 0 ? 0 : 1; }
  // Where a byte of the stream lies; `byte` < bytes(). O(depth * log parts).
  [[nodiscard]] std::int64_t offset_of(Bytes byte) const;
  // How often for_each(first, count) calls. O(depth * log parts), unless several parts of a sequence are not simple.
  [[nodiscard]] std::uint64_t visits(Bytes first, Bytes count) const;

  // Calls visit(StridedBlocks) for bytes [first, first + count) of the stream, in its order. O(depth * log parts) to find
  // the first; whole repetitions of a block or of nested loops of blocks are one call.
  template <class Visit>
  void for_each(Bytes first, Bytes count, Visit&& visit) const {
    if (count != 0) walk(first, count, first, 0, visit);
  }

 private:
  struct Sequence {
    std::vector<ByteMap> parts;
    std::vector<Bytes> ends;      // in the stream
    bool each_is_one_visit = true;
    [[nodiscard]] std::size_t part_of(Bytes byte) const {
      return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), byte) - ends.begin());
    }
    [[nodiscard]] Bytes begin_of(std::size_t part) const { return part == 0 ? 0 : ends[part - 1]; }
  };
  struct Node {
    std::vector<Loop> loops;                  // slowest first; some, unless `inside` is
    Bytes innermost_bytes = 0;                // of a block, or of what is inside
    std::shared_ptr<const Sequence> inside;   // null: a block
    std::int64_t begin = 0, end = 0;
    bool ascending = true;
    std::uint64_t blocks = 1, visits = 1;     // of all
  };

  static ByteMap of(std::vector<Loop> loops, Bytes innermost_bytes, std::shared_ptr<const Sequence> inside);
  [[nodiscard]] bool has_form_of(const ByteMap& other) const;   // equal up to the offset; may miss equality further down
  [[nodiscard]] std::uint64_t visits_in(std::span<const Loop> loops, Bytes loop_bytes, Bytes first, Bytes count) const;
  static std::vector<ByteMap> joined(std::vector<ByteMap> parts);
  static std::vector<ByteMap> folded(std::vector<ByteMap> parts);

  template <class Visit>
  void walk(Bytes first, Bytes count, Bytes stream, std::int64_t base, Visit& visit) const {
    if (node_ == nullptr) {
      visit(StridedBlocks{stream, base + offset_ + static_cast<std::int64_t>(first), count, {}, {}});
    } else {
      walk_loops(node_->loops, bytes_, first, count, stream, base + offset_, visit);
    }
  }

  // `loop_bytes` are those of all of `loops`: bytes [first, first + count) of them are asked for.
  template <class Visit>
  void walk_loops(std::span<const Loop> loops, Bytes loop_bytes, Bytes first, Bytes count, Bytes stream, std::int64_t base,
                  Visit& visit) const {
    if (loops.empty()) {
      walk_inside(first, count, stream, base, visit);
      return;
    }
    const Loop outer = loops.front();
    const auto inner = loops.subspan(1);
    const Bytes one = loop_bytes / outer.count;
    std::uint64_t index = first / one;
    const auto at = [&] { return base + static_cast<std::int64_t>(index) * outer.stride; };
    if (const Bytes skipped = first % one; skipped != 0 || count < one) {
      const Bytes head = std::min(count, one - skipped);
      walk_loops(inner, one, skipped, head, stream, at(), visit);
      stream += head, count -= head, ++index;
    }
    if (const std::uint64_t whole = count / one; whole != 0 && node_->inside == nullptr) {
      visit(StridedBlocks{stream, at(), node_->innermost_bytes, {whole, outer.stride}, inner});
      stream += whole * one, count -= whole * one, index += whole;
    }
    for (; count >= one; stream += one, count -= one, ++index) walk_loops(inner, one, 0, one, stream, at(), visit);
    if (count != 0) walk_loops(inner, one, 0, count, stream, at(), visit);
  }

  template <class Visit>
  void walk_inside(Bytes first, Bytes count, Bytes stream, std::int64_t base, Visit& visit) const {
    if (node_->inside == nullptr) {
      visit(StridedBlocks{stream, base + static_cast<std::int64_t>(first), count, {}, {}});
      return;
    }
    const Sequence& sequence = *node_->inside;
    for (std::size_t part = sequence.part_of(first); count != 0; ++part) {
      const Bytes here = std::min(count, sequence.ends[part] - first);
      sequence.parts[part].walk(first - sequence.begin_of(part), here, stream, base, visit);
      first += here, stream += here, count -= here;
    }
  }

  std::int64_t offset_ = 0;
  Bytes bytes_ = 0;
  std::shared_ptr<const Node> node_;   // null: one block
};

}  // namespace glean::mpiio
