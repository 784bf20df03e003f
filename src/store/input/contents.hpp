// SPDX-License-Identifier: BSD-3-Clause
//
// What is in a file and where, as a value: all that is needed to read it without the library of its format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mesh/definitions.hpp"
#include "store/format/cdf/header.hpp"
#include "store/layout.hpp"

namespace glean::store {

struct FileContents {
  struct Variable {
    std::string name;
    mesh::Type external = mesh::Type::float64;
    bool per_step = false;
    mesh::Shape shape;                    // of one record
    std::uint64_t records = 0;            // if per_step
    Bytes begin_bytes = 0;                // of element 0 of record 0
    Bytes record_stride_bytes = 0;
    Stored stored{};
    std::vector<std::string> dimensions;  // names of all, the record dimension among them
    // Not empty: only the library of the format can read its elements. The object of the file that has them, and a part of that where it
    // has several.
    std::vector<std::string> by_library;
    friend bool operator==(const Variable&, const Variable&) = default;
  };

  // An object whose elements or value no type of this library can hold.
  struct Unreadable {
    int variable = -1;         // if it is an attribute: whose, -1 of the file
    bool is_attribute = false;
    std::string name, why, hint;
    friend bool operator==(const Unreadable&, const Unreadable&) = default;
  };

  std::uint64_t records = 0;   // of the variable that has most
  std::vector<Variable> variables;
  std::vector<mesh::Attribute> attributes;   // in the order of the file
  std::vector<Unreadable> unreadable;
  bool counts_records_last = false;   // without any the file was not finished, though it may have its length

  [[nodiscard]] std::vector<std::byte> encode() const;
  // Throws io, naming what is wrong, when `bytes` is not what encode() made.
  [[nodiscard]] static FileContents decode(std::span<const std::byte> bytes);
  friend bool operator==(const FileContents&, const FileContents&) = default;
};

[[nodiscard]] FileContents contents_of(const CdfHeader& header);

}  // namespace glean::store
