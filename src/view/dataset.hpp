// SPDX-License-Identifier: BSD-3-Clause
//
// Variables with values that can be shown: of a file, or of a step that is in a pool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/box.hpp"
#include "mesh/definitions.hpp"
#include "mesh/type.hpp"

namespace glean::view {

struct DatasetVariable {
  std::string name;
  mesh::Type type = mesh::Type::float64;
  bool per_step = false;
  mesh::Shape shape;                     // of one record
  std::uint64_t records = 0;             // if per_step
  std::vector<std::string> dimensions;   // names of those of a record, as many as `shape` has; empty ones have none
};

// One thread uses it.
class Dataset {
 public:
  Dataset() = default;
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  [[nodiscard]] virtual const std::vector<DatasetVariable>& variables() const = 0;
  [[nodiscard]] virtual const std::vector<mesh::Attribute>& attributes() const = 0;
  // Of a numeric variable, a box that lies in it; `record` is ignored where it has none. What is not there is NaN, and so are fill values.
  // Throws base::Error. Blocks.
  virtual void read(int variable, std::uint64_t record, const mesh::Box& box, double* values) const = 0;

  [[nodiscard]] std::optional<int> find(std::string_view name) const;
  [[nodiscard]] const DatasetVariable& variable(int id) const { return variables()[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const mesh::Attribute* attribute(int variable, std::string_view name) const;   // variable -1: of the file
  [[nodiscard]] std::optional<std::string> text(int variable, std::string_view name) const;
  [[nodiscard]] std::vector<double> numbers(int variable, std::string_view name) const;   // empty where there are none
  // All of a variable, or its record.
  [[nodiscard]] std::vector<double> all(int variable, std::uint64_t record = 0) const;
};

// Elements of a type, native, as doubles.
void to_doubles(mesh::Type type, const std::byte* values, std::size_t count, double* into);

// The value that stands for elements without one: its `_FillValue` or `missing_value`, and NetCDF's own of float and double.
[[nodiscard]] std::vector<double> fill_values(const Dataset& dataset, int variable);

}  // namespace glean::view
