// SPDX-License-Identifier: BSD-3-Clause
//
// The metadata at the end of a container (META2 of SIONlib's multifile format 5), and GLEAN's table of names behind it:
// docs/formats/container.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/container/container_header.hpp"

namespace glean::store {

// With the table of names. A longer one is neither read nor made.
inline constexpr Bytes container_index_most = base::GiB;

// In which physical file a rank is, and which of its tasks it is.
struct TaskPlace {
  std::uint32_t file = 0, local = 0;
  friend bool operator==(const TaskPlace&, const TaskPlace&) = default;
};

struct ContainerIndex {
  std::vector<std::uint64_t> chunks;   // of each task in this file
  std::vector<Bytes> used;             // of chunk c of task t: [c * tasks + t]
  std::vector<TaskPlace> mapping;      // of each global rank; only in file 0 of several

  [[nodiscard]] std::uint64_t chunks_most() const;
  // Of the bytes that the task has in each chunk. O(chunks).
  [[nodiscard]] std::vector<Bytes> used_by(std::size_t task) const;
  friend bool operator==(const ContainerIndex&, const ContainerIndex&) = default;
};

// From the chunks of each task: how many bytes each has. A task without any gets one of no bytes, as SIONlib does it. Pure.
[[nodiscard]] ContainerIndex make_container_index(const std::vector<std::vector<Bytes>>& used);

// For a writer, before it makes the index of these. Throws invalid_argument where that would be longer than container_index_most. Pure.
void check_index_length(const std::vector<std::vector<Bytes>>& used);

// SIONlib writes how many ranks are mapped only where there are some. Where other bytes follow, a count of 0 has to be before them.
enum class AfterIndex { nothing, more };
[[nodiscard]] std::vector<std::byte> encode_container_index(const ContainerIndex& index, ByteOrder order, AfterIndex after);

struct ParsedIndex {
  ContainerIndex index;
  Bytes bytes = 0;   // that it takes
};
// `bytes`: from header.index_begin on, whatever follows. Throws io with all defects. Takes memory in proportion to `bytes`. Pure.
[[nodiscard]] ParsedIndex parse_container_index(const ContainerHeader& header, std::span<const std::byte> bytes);

// A part of a task's bytes that has a name.
struct LogicalFile {
  std::string name;
  std::uint64_t rank = 0;   // the task's
  Bytes begin = 0, bytes = 0;
  friend bool operator==(const LogicalFile&, const LogicalFile&) = default;
};

// Behind META2, at the next multiple of 8. Little-endian in every container.
struct NameTable {
  std::uint64_t id = 0;
  std::uint64_t header_sum = 0, index_sum = 0;   // XXH3-64 of META1, as it is after the close, and of META2
  std::vector<LogicalFile> files;                // of tasks in this physical file
  friend bool operator==(const NameTable&, const NameTable&) = default;
};

[[nodiscard]] constexpr Bytes name_table_begin(Bytes index_begin, Bytes index_bytes) {
  return base::align_up(index_begin + index_bytes, 8);
}
// Throws invalid_argument: a name is empty, longer than 4095 bytes or has a zero byte.
[[nodiscard]] std::vector<std::byte> encode_name_table(const NameTable& table);
// Throws io: it is not what encode_name_table() has made. Takes memory in proportion to `bytes`. Pure.
[[nodiscard]] NameTable parse_name_table(std::span<const std::byte> bytes);

[[nodiscard]] std::uint64_t sum_of(std::span<const std::byte> bytes);

// META1, and META2 with the table of names behind it, for a container whose tasks have used their chunks so. Both ends of the file are then
// complete; `header.chunks_most` and `index_begin` are set. Throws
// invalid_argument where the end is longer than container_index_most. Pure.
struct ContainerEnds {
  std::vector<std::byte> begin;
  Bytes end_offset = 0;
  std::vector<std::byte> end;
};
[[nodiscard]] ContainerEnds close_container(ContainerHeader header, const ContainerIndex& index, const std::vector<LogicalFile>& files);

}  // namespace glean::store
