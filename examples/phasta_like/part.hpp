// SPDX-License-Identifier: BSD-3-Clause
//
// The mesh of one rank, and which trees are whose.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "forest.hpp"

namespace phasta {

// Trees [first, end).
struct Trees {
  int first = 0, end = 0;
};

// Consecutive trees for each rank, with about the same number of leaves. A rank may get none.
[[nodiscard]] std::vector<Trees> balanced(const std::vector<std::int64_t>& leaves_of_tree, int ranks);

// Points are those of the part, each once; what two parts share is in both.
struct Part {
  std::vector<Lattice> lattice;
  std::vector<std::array<double, 3>> points;
  std::vector<std::array<std::int32_t, 4>> cells;   // numbers of points
};

[[nodiscard]] Part make_part(const Forest& forest, const Trees& trees, const Distance& distance, double radius);

[[nodiscard]] double volume(const Part& part, const std::array<std::int32_t, 4>& cell);
[[nodiscard]] double volume(const Part& part);

// A face by its points, in ascending order of their keys.
using Face = std::array<std::uint64_t, 3>;

// The faces of a part that only one of its cells has and that are not on the surface of the box: other parts have the other cell.
struct Faces {
  std::vector<Face> open;
  std::int64_t crowded = 0;   // faces of three cells or more: the mesh is wrong
};
[[nodiscard]] Faces open_faces(const Part& part, const Forest& forest);

}  // namespace phasta
