// SPDX-License-Identifier: BSD-3-Clause
//
// Which rank has put which part of a variable: finds overlapping puts, and what no rank has put.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "mesh/box.hpp"
#include "store/layout.hpp"

namespace glean::drain {

// The boxes put into one record of a variable (or into a fixed variable).
class Coverage {
 public:
  explicit Coverage(const mesh::Shape& shape);

  struct Put {
    mesh::Box box;
    int rank = 0;
  };
  // Adds a box that lies in the variable and is not empty. Returns the earlier one that it overlaps, if there is one;
  // then nothing is added. Cost: the number of boxes that meet the box, or nearly so, in the dimension that the boxes
  // cut most.
  [[nodiscard]] std::optional<Put> add(const mesh::Box& box, int rank);

  // That many elements of what was put have come.
  void add_part(std::uint64_t elements) { parts_elements_ += elements; }
  [[nodiscard]] bool all_parts_came() const { return parts_elements_ == elements_; }

  // File bytes of this record of the variable that no box covers, ascending, disjoint.
  [[nodiscard]] std::vector<base::Extent> uncovered(const store::VariableLayout& variable, std::uint64_t record) const;

 private:
  void insert(Put put);
  void choose_key_dimension(const mesh::Box& box);

  mesh::Shape shape_;
  std::vector<double> parts_;     // of each extent of the variable, summed over all boxes
  std::uint64_t boxes_ = 0;
  std::size_t key_dimension_ = 0;
  std::uint64_t elements_ = 0;    // put
  std::uint64_t parts_elements_ = 0;
  // By start in key_dimension_; one map for all extents from 2^k to 2^(k+1) - 1, so that a single large box does not
  // make every search a long one.
  std::map<int, std::multimap<std::uint64_t, Put>> by_extent_;
};

}  // namespace glean::drain
