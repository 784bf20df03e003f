// SPDX-License-Identifier: BSD-3-Clause
//
// A value that the external type of a variable cannot hold, in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "mesh/box.hpp"
#include "mesh/type.hpp"
#include "store/windows/window.hpp"

namespace glean::store {

// The elements of a put, from `first` on, that a piece was made of.
struct PutElements {
  mesh::Box box;
  std::uint64_t first = 0;
  mesh::Type memory = mesh::Type::float64;
  int rank = 0;   // of the job; -1: it is not known here
  std::uint64_t step = 0;
};

// Names the variable, the element, its value and the rank that put it. `element` counts from put.first on; `value` has the put's type.
[[nodiscard]] base::Error out_of_range_error(const std::string& variable, mesh::Type external, std::uint64_t element,
                                             const std::byte* value, const PutElements& put);
[[nodiscard]] base::Error out_of_range_error(const RangeError& error, const PutElements& put);

}  // namespace glean::store
