// SPDX-License-Identifier: BSD-3-Clause
//
// The mesh of the whole box as a rule: which tetrahedra there are follows from the place of the feature alone, so that every rank knows
// its own without asking.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "tetrahedron.hpp"

namespace phasta {

struct Box {
  std::array<int, 3> cubes = {8, 8, 8};   // of the coarse mesh; they are 1 / cubes[0] wide
  int levels = 6;                         // how often a tetrahedron is bisected at most; three times halve its edges
};

// The distance of a point from what is to be resolved. The distances of two points differ by no more than the points are apart.
using Distance = std::function<double(double x, double y, double z)>;

// One tree per tetrahedron of the coarse mesh, in the order of a Morton curve through its cubes. Leaves are the mesh.
class Forest {
 public:
  explicit Forest(const Box& box);

  [[nodiscard]] const Box& box() const { return box_; }
  [[nodiscard]] int trees() const { return static_cast<int>(cubes_.size()) * 6; }
  [[nodiscard]] std::int32_t cube_width() const { return cube_width_; }   // in units of the lattice
  [[nodiscard]] double spacing() const { return spacing_; }               // of the lattice
  [[nodiscard]] double volume() const;
  [[nodiscard]] Lattice upper() const;   // the corner of the box; the other is the origin
  [[nodiscard]] Tetrahedron root(int tree) const;

  // Calls visit(tetrahedron) for the leaves of a tree. Those with the middle of their longest edge within `radius` of what is to be
  // resolved are of the finest level.
  template <class Visit>
  void for_leaves(int tree, const Distance& distance, double radius, Visit visit) const {
    descend(root(tree), 0, distance, radius, visit);
  }
  [[nodiscard]] std::int64_t count_leaves(int tree, const Distance& distance, double radius) const;

 private:
  template <class Visit>
  void descend(const Tetrahedron& tetrahedron, int level, const Distance& distance, double radius, Visit& visit) const {
    const Edge edge = longest_edge(tetrahedron);
    if (level == box_.levels || !splits(middle(tetrahedron, edge), level, distance, radius)) {
      visit(tetrahedron);
      return;
    }
    const auto [first, second] = bisect(tetrahedron, edge);
    descend(first, level + 1, distance, radius, visit);
    descend(second, level + 1, distance, radius, visit);
  }
  [[nodiscard]] bool splits(const Lattice& point, int level, const Distance& distance, double radius) const;

  Box box_;
  std::int32_t cube_width_;
  double spacing_;
  std::vector<std::array<int, 3>> cubes_;
  std::vector<double> margins_;   // of each level
};

}  // namespace phasta
