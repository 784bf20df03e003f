// SPDX-License-Identifier: BSD-3-Clause
//
// What an application has defined of a NetCDF file, as a value: dimensions, variables, attributes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "mesh/box.hpp"
#include "mesh/type.hpp"
#include "store/layout.hpp"

namespace glean::store {

struct Attribute {
  int variable = -1;   // -1: of the file
  std::string name;
  mesh::Type type = mesh::Type::text;
  std::vector<std::byte> values;   // native byte order
  [[nodiscard]] std::size_t count() const { return values.size() / mesh::size_of(type); }
};

struct DimensionDefinition {
  std::string name;
  std::uint64_t length = 0;
  bool unlimited = false;
};

struct VariableDefinition {
  std::string name;
  mesh::Type external = mesh::Type::float64;
  std::vector<int> dimensions;   // indices, slowest first; an unlimited one only in front
  bool fill = false;
};

// In the order in which the application defined them, which is the order in the file.
struct Definitions {
  Format format = Format::cdf5;
  std::vector<DimensionDefinition> dimensions;
  std::vector<VariableDefinition> variables;
  std::vector<Attribute> attributes;

  [[nodiscard]] bool per_step(int variable) const;
  // Of one record.
  [[nodiscard]] mesh::Shape shape(int variable) const;
  // Equal on two ranks exactly if they defined the same. xxHash of everything above.
  [[nodiscard]] std::uint64_t fingerprint() const;
};

}  // namespace glean::store
