// SPDX-License-Identifier: BSD-3-Clause
//
// What finishing an HDF5 file needs to know of it besides its layout: where the number of records and the addresses of chunk indexes stand
// among the metadata that the library has made. It stands at the end of the header, in space that no object of the file uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "store/layout.hpp"

namespace glean::store {

// Of a record variable.
struct Hdf5Records {
  Bytes length_offset = 0;   // of the first dimension in the dataspace message
  Bytes index_offset = 0;    // of the address in the layout message
  Bytes nodes_begin = 0;     // of the room for the index in the header
  mesh::Shape chunk;         // elements in each dimension of a record
  friend bool operator==(const Hdf5Records&, const Hdf5Records&) = default;
};

struct Hdf5Note {
  std::uint64_t records = 0;
  Bytes end_offset = 0;   // of the end of the file in the superblock
  Bytes first_end = 0;    // what stands there while there are no records
  std::vector<Hdf5Records> variables;   // as the record variables of the layout
  std::vector<Bytes> counts;            // where attributes are, of 8 bytes, that say how many records there are

  [[nodiscard]] std::vector<std::byte> encode() const;
  // `bytes` end where the header does; their size may be less than the header's. Nothing if no note is there that can belong to the layout.
  [[nodiscard]] static std::optional<Hdf5Note> find(const FileLayout& layout, std::span<const std::byte> bytes);
  friend bool operator==(const Hdf5Note&, const Hdf5Note&) = default;
};

// A note ends where `bytes` do: a file that this library has written, whatever was done to it since.
inline constexpr std::size_t hdf5_note_mark_bytes = 8;
[[nodiscard]] bool end_with_hdf5_note(std::span<const std::byte> bytes);

}  // namespace glean::store
