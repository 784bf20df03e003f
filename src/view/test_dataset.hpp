// SPDX-License-Identifier: BSD-3-Clause
//
// A dataset of arrays in memory. For tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "view/dataset.hpp"

namespace glean::view {

class TestDataset : public Dataset {
 public:
  void add(std::string name, mesh::Shape shape, std::vector<double> values, std::vector<std::string> dimensions = {}) {
    variables_.push_back({std::move(name), mesh::Type::float64, false, std::move(shape), 0, std::move(dimensions)});
    values_.push_back(std::move(values));
  }
  [[nodiscard]] const std::vector<DatasetVariable>& variables() const override { return variables_; }
  [[nodiscard]] const std::vector<mesh::Attribute>& attributes() const override { return attributes_; }
  void read(int variable, std::uint64_t, const mesh::Box& box, double* into) const override {
    const auto v = static_cast<std::size_t>(variable);
    const mesh::Rows rows(box, variables_[v].shape);
    for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
      for (std::uint64_t i = 0; i < rows.row_elements(); ++i) *into++ = values_[v][rows.position(row) + i];
    }
    elements_read += box.elements();
  }
  mutable std::uint64_t elements_read = 0;

 private:
  std::vector<DatasetVariable> variables_;
  std::vector<std::vector<double>> values_;
  std::vector<mesh::Attribute> attributes_;
};

// 0, 1, 2, …
inline std::vector<double> counted(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i);
  return values;
}

}  // namespace glean::view
