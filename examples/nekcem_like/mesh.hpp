// SPDX-License-Identifier: BSD-3-Clause
//
// Spectral elements in a box: which rank has which, what is next to them, and where their points are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gauss_lobatto.hpp"

namespace nekcem {

// A run of elements; they are numbered along x, then y, then z.
struct Range {
  std::int64_t first = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return end - first; }
};

// What a rank may be to the solver. A rank that is set aside to write has no elements.
enum class Role { computes, set_aside };

// Consecutive runs, one per rank, as equal as can be among those that compute.
[[nodiscard]] std::vector<Range> even_runs(std::int64_t elements, const std::vector<Role>& roles);

// Faces are numbered x low, x high, y low, y high, z low, z high.
inline constexpr int faces = 6;
inline constexpr int axis_of(int face) { return face / 2; }
inline constexpr int opposite(int face) { return face ^ 1; }

class Mesh {
 public:
  struct Box {
    std::array<int, 3> elements = {4, 2, 8};
    std::array<double, 3> lengths = {1.0, 0.5, 2.0};
    int order = 7;   // N
  };
  static constexpr std::int64_t wall = -1;

  Mesh(const Box& box, std::vector<Range> runs, int rank);

  [[nodiscard]] const Box& box() const { return box_; }
  [[nodiscard]] const GaussLobatto& rule() const { return rule_; }
  [[nodiscard]] std::size_t points_along() const { return rule_.points.size(); }   // N + 1
  [[nodiscard]] std::size_t points_per_face() const { return points_along() * points_along(); }
  [[nodiscard]] std::size_t points_per_element() const { return points_per_face() * points_along(); }
  [[nodiscard]] std::int64_t elements() const;   // of all ranks

  [[nodiscard]] const std::vector<Range>& runs() const { return runs_; }   // of all ranks
  [[nodiscard]] const Range& mine() const { return runs_[static_cast<std::size_t>(rank_)]; }
  [[nodiscard]] std::size_t local_elements() const { return static_cast<std::size_t>(mine().size()); }
  [[nodiscard]] bool is_mine(std::int64_t element) const { return element >= mine().first && element < mine().end; }
  [[nodiscard]] int owner(std::int64_t element) const;

  // The element beyond a face, or `wall`.
  [[nodiscard]] std::int64_t neighbour(std::int64_t element, int face) const;
  [[nodiscard]] double width(int axis) const;   // of an element
  // Where point `index` of an element lies along an axis.
  [[nodiscard]] double coordinate(std::int64_t element, int axis, std::size_t index) const;
  // The place of point (i, j, k) among those of its element.
  [[nodiscard]] std::size_t point(std::size_t i, std::size_t j, std::size_t k) const {
    return i + points_along() * (j + points_along() * k);
  }

  // Calls visit(offset, x, y, z) for every point of this rank; `offset` is its place in an array of all of them: elements in
  // ascending order, in each x first, then y, then z.
  template <class Visit>
  void for_points(Visit visit) const {
    std::size_t offset = 0;
    for (std::int64_t element = mine().first; element < mine().end; ++element) {
      for (std::size_t k = 0; k < points_along(); ++k) {
        const double z = coordinate(element, 2, k);
        for (std::size_t j = 0; j < points_along(); ++j) {
          const double y = coordinate(element, 1, j);
          for (std::size_t i = 0; i < points_along(); ++i) visit(offset++, coordinate(element, 0, i), y, z);
        }
      }
    }
  }

  // Calls visit(corners) for each of the N³ linear hexahedra between the points of each element of this rank; `corners` are the places of
  // its eight points among all of this rank, in VTK's order.
  template <class Visit>
  void for_hexahedra(Visit visit) const {
    for (std::size_t first = 0; first < local_elements() * points_per_element(); first += points_per_element()) {
      for (std::size_t k = 0; k + 1 < points_along(); ++k) {
        for (std::size_t j = 0; j + 1 < points_along(); ++j) {
          for (std::size_t i = 0; i + 1 < points_along(); ++i) {
            const std::size_t below = first + point(i, j, k), above = first + point(i, j, k + 1), n = points_along();
            visit(std::array{below, below + 1, below + n + 1, below + n, above, above + 1, above + n + 1, above + n});
          }
        }
      }
    }
  }

 private:
  [[nodiscard]] std::array<int, 3> position(std::int64_t element) const;

  Box box_;
  GaussLobatto rule_;
  std::vector<Range> runs_;
  int rank_;
};

}  // namespace nekcem
