// SPDX-License-Identifier: BSD-3-Clause
//
// Shapes of cells of unstructured meshes, and the order of their points. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace glean::mesh {

// How many points a cell has: exactly, or at least where `most` is greater.
struct CellShape {
  std::string_view name;
  int dimension = 0;          // of the cell, not of space
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  [[nodiscard]] bool is_fixed() const { return least == most; }
};

inline constexpr std::uint8_t lagrange_hexahedron_cell = 72;

// By VTK's number of the type. Nothing for types that cannot be written: those with faces, and other orders than linear but for Lagrange
// hexahedra. Local.
[[nodiscard]] std::optional<CellShape> shape_of_cell(std::uint8_t type);

// What is wrong with so many points of a cell of that type, as "8 points" that it should have; nothing if that is right. Local.
[[nodiscard]] std::string points_wanted(std::uint8_t type, const CellShape& shape, std::uint64_t points);

// The order of a Lagrange hexahedron of so many points; nothing if there is none. Local.
[[nodiscard]] std::optional<std::uint64_t> lagrange_order(std::uint64_t points);

// The index among its points of the one that is the i-th, j-th, k-th along x, y, z (0 to `order` each): corners, edges, faces, inside, as
// VTK numbers them since version 9.1. Local.
[[nodiscard]] std::size_t lagrange_hexahedron_point(std::size_t i, std::size_t j, std::size_t k, std::size_t order);

// Before, and in files of the legacy format below version 5.1, the points of the third and fourth edge along z stood the other way round:
// swaps those of one cell, in place. Local.
void swap_lagrange_edges(std::span<std::int64_t> points, std::uint64_t order);

}  // namespace glean::mesh
