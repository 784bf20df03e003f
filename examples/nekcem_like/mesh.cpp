// SPDX-License-Identifier: BSD-3-Clause
#include "mesh.hpp"

#include <algorithm>
#include <utility>

namespace nekcem {

std::vector<Range> even_runs(std::int64_t elements, const std::vector<Role>& roles) {
  const auto computing = std::count(roles.begin(), roles.end(), Role::computes);
  std::vector<Range> runs;
  std::int64_t before = 0, first = 0;
  for (const Role role : roles) {
    if (role == Role::computes) ++before;
    const std::int64_t end = computing == 0 ? 0 : elements * before / computing;
    runs.push_back({first, end});
    first = end;
  }
  return runs;
}

Mesh::Mesh(const Box& box, std::vector<Range> runs, int rank)
    : box_(box), rule_(gauss_lobatto(box.order)), runs_(std::move(runs)), rank_(rank) {}

std::int64_t Mesh::elements() const { return std::int64_t{box_.elements[0]} * box_.elements[1] * box_.elements[2]; }

int Mesh::owner(std::int64_t element) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), element, [](std::int64_t e, const Range& run) { return e < run.end; });
  return static_cast<int>(after - runs_.begin());
}

std::array<int, 3> Mesh::position(std::int64_t element) const {
  const auto [nx, ny, nz] = box_.elements;
  return {static_cast<int>(element % nx), static_cast<int>(element / nx % ny), static_cast<int>(element / nx / ny)};
}

std::int64_t Mesh::neighbour(std::int64_t element, int face) const {
  std::array<int, 3> at = position(element);
  const auto axis = static_cast<std::size_t>(axis_of(face));
  const int count = box_.elements[axis];
  at[axis] += face % 2 == 0 ? -1 : 1;
  if (at[axis] < 0 || at[axis] >= count) {
    if (axis < 2) return wall;
    at[axis] = (at[axis] + count) % count;
  }
  return at[0] + box_.elements[0] * (at[1] + std::int64_t{box_.elements[1]} * at[2]);
}

double Mesh::width(int axis) const {
  const auto a = static_cast<std::size_t>(axis);
  return box_.lengths[a] / box_.elements[a];
}

double Mesh::coordinate(std::int64_t element, int axis, std::size_t index) const {
  return width(axis) * (position(element)[static_cast<std::size_t>(axis)] + (1 + rule_.points[index]) / 2);
}

}  // namespace nekcem
