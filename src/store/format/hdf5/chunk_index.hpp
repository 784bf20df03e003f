// SPDX-License-Identifier: BSD-3-Clause
//
// The index of the chunks of a record variable in an HDF5 file: a version 1 B-tree, as "HDF5 File Format Specification", III.A.1 has it.
//
// The chunks lie where FileLayout says, so the index follows from their number. It is written without the HDF5 library: a drain writes in
// the background of a program that may be inside the same library, which is not made for two threads.
#pragma once

#include <cstdint>
#include <vector>

#include "store/format/file_image.hpp"

namespace glean::store {

inline constexpr std::uint64_t no_hdf5_address = ~std::uint64_t{0};   // "undefined" of the format

class ChunkIndex {
 public:
  // `chunk`: elements of a chunk in each dimension of one record, at least 1. Throws io where the two cannot belong together.
  ChunkIndex(const VariableLayout& variable, const mesh::Shape& chunk);

  [[nodiscard]] Bytes node_bytes() const;
  // Of a record, with what the last chunks of it have behind the last element.
  [[nodiscard]] Bytes record_bytes() const { return chunks_per_record_ * chunk_bytes_; }
  // Of all nodes for so many records.
  [[nodiscard]] Bytes bytes(std::uint64_t records) const;
  // Room in the header: a root and `leaves_in_header` leaves.
  [[nodiscard]] Bytes bytes_in_header() const { return (1 + leaves_in_header) * node_bytes(); }
  // As many records as the room in the header is for.
  [[nodiscard]] std::uint64_t records_in_header() const { return leaves_in_header * children_most / chunks_per_record_; }

  struct Written {
    Bytes root = 0;
    std::vector<Patch> nodes;
  };
  // All of the room, with zeros where no node is; each node keeps its place while records are added.
  [[nodiscard]] Written in_header(Bytes begin, std::uint64_t records) const;
  // Of at least one record.
  [[nodiscard]] Written behind_data(Bytes begin, std::uint64_t records) const;

 private:
  static constexpr std::uint64_t children_most = 64;   // twice the K that files have whose superblock does not say another
  static constexpr std::uint64_t leaves_in_header = 4;

  [[nodiscard]] std::vector<std::uint64_t> nodes_of_levels(std::uint64_t records) const;
  [[nodiscard]] Written written(const std::vector<Bytes>& level_begins, std::uint64_t records) const;
  void append_node(std::vector<std::byte>& out, const std::vector<Bytes>& level_begins, std::size_t level, std::uint64_t node,
                   std::uint64_t chunks) const;
  void append_key(std::vector<std::byte>& out, std::uint64_t index, bool is_behind_last) const;
  [[nodiscard]] Bytes address(std::uint64_t index) const;

  const VariableLayout& variable_;
  mesh::Shape chunk_;
  mesh::Shape chunks_;   // in each dimension
  std::uint64_t chunks_per_record_ = 1;
  Bytes chunk_bytes_ = 0;
};

}  // namespace glean::store
