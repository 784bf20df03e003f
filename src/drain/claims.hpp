// SPDX-License-Identifier: BSD-3-Clause
//
// Who has put which part of a variable: finds overlapping puts, and what nobody has put.
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
class Claims {
 public:
  explicit Claims(const mesh::Shape& shape);

  struct Claim {
    mesh::Box box;
    int rank = 0;
  };
  // Adds a box. Returns the earlier claim that it overlaps, if there is one; then nothing is added.
  // Cost: the number of claims that meet the box in the variable's longest dimension.
  [[nodiscard]] std::optional<Claim> add(const mesh::Box& box, int rank);

  // File bytes of this record of the variable that no box covers, ascending, disjoint.
  [[nodiscard]] std::vector<base::Extent> unclaimed(const store::VariableLayout& variable, std::uint64_t record) const;

 private:
  mesh::Shape shape_;
  std::size_t key_dimension_ = 0;
  std::uint64_t longest_ = 0;     // extent in key_dimension_ of the largest box
  std::uint64_t elements_ = 0;    // claimed
  std::multimap<std::uint64_t, Claim> by_start_;
};

}  // namespace glean::drain
