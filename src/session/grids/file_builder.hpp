// SPDX-License-Identifier: BSD-3-Clause
//
// Puts the definitions of a file together, variable by variable.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session/grids/convention.hpp"

namespace glean::session {

class FileBuilder {
 public:
  explicit FileBuilder(FileView& view) : view_(view) {}

  // Its dimensions are found by their lengths: a file of the formats that this is for does not name them.
  int variable(const std::string& name, mesh::Type external, const mesh::Shape& shape);
  // A variable over dimensions that are there.
  int variable_over(const std::string& name, mesh::Type external, std::vector<int> dimensions);
  int dimension(std::uint64_t length);
  int named_dimension(const std::string& name, std::uint64_t length);

  // One that has a record in each step, of that shape.
  int record_variable(const std::string& name, mesh::Type external, const mesh::Shape& shape);

  void attribute(int variable, const std::string& name, std::string_view text);
  // Of the output: how many records there are.
  void counting_attribute(const std::string& name);
  template <class T>
  void attribute(int variable, const std::string& name, mesh::Type type, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    view_.definitions.attributes.push_back({variable, name, type, {bytes.begin(), bytes.end()}});
  }
  // What this rank puts. Nothing of an empty box.
  template <class T>
  void put(int variable, mesh::Box box, mesh::Type memory, const std::vector<T>& values) {
    put_bytes(variable, std::move(box), memory, std::as_bytes(std::span(values)));
  }
  void put_bytes(int variable, mesh::Box box, mesh::Type memory, std::span<const std::byte> values);

  [[nodiscard]] mesh::VariableDefinition& operator[](int variable) {
    return view_.definitions.variables[static_cast<std::size_t>(variable)];
  }

 private:
  FileView& view_;
};

}  // namespace glean::session
