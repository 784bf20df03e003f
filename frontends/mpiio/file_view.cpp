// SPDX-License-Identifier: BSD-3-Clause
#include "file_view.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace glean::mpiio {
namespace {

constexpr std::int64_t last_offset = std::numeric_limits<std::int64_t>::max();

// As many copies of the filetype as there can be: the last byte is at most at `last_offset`, and so is their number.
ByteMap tiled(std::int64_t displacement, const FlatType& filetype) {
  if (filetype.size() == 0) return {};
  const auto size = static_cast<std::int64_t>(filetype.size());
  const std::int64_t room = last_offset - std::max<std::int64_t>(displacement, 0) - std::max<std::int64_t>(filetype.true_ub(), 0);
  if (room < 0) return {};
  std::int64_t count = 1;   // a filetype that goes backwards is not one; that it is there is all that can be said
  if (filetype.extent() == 0) count = last_offset / size;
  if (filetype.extent() > 0) count = std::max<std::int64_t>(std::min(room / filetype.extent(), last_offset / size), 1);
  return filetype.map().repeated(static_cast<std::uint64_t>(count), filetype.extent()).shifted(displacement);
}

}  // namespace

FileView::FileView(std::int64_t displacement, const FlatType& filetype)
    : filetype_bytes_(filetype.size()), blocks_in_filetype_(filetype.map().blocks()), tiles_(tiled(displacement, filetype)) {}

void FileView::check(Bytes first_byte, Bytes bytes) const {
  if (bytes > tiles_.bytes() || first_byte > tiles_.bytes() - bytes) {
    throw base::Error(base::Errc::out_of_range, "bytes " + std::to_string(first_byte) + " to " + std::to_string(first_byte + bytes) +
                                                    " of a file view lie behind the largest offset of a file");
  }
  if (bytes != 0 && tiles_.begin() < 0) {
    throw base::Error(base::Errc::out_of_range, "a file view reaches to byte " + std::to_string(tiles_.begin()) +
                                                    ", before the beginning of the file");
  }
}

mesh::Pattern FileView::pattern_of(const StridedBlocks& blocks) {
  mesh::Pattern pattern{.offset = static_cast<Bytes>(blocks.offset), .block_bytes = blocks.block_bytes, .levels = {}};
  pattern.levels.reserve((blocks.outer.count != 1 ? 1 : 0) + blocks.inner.size());   // of one run nothing is allocated
  if (blocks.outer.count != 1) pattern.levels.push_back({blocks.outer.count, static_cast<Bytes>(blocks.outer.stride)});
  for (const Loop& loop : blocks.inner) pattern.levels.push_back({loop.count, static_cast<Bytes>(loop.stride)});
  return pattern;
}

std::vector<mesh::Pattern> FileView::place(Bytes first_byte, Bytes bytes) const {
  std::vector<mesh::Pattern> patterns;
  for_each_place(first_byte, bytes, [&](mesh::Pattern&& pattern) { patterns.push_back(std::move(pattern)); });
  return patterns;
}

base::Extent FileView::extent_of(Bytes first_byte, Bytes bytes) const {
  check(first_byte, bytes);
  return {static_cast<Bytes>(tiles_.offset_of(first_byte)), static_cast<Bytes>(tiles_.offset_of(first_byte + bytes - 1)) + 1};
}

std::uint64_t FileView::places_for(Bytes first_byte, Bytes bytes) const {
  check(first_byte, bytes);
  if (bytes == 0) return 0;
  if (tiles_.is_ascending()) return tiles_.visits(first_byte, bytes);
  // What does not ascend is taken apart, at worst into its blocks.
  const std::uint64_t filetypes = (first_byte + bytes - 1) / filetype_bytes_ - first_byte / filetype_bytes_ + 1;
  return filetypes * blocks_in_filetype_;
}

}  // namespace glean::mpiio
