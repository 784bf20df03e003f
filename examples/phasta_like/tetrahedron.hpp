// SPDX-License-Identifier: BSD-3-Clause
//
// Tetrahedra that are cut in two at their longest edges, in whole numbers.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace phasta {

// A point of the lattice on which all points of all levels lie.
struct Lattice {
  std::int32_t x = 0, y = 0, z = 0;
  auto operator<=>(const Lattice&) const = default;
  // A number of its own for each point; coordinates are below 2^21 and not negative.
  [[nodiscard]] std::uint64_t key() const {
    return static_cast<std::uint64_t>(x) | static_cast<std::uint64_t>(y) << 21 | static_cast<std::uint64_t>(z) << 42;
  }
};

// Corners in the order of VTK: the volume is positive.
struct Tetrahedron {
  std::array<Lattice, 4> corners;
};

struct Edge {
  std::size_t a = 0, b = 0;   // corners
};

// Kuhn's subdivision of a cube: six tetrahedra around its diagonal from `low` to `low` + (width, width, width), one for each
// `path` = 0..5 along the edges. Cubes side by side fit together.
[[nodiscard]] Tetrahedron kuhn(const Lattice& low, std::int32_t width, int path);

// Tetrahedra from kuhn(), and all that comes of bisecting them, have one edge that is longer than all others. All tetrahedra around it
// are of the same level, once they exist.
[[nodiscard]] Edge longest_edge(const Tetrahedron& tetrahedron);
[[nodiscard]] Lattice middle(const Tetrahedron& tetrahedron, const Edge& edge);
[[nodiscard]] std::pair<Tetrahedron, Tetrahedron> bisect(const Tetrahedron& tetrahedron, const Edge& edge);

// Six times the volume, in cubes of the lattice.
[[nodiscard]] std::int64_t sixfold_volume(const Tetrahedron& tetrahedron);

}  // namespace phasta
