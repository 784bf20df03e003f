// SPDX-License-Identifier: BSD-3-Clause
//
// Where the elements of every variable lie in a file, and how: what a format has decided, as a value.
//
// A drain needs no format library: it writes converted elements to these offsets.
#pragma once

#include <array>
#include <bit>
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

enum class ByteOrder : std::uint8_t { big, little };
inline constexpr ByteOrder native_order = std::endian::native == std::endian::big ? ByteOrder::big : ByteOrder::little;

// How a file holds the elements of a variable.
struct Stored {
  ByteOrder order = ByteOrder::big;
  bool int8_holds_uint8 = false;   // as it is, without a range check: the format has no unsigned bytes
  friend bool operator==(const Stored&, const Stored&) = default;
};

struct VariableLayout {
  std::string name;
  mesh::Type external = mesh::Type::float64;
  mesh::Shape shape;                          // of one record: without the record dimension
  Bytes begin_bytes = 0;                      // file offset of element 0 of record 0
  Bytes record_stride_bytes = 0;              // from one record to the next; 0: not a record variable
  bool fill = false;                          // elements that no rank puts get fill_value
  std::array<std::byte, 8> fill_value{};      // in the file's byte order; size_of(external) bytes count
  Stored stored{};

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
  std::string format = "cdf5";   // by which Formats::find() finds it
  // The metadata in front of the first variable. What follows up to that reads as zeros.
  Bytes header_bytes = 0;
  base::RangeRule range = base::RangeRule::error;
  std::vector<VariableLayout> variables;   // index = variable id
  // Attributes whose values come with the last step, in the order of the definitions: where these are in the metadata. A put of one has
  // the index of what is behind the variables, and goes the way of all puts.
  std::vector<VariableLayout> attributes;

  // What a put of that index goes to, of targets() that there are.
  [[nodiscard]] const VariableLayout& target(std::uint32_t index) const {
    return index < variables.size() ? variables[index] : attributes.at(index - variables.size());
  }
  [[nodiscard]] std::size_t targets() const { return variables.size() + attributes.size(); }
  [[nodiscard]] bool is_attribute(std::uint32_t index) const { return index >= variables.size(); }

  [[nodiscard]] std::vector<std::byte> encode() const;
  // Throws io, naming what is wrong, when `bytes` is not what encode() made.
  [[nodiscard]] static FileLayout decode(std::span<const std::byte> bytes);
  friend bool operator==(const FileLayout&, const FileLayout&) = default;
};

// Where the last element ends of a file whose elements were all put; of one that was put in part that may be less. At most 2^63 - 1.
[[nodiscard]] Bytes whole_size(const FileLayout& layout, std::uint64_t records);

}  // namespace glean::store
