// SPDX-License-Identifier: BSD-3-Clause
//
// The metadata at the begin of a container (META1 of SIONlib's multifile format 5): docs/formats/container.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/container/chunks.hpp"
#include "store/layout.hpp"

namespace glean::store {

// A longer one is refused: 16 million tasks in one physical file.
inline constexpr Bytes container_header_most = 256 * base::MiB;
// What the name in it may have; behind it is GLEAN's mark.
inline constexpr std::size_t container_prefix_most = 1007;

// Of flag 1; others are kept as they are.
enum KeyValueMode : std::uint32_t { no_key_values = 50, inline_key_values = 51, meta_key_values = 52, hashed_key_values = 53 };

struct ContainerHeader {
  ByteOrder order = ByteOrder::little;        // of the metadata
  ByteOrder data_order = ByteOrder::little;   // of the tasks' bytes, as the program has said; nothing here looks at it
  std::uint32_t version = 1007, patch_level = 6;   // of the SIONlib that writes so
  Bytes block_bytes = 4096;
  std::uint32_t files = 1, file = 0;          // physical files; which of them this is
  std::uint32_t key_value_mode = no_key_values;
  std::string prefix;                         // the name under which it was opened; readers use the one that they were given
  std::optional<std::uint64_t> id;            // the same in all physical files of one container; nothing: GLEAN has not written it
  std::vector<std::uint64_t> global_ranks;    // of each task in this file
  std::vector<Bytes> chunk_bytes;             // the same, with trailers
  std::uint64_t chunks_most = 0;              // of one task; known at the close
  Bytes index_begin = 0;                      // of the metadata at the end (META2); 0: it was never closed

  [[nodiscard]] std::size_t tasks() const { return global_ranks.size(); }
  [[nodiscard]] bool is_closed() const { return index_begin != 0; }
  [[nodiscard]] Bytes trailer_bytes() const { return id ? chunk_trailer_bytes : 0; }
  // From one chunk of a task to the next.
  [[nodiscard]] Bytes stride() const;
  // Where META2 belongs when no task has more chunks.
  [[nodiscard]] Bytes index_begin_after(std::uint64_t chunks) const {
    return container_data_begin(tasks(), block_bytes) + chunks * stride();
  }
  // Of all tasks. O(tasks).
  [[nodiscard]] std::vector<TaskChunks> chunks() const;
  friend bool operator==(const ContainerHeader&, const ContainerHeader&) = default;
};

// What `header` must be for encode_container_header(): throws invalid_argument with all defects. Pure.
void check_container_header(const ContainerHeader& header);
// container_header_bytes() bytes. Pure.
[[nodiscard]] std::vector<std::byte> encode_container_header(const ContainerHeader& header);

// Of a file of `file_bytes` bytes, of which `begin` are the first. Nothing where it does not end in them and the file goes on. Takes memory
// in proportion to `begin`. Throws invalid_argument: it is none; io with all defects. Pure.
[[nodiscard]] std::optional<ContainerHeader> parse_container_header(std::span<const std::byte> begin, Bytes file_bytes);

// "restart.sion", "restart.sion.000001", …
[[nodiscard]] std::string physical_path(const std::string& path, std::uint32_t file);

}  // namespace glean::store
