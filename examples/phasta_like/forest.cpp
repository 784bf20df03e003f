// SPDX-License-Identifier: BSD-3-Clause
#include "forest.hpp"

#include <algorithm>
#include <cmath>

namespace phasta {

namespace {

std::uint64_t morton(const std::array<int, 3>& at) {
  std::uint64_t code = 0;
  for (int bit = 0; bit < 21; ++bit) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      code |= (static_cast<std::uint64_t>(at[axis]) >> bit & 1) << (3 * static_cast<std::size_t>(bit) + axis);
    }
  }
  return code;
}

// How far the middle of the longest edge of a tetrahedron of this level, in cubes of width 1, is from that of its parent.
double distance_to_parent(int level) {
  const double cube = std::ldexp(1.0, -(level - 1) / 3);
  return (level % 3 == 0 ? std::sqrt(3.0) / 4 : 0.5) * cube;
}

}  // namespace

Forest::Forest(const Box& box)
    : box_(box), cube_width_(1 << (box.levels + 2) / 3), spacing_(1.0 / box.cubes[0] / cube_width_),
      margins_(static_cast<std::size_t>(std::max(box.levels, 1))) {
  for (int z = 0; z < box.cubes[2]; ++z) {
    for (int y = 0; y < box.cubes[1]; ++y) {
      for (int x = 0; x < box.cubes[0]; ++x) cubes_.push_back({x, y, z});
    }
  }
  std::sort(cubes_.begin(), cubes_.end(), [](const auto& a, const auto& b) { return morton(a) < morton(b); });
  for (std::size_t level = margins_.size() - 1; level > 0; --level) {
    margins_[level - 1] = margins_[level] + distance_to_parent(static_cast<int>(level)) / box.cubes[0];
  }
}

// The mesh conforms although each tetrahedron decides for itself. The decision is that of the point in the middle of the longest edge,
// so all tetrahedra around an edge decide alike. And they all exist: if a point splits its edge, the point that has made a tetrahedron
// around that edge, one level up and distance_to_parent() away, splits too, because its margin is larger by as much.
bool Forest::splits(const Lattice& point, int level, const Distance& distance, double radius) const {
  constexpr double rounding = 1e-12;
  const double margin = margins_[static_cast<std::size_t>(level)] + rounding * (box_.levels - level);
  return distance(point.x * spacing_, point.y * spacing_, point.z * spacing_) <= radius + margin;
}

double Forest::volume() const {
  const double width = 1.0 / box_.cubes[0];
  return static_cast<double>(cubes_.size()) * width * width * width;
}

Lattice Forest::upper() const { return {box_.cubes[0] * cube_width_, box_.cubes[1] * cube_width_, box_.cubes[2] * cube_width_}; }

Tetrahedron Forest::root(int tree) const {
  const auto& [x, y, z] = cubes_[static_cast<std::size_t>(tree / 6)];
  return kuhn({x * cube_width_, y * cube_width_, z * cube_width_}, cube_width_, tree % 6);
}

std::int64_t Forest::count_leaves(int tree, const Distance& distance, double radius) const {
  std::int64_t count = 0;
  for_leaves(tree, distance, radius, [&](const Tetrahedron&) { ++count; });
  return count;
}

}  // namespace phasta
