// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace glean::mesh {
namespace {

constexpr std::uint64_t any_number = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::optional<CellShape> shape_of_cell(std::uint8_t type) {
  switch (type) {
    case 1: return CellShape{"vertex", 0, 1, 1};
    case 2: return CellShape{"set of vertices", 0, 1, any_number};
    case 3: return CellShape{"line", 1, 2, 2};
    case 4: return CellShape{"polyline", 1, 2, any_number};
    case 5: return CellShape{"triangle", 2, 3, 3};
    case 6: return CellShape{"triangle strip", 2, 3, any_number};
    case 7: return CellShape{"polygon", 2, 3, any_number};
    case 8: return CellShape{"pixel", 2, 4, 4};
    case 9: return CellShape{"quad", 2, 4, 4};
    case 10: return CellShape{"tetrahedron", 3, 4, 4};
    case 11: return CellShape{"voxel", 3, 8, 8};
    case 12: return CellShape{"hexahedron", 3, 8, 8};
    case 13: return CellShape{"wedge", 3, 6, 6};
    case 14: return CellShape{"pyramid", 3, 5, 5};
    case 15: return CellShape{"pentagonal prism", 3, 10, 10};
    case 16: return CellShape{"hexagonal prism", 3, 12, 12};
    case lagrange_hexahedron_cell: return CellShape{"Lagrange hexahedron", 3, 8, any_number};
    default: return std::nullopt;
  }
}

std::string points_wanted(std::uint8_t type, const CellShape& shape, std::uint64_t points) {
  if (shape.is_fixed() && points != shape.least) return std::to_string(shape.least) + (shape.least == 1 ? " point" : " points");
  if (points < shape.least) return "at least " + std::to_string(shape.least) + " points";
  if (type == lagrange_hexahedron_cell && !lagrange_order(points)) return "(order + 1)^3 points, such as 8, 27, 64";
  return {};
}

std::optional<std::uint64_t> lagrange_order(std::uint64_t points) {
  const auto side = static_cast<std::uint64_t>(std::llround(std::cbrt(static_cast<double>(points))));
  if (side < 2 || side * side * side != points) return std::nullopt;
  return side - 1;
}

std::size_t lagrange_hexahedron_point(std::size_t i, std::size_t j, std::size_t k, std::size_t order) {
  const std::size_t inner = order - 1;   // points of an edge without its corners
  const auto is_end = [&](std::size_t index) { return index == 0 || index == order; };
  const bool end_i = is_end(i), end_j = is_end(j), end_k = is_end(k);
  const std::size_t far_i = i != 0, far_j = j != 0, far_k = k != 0;
  if (end_i && end_j && end_k) return (far_j != 0 ? 3 - far_i : far_i) + 4 * far_k;   // around the lower face, then the upper

  std::size_t before = 8;
  if (end_j && end_k && !end_i) return before + (far_j != 0 ? 2 * inner : 0) + (far_k != 0 ? 4 * inner : 0) + i - 1;
  if (end_i && end_k && !end_j) return before + (far_i != 0 ? inner : 3 * inner) + (far_k != 0 ? 4 * inner : 0) + j - 1;
  before += 8 * inner;
  if (end_i && end_j) return before + inner * (far_j != 0 ? 3 - far_i : far_i) + k - 1;
  before += 4 * inner;

  const std::size_t face = inner * inner;
  if (end_i) return before + (far_i != 0 ? face : 0) + (j - 1) + inner * (k - 1);
  before += 2 * face;
  if (end_j) return before + (far_j != 0 ? face : 0) + (i - 1) + inner * (k - 1);
  before += 2 * face;
  if (end_k) return before + (far_k != 0 ? face : 0) + (i - 1) + inner * (j - 1);
  before += 2 * face;
  return before + (i - 1) + inner * ((j - 1) + inner * (k - 1));
}

void swap_lagrange_edges(std::span<std::int64_t> points, std::uint64_t order) {
  const std::uint64_t inner = order - 1, third = 8 + 8 * inner + 2 * inner;
  const auto begin = points.begin() + static_cast<std::ptrdiff_t>(third), middle = begin + static_cast<std::ptrdiff_t>(inner);
  std::swap_ranges(begin, middle, middle);
}

}  // namespace glean::mesh
