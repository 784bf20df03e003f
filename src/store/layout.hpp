// SPDX-License-Identifier: BSD-3-Clause
//
// Where the elements of every variable lie in a file: what a format library has decided, as a value.
//
// Whoever drains needs no format library: it writes converted elements to these offsets (design.md,
// section 4, "Let the format library own the metadata").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/settings.hpp"
#include "mesh/box.hpp"
#include "mesh/type.hpp"

namespace glean::store {

using base::Bytes;

enum class Format : std::uint8_t { cdf1, cdf2, cdf5 };  // same order as glean::Format

struct VariableLayout {
  std::string name;
  mesh::Type external = mesh::Type::float64;  // stored big-endian
  mesh::Shape shape;                          // of one record: without the record dimension
  Bytes begin_bytes = 0;                      // file offset of element 0 of record 0
  Bytes record_stride_bytes = 0;              // from one record to the next; 0: not a record variable
  bool fill = false;                          // elements that nobody puts get fill_value
  std::array<std::byte, 8> fill_value{};      // in the file's byte order; size_of(external) bytes count

  [[nodiscard]] bool per_step() const { return record_stride_bytes != 0; }
  // File offset of element 0 of a record. `record` is ignored for fixed variables.
  [[nodiscard]] Bytes record_begin_bytes(std::uint64_t record) const {
    return begin_bytes + record * record_stride_bytes;
  }
  [[nodiscard]] Bytes record_bytes() const { return mesh::elements_of(shape) * mesh::size_of(external); }
  // The record lies in a file of a length that can be.
  [[nodiscard]] bool has_room_for(std::uint64_t record) const;
  friend bool operator==(const VariableLayout&, const VariableLayout&) = default;
};

struct FileLayout {
  Format format = Format::cdf5;
  // What the format library has written is [0, header_bytes). What follows up to the first variable reads as zeros.
  Bytes header_bytes = 0;
  base::RangeRule range = base::RangeRule::error;
  std::vector<VariableLayout> variables;   // index = variable id

  [[nodiscard]] std::vector<std::byte> encode() const;
  // Throws io, naming what is wrong, when `bytes` is not what encode() made.
  [[nodiscard]] static FileLayout decode(std::span<const std::byte> bytes);
  friend bool operator==(const FileLayout&, const FileLayout&) = default;
};

// Length of the finished file: where the last byte lies that PnetCDF would have written. It never pads: not after the
// last record, not after a variable that was put in part (measured with 1.12.3; README.md, "Layout"). At most 2^63 - 1.
// `records`: as in the header. `put_end_bytes`: end of the last element that was put, 0 if none was.
[[nodiscard]] Bytes final_size(const FileLayout& layout, std::uint64_t records, Bytes put_end_bytes);

// Length of a file whose elements were all put: that of one that was put in part may be less.
[[nodiscard]] Bytes whole_size(FileLayout layout, std::uint64_t records);

// The bytes that hold the number of records in a classic NetCDF header, and what to write there.
// CDF-1 and CDF-2: 4 bytes at offset 4, CDF-5: 8 bytes, big-endian.
struct HeaderPatch {
  Bytes offset = 4;
  std::array<std::byte, 8> bytes{};
  std::size_t size = 4;
};
[[nodiscard]] HeaderPatch record_count_patch(Format format, std::uint64_t records);

}  // namespace glean::store
