// SPDX-License-Identifier: BSD-3-Clause
//
// A view of MPI-IO as bytes: where in the file what a rank writes through it goes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "flat_type.hpp"
#include "mesh/pattern.hpp"

namespace glean::mpiio {

// Hands on patterns as they come, but lets runs that touch be one, and runs of one length at a fixed distance be one pattern.
template <class Visit>
class JoinedRuns {
 public:
  explicit JoinedRuns(Visit& visit) : visit_(visit) {}

  void add(mesh::Pattern&& pattern) {
    const bool is_run = pattern.levels.empty();
    if (is_run && run_.bytes != 0 && pattern.offset == run_.offset + run_.bytes) {
      run_.bytes += pattern.block_bytes;
      return;
    }
    end_run();
    if (is_run) {
      run_ = {pattern.offset, pattern.block_bytes};
    } else {
      end_row();
      visit_(std::move(pattern));
    }
  }
  void finish() {
    end_run();
    end_row();
  }

 private:
  struct Run {
    Bytes offset = 0, bytes = 0;
  };

  void end_run() {
    if (run_.bytes == 0) return;
    if (row_.block_bytes == run_.bytes && run_.offset > row_.offset + row_.block_bytes) {
      const Bytes distance = run_.offset - row_.offset;
      if (row_.levels.empty()) {
        row_.levels.push_back({2, distance});
        run_ = {};
        return;
      }
      if (distance == row_.levels[0].count * row_.levels[0].stride) {
        ++row_.levels[0].count;
        run_ = {};
        return;
      }
    }
    end_row();
    row_ = {.offset = run_.offset, .block_bytes = run_.bytes, .levels = {}};
    run_ = {};
  }
  void end_row() {
    if (row_.block_bytes != 0) visit_(std::move(row_));
    row_ = {};
  }

  Visit& visit_;
  mesh::Pattern row_;   // runs that are over, at a fixed distance
  Run run_;             // the last one, which may go on
};

// Copies of a filetype, one extent apart, from byte `displacement` of the file on. Bytes of the view are those of its
// stream, counted from 0. A value: the datatypes may be freed. Local.
class FileView {
 public:
  FileView(std::int64_t displacement, const FlatType& filetype);

  // Where bytes [first_byte, first_byte + bytes) of the view lie, in the order of the view: each pattern goes on in the
  // stream where the one before ends, and if the view ascends, as MPI asks for, behind it in the file. Whole repetitions of a
  // regular filetype are one pattern. Throws out_of_range where no file reaches, or before the beginning of the file.
  [[nodiscard]] std::vector<mesh::Pattern> place(Bytes first_byte, Bytes bytes) const;
  // How many patterns place() makes at most, without making them. An irregular filetype has up to one for each part.
  [[nodiscard]] std::uint64_t places_for(Bytes first_byte, Bytes bytes) const;
  // Each byte of the view lies behind the one before.
  [[nodiscard]] bool ascends() const { return tiles_.is_ascending(); }
  // Of a view that ascends: from the first to after the last of these bytes, at least one, in the file. Throws as place().
  [[nodiscard]] base::Extent extent_of(Bytes first_byte, Bytes bytes) const;
  // place() without keeping them: calls visit(mesh::Pattern&&).
  template <class Visit>
  void for_each_place(Bytes first_byte, Bytes bytes, Visit visit) const {
    check(first_byte, bytes);
    JoinedRuns joined(visit);
    tiles_.for_each(first_byte, bytes, [&](const StridedBlocks& blocks) {
      for_each_valid(blocks, [&](mesh::Pattern&& pattern) { joined.add(std::move(pattern)); });
    });
    joined.finish();
  }

 private:
  void check(Bytes first_byte, Bytes bytes) const;
  static mesh::Pattern pattern_of(const StridedBlocks& blocks);

  // The blocks as one pattern, or as several if they do not ascend.
  template <class Visit>
  static void for_each_valid(StridedBlocks blocks, Visit visit) {
    const mesh::Pattern pattern = pattern_of(blocks);
    if (pattern.is_valid()) return visit(pattern.canonical());
    for (std::uint64_t i = 0; i < blocks.outer.count; ++i) {
      StridedBlocks one = blocks;
      one.offset += static_cast<std::int64_t>(i) * blocks.outer.stride;
      one.outer = blocks.inner.empty() ? Loop{} : blocks.inner.front();
      one.inner = blocks.inner.empty() ? blocks.inner : blocks.inner.subspan(1);
      for_each_valid(one, visit);
    }
  }

  Bytes filetype_bytes_ = 0;
  std::uint64_t blocks_in_filetype_ = 0;
  ByteMap tiles_;   // as many as a file has room for
};

}  // namespace glean::mpiio
