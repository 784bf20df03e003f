// SPDX-License-Identifier: BSD-3-Clause
#include "tetrahedron.hpp"

namespace phasta {

namespace {

Lattice plus(const Lattice& a, int axis, std::int32_t width) {
  return {a.x + (axis == 0 ? width : 0), a.y + (axis == 1 ? width : 0), a.z + (axis == 2 ? width : 0)};
}

struct Difference {
  std::int64_t x, y, z;
};

Difference minus(const Lattice& a, const Lattice& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

}  // namespace

Tetrahedron kuhn(const Lattice& low, std::int32_t width, int path) {
  // The first three are even permutations of the axes, the last three are odd.
  constexpr int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
  const int* order = orders[path];
  const Lattice first = plus(low, order[0], width), second = plus(first, order[1], width), last = plus(second, order[2], width);
  if (path < 3) return {{low, first, second, last}};
  return {{low, second, first, last}};
}

Edge longest_edge(const Tetrahedron& tetrahedron) {
  Edge longest;
  std::int64_t most = 0;
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = a + 1; b < 4; ++b) {
      const Difference d = minus(tetrahedron.corners[a], tetrahedron.corners[b]);
      const std::int64_t square = d.x * d.x + d.y * d.y + d.z * d.z;
      if (square > most) {
        most = square;
        longest = {a, b};
      }
    }
  }
  return longest;
}

Lattice middle(const Tetrahedron& tetrahedron, const Edge& edge) {
  const Lattice& a = tetrahedron.corners[edge.a];
  const Lattice& b = tetrahedron.corners[edge.b];
  return {(a.x + b.x) / 2, (a.y + b.y) / 2, (a.z + b.z) / 2};
}

std::pair<Tetrahedron, Tetrahedron> bisect(const Tetrahedron& tetrahedron, const Edge& edge) {
  const Lattice between = middle(tetrahedron, edge);
  std::pair<Tetrahedron, Tetrahedron> halves{tetrahedron, tetrahedron};
  halves.first.corners[edge.b] = between;
  halves.second.corners[edge.a] = between;
  return halves;
}

std::int64_t sixfold_volume(const Tetrahedron& tetrahedron) {
  const auto& c = tetrahedron.corners;
  const Difference u = minus(c[1], c[0]), v = minus(c[2], c[0]), w = minus(c[3], c[0]);
  return u.x * (v.y * w.z - v.z * w.y) - u.y * (v.x * w.z - v.z * w.x) + u.z * (v.x * w.y - v.y * w.x);
}

}  // namespace phasta
