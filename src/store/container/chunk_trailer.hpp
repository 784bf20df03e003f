// SPDX-License-Identifier: BSD-3-Clause
//
// What GLEAN keeps in the last 64 bytes of each chunk, so that a container without an index can be read, and checked:
// docs/formats/container.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "store/container/chunks.hpp"

namespace glean::store {

struct ChunkTrailer {
  std::uint64_t id = 0;        // of the container
  std::uint64_t rank = 0;      // of the task, global
  std::uint64_t chunk = 0;
  Bytes used = 0;              // from the begin of the chunk on
  std::uint64_t sum = 0;       // XXH3-64 of them
  bool is_last = false;        // the task was closed with this chunk
  friend bool operator==(const ChunkTrailer&, const ChunkTrailer&) = default;
};

using EncodedTrailer = std::array<std::byte, chunk_trailer_bytes>;
[[nodiscard]] EncodedTrailer encode_chunk_trailer(const ChunkTrailer& trailer);
// Nothing where `bytes` are not what encode_chunk_trailer() has made: by magic and checksum.
[[nodiscard]] std::optional<ChunkTrailer> parse_chunk_trailer(std::span<const std::byte> bytes);

}  // namespace glean::store
