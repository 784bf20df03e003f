// SPDX-License-Identifier: BSD-3-Clause
//
// What programs read when they start again, as values: the arrays of a file, and the part of each that a rank reads, on any number of
// ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace glean::benchmarks {

struct RestartArray {
  std::string name;
  glean::Type type = glean::Type::float64;   // float64 or int64: eight bytes an element
  std::vector<std::uint64_t> shape;
  glean::Box mine;
};

struct RestartPattern {
  std::string name;
  std::vector<RestartArray> arrays;
  [[nodiscard]] std::uint64_t bytes() const;   // of all ranks
};

inline constexpr std::uint64_t element_bytes = 8;

// flash: blocks of 16³ cells, 10 variables, ranges of blocks. s3d: a 3-D decomposition of 11 species, temperature, pressure and velocity.
// mesh: ranges of the points, connectivity and fields of a mesh of hexahedra.
[[nodiscard]] RestartPattern restart_pattern(const std::string& name, int rank, int ranks, bool quick);

// What element `index` of array number `array` is. Exact in float64.
[[nodiscard]] inline std::int64_t restart_value(std::size_t array, std::uint64_t index) {
  return static_cast<std::int64_t>(array * 1'000'000'007U + index);
}
// All of this rank's part of an array, as 8-byte elements; and how many of `values` are not that.
void fill(const RestartArray& array, std::size_t number, std::byte* values);
[[nodiscard]] std::uint64_t wrong_values(const RestartArray& array, std::size_t number, const std::byte* values);

}  // namespace glean::benchmarks
