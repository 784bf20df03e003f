// SPDX-License-Identifier: BSD-3-Clause
//
// What is in a file and where, as a value: all that is needed to read it without the library of its format.
#pragma once

#include <cstdint>
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
  };

  std::uint64_t records = 0;   // of the variable that has most
  std::vector<Variable> variables;
  std::vector<mesh::Attribute> attributes;   // in the order of the file
};

[[nodiscard]] FileContents contents_of(const CdfHeader& header);

}  // namespace glean::store
