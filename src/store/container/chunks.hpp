// SPDX-License-Identifier: BSD-3-Clause
//
// Where the bytes of a task lie in a container: docs/formats/container.md
//
// Pure. A rank that knows how many tasks its physical file has, their one chunk size and the block size computes its own places without
// asking another one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"

namespace glean::store {

using base::Bytes;

// GLEAN's trailer at the end of each chunk (chunk_trailer.hpp). SIONlib's own files have none.
inline constexpr Bytes chunk_trailer_bytes = 64;

// How much of a task is read and written at once.
inline constexpr std::size_t container_piece_bytes = 4 * base::MiB;

// Of the metadata at the begin (META1).
[[nodiscard]] constexpr Bytes container_header_bytes(std::uint64_t tasks) { return 1088 + 16 * tasks; }
// Of the first chunk of the first task.
[[nodiscard]] constexpr Bytes container_data_begin(std::uint64_t tasks, Bytes block_bytes) {
  return base::align_up(container_header_bytes(tasks), block_bytes);
}
// Of a chunk that has room for so many bytes and a trailer.
[[nodiscard]] constexpr Bytes chunk_bytes_for(Bytes bytes, Bytes block_bytes) {
  return base::align_up(bytes + chunk_trailer_bytes, block_bytes);
}
// Where a task says nothing of its size: a block, and at least 1 MiB.
[[nodiscard]] constexpr Bytes default_chunk_bytes(Bytes block_bytes) {
  return base::align_up(block_bytes > base::MiB ? block_bytes : base::MiB, block_bytes);
}

// The chunks of one task in its physical file.
struct TaskChunks {
  Bytes begin = 0;           // of chunk 0
  Bytes chunk_bytes = 0;     // of each, with its trailer
  Bytes stride = 0;          // from one chunk to the next: the chunks of all tasks
  Bytes trailer_bytes = 0;   // chunk_trailer_bytes, or 0

  // How many bytes of the task a chunk holds at most.
  [[nodiscard]] constexpr Bytes capacity() const { return chunk_bytes > trailer_bytes ? chunk_bytes - trailer_bytes : 0; }
  [[nodiscard]] constexpr Bytes begin_of(std::uint64_t chunk) const { return begin + chunk * stride; }
  [[nodiscard]] constexpr Bytes trailer_of(std::uint64_t chunk) const { return begin_of(chunk) + chunk_bytes - trailer_bytes; }
  // Whether the whole chunk ends at or before `end`; without overflow.
  [[nodiscard]] constexpr bool ends_before(std::uint64_t chunk, Bytes end) const {
    if (end < begin || end - begin < chunk_bytes) return false;
    return chunk == 0 || (stride != 0 && chunk <= (end - begin - chunk_bytes) / stride);
  }
  friend constexpr bool operator==(const TaskChunks&, const TaskChunks&) = default;
};

// Of task `local` of `tasks` tasks in one physical file, whose chunks are all `chunk_bytes` long, a multiple of the block size.
[[nodiscard]] constexpr TaskChunks uniform_chunks(std::uint64_t tasks, Bytes block_bytes, Bytes chunk_bytes, std::uint64_t local) {
  return {container_data_begin(tasks, block_bytes) + local * chunk_bytes, chunk_bytes, tasks * chunk_bytes, chunk_trailer_bytes};
}

// Where byte `position` of a task lies all whose chunks before are full.
[[nodiscard]] constexpr Bytes place_of(const TaskChunks& chunks, Bytes position) {
  return chunks.begin_of(position / chunks.capacity()) + position % chunks.capacity();
}

}  // namespace glean::store
