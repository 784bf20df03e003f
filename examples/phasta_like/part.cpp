// SPDX-License-Identifier: BSD-3-Clause
#include "part.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace phasta {

std::vector<Trees> balanced(const std::vector<std::int64_t>& leaves_of_tree, int ranks) {
  const std::int64_t total = std::accumulate(leaves_of_tree.begin(), leaves_of_tree.end(), std::int64_t{0});
  std::vector<Trees> shares;
  std::int64_t leaves = 0;
  int tree = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    Trees share{tree, tree};
    // A tree belongs to the rank in whose part of the curve its middle lies.
    while (share.end < static_cast<int>(leaves_of_tree.size())) {
      const std::int64_t count = leaves_of_tree[static_cast<std::size_t>(share.end)];
      if ((2 * leaves + count) * ranks >= 2 * total * (rank + 1) && rank + 1 < ranks) break;
      leaves += count;
      ++share.end;
    }
    tree = share.end;
    shares.push_back(share);
  }
  return shares;
}

Part make_part(const Forest& forest, const Trees& trees, const Distance& distance, double radius) {
  Part part;
  std::unordered_map<std::uint64_t, std::int32_t> numbers;
  const auto number = [&](const Lattice& point) {
    const auto [found, is_new] = numbers.try_emplace(point.key(), static_cast<std::int32_t>(part.points.size()));
    if (is_new) {
      part.lattice.push_back(point);
      part.points.push_back({point.x * forest.spacing(), point.y * forest.spacing(), point.z * forest.spacing()});
    }
    return found->second;
  };
  for (int tree = trees.first; tree < trees.end; ++tree) {
    forest.for_leaves(tree, distance, radius, [&](const Tetrahedron& leaf) {
      std::array<std::int32_t, 4> cell{};
      for (std::size_t i = 0; i < 4; ++i) cell[i] = number(leaf.corners[i]);
      part.cells.push_back(cell);
    });
  }
  return part;
}

double volume(const Part& part, const std::array<std::int32_t, 4>& cell) {
  double edges[3][3];
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      edges[i][axis] = part.points[static_cast<std::size_t>(cell[i + 1])][axis] - part.points[static_cast<std::size_t>(cell[0])][axis];
    }
  }
  const auto& [u, v, w] = edges;
  return (u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0]) + u[2] * (v[0] * w[1] - v[1] * w[0])) / 6;
}

double volume(const Part& part) {
  double sum = 0;
  for (const auto& cell : part.cells) sum += volume(part, cell);
  return sum;
}

namespace {

struct FaceHash {
  std::size_t operator()(const Face& face) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t key : face) hash = (hash ^ key) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
  }
};

// Whether three points are on one side of the box.
bool on_surface(const Lattice& a, const Lattice& b, const Lattice& c, const Lattice& upper) {
  const auto at = [&](std::int32_t Lattice::*axis, std::int32_t place) { return a.*axis == place && b.*axis == place && c.*axis == place; };
  return at(&Lattice::x, 0) || at(&Lattice::y, 0) || at(&Lattice::z, 0) || at(&Lattice::x, upper.x) || at(&Lattice::y, upper.y) ||
         at(&Lattice::z, upper.z);
}

}  // namespace

Faces open_faces(const Part& part, const Forest& forest) {
  std::unordered_map<Face, int, FaceHash> cells_of;
  const Lattice upper = forest.upper();
  for (const auto& cell : part.cells) {
    for (std::size_t opposite = 0; opposite < 4; ++opposite) {
      std::array<Lattice, 3> corners;
      for (std::size_t i = 0; i < 3; ++i) corners[i] = part.lattice[static_cast<std::size_t>(cell[(opposite + 1 + i) % 4])];
      if (on_surface(corners[0], corners[1], corners[2], upper)) continue;
      Face face = {corners[0].key(), corners[1].key(), corners[2].key()};
      std::sort(face.begin(), face.end());
      ++cells_of[face];
    }
  }
  Faces faces;
  for (const auto& [face, count] : cells_of) {
    if (count == 1) faces.open.push_back(face);
    if (count > 2) ++faces.crowded;
  }
  return faces;
}

}  // namespace phasta
