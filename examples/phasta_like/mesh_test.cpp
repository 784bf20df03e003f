// SPDX-License-Identifier: BSD-3-Clause
//
// Tetrahedra, the forest, and its parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "part.hpp"

namespace phasta {
namespace {

const Distance nowhere = [](double, double, double) { return 1e9; };
const Distance everywhere = [](double, double, double) { return 0.0; };

// Distance from a point.
Distance from(double px, double py, double pz) {
  return [=](double x, double y, double z) { return std::sqrt((x - px) * (x - px) + (y - py) * (y - py) + (z - pz) * (z - pz)); };
}

Part whole(const Forest& forest, const Distance& distance, double radius) {
  return make_part(forest, {0, forest.trees()}, distance, radius);
}

TEST(Kuhn, FillsACubeWithTetrahedraOfTheSameVolume) {
  for (int path = 0; path < 6; ++path) EXPECT_EQ(sixfold_volume(kuhn({2, 3, 5}, 4, path)), 64) << path;
}

TEST(Bisect, HalvesVolumesAndKeepsThemPositive) {
  const Tetrahedron parent = kuhn({0, 0, 0}, 8, 4);

  const auto [first, second] = bisect(parent, longest_edge(parent));

  EXPECT_EQ(sixfold_volume(first), sixfold_volume(parent) / 2);
  EXPECT_EQ(sixfold_volume(second), sixfold_volume(parent) / 2);
}

TEST(LongestEdge, IsLongerThanAllOthersOnEveryLevel) {
  const Forest forest({.cubes = {1, 1, 1}, .levels = 9});
  std::vector<Tetrahedron> level;
  for (int tree = 0; tree < 6; ++tree) level.push_back(forest.root(tree));
  for (int depth = 0; depth < 9; ++depth) {
    std::vector<Tetrahedron> next;
    for (const Tetrahedron& t : level) {
      std::vector<std::int64_t> squares;
      for (std::size_t a = 0; a < 4; ++a) {
        for (std::size_t b = a + 1; b < 4; ++b) {
          const Lattice &p = t.corners[a], &q = t.corners[b];
          const std::int64_t dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
          squares.push_back(dx * dx + dy * dy + dz * dz);
        }
      }
      std::sort(squares.begin(), squares.end());
      ASSERT_GT(squares[5], squares[4]) << "level " << depth;
      const auto [first, second] = bisect(t, longest_edge(t));
      next.push_back(first);
      next.push_back(second);
    }
    level = next;
  }
}

TEST(Forest, HasTheCoarseMeshWhereThereIsNothingToResolve) {
  const Forest forest({.cubes = {3, 2, 2}, .levels = 6});

  const Part part = whole(forest, nowhere, 0);

  EXPECT_EQ(part.cells.size(), 72u);
  EXPECT_EQ(part.points.size(), 36u);
}

TEST(Forest, HasCubesOfHalfTheWidthAfterThreeLevels) {
  const Forest forest({.cubes = {2, 2, 2}, .levels = 3});

  const Part part = whole(forest, everywhere, 0);

  EXPECT_EQ(part.cells.size(), 8u * 48);
  EXPECT_EQ(part.points.size(), 125u);   // those of 4 x 4 x 4 cubes
  for (const auto& cell : part.cells) EXPECT_NEAR(volume(part, cell), 1.0 / 384, 1e-15);
}

TEST(Forest, ConformsWhereverTheFeatureIs) {
  for (const int levels : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const Forest forest({.cubes = {2, 3, 2}, .levels = levels});
    for (int i = 0; i < 6; ++i) {
      const Distance distance = from(i * 0.17, i * i * 0.05, 0.9 - i * 0.13);
      const Part part = whole(forest, distance, 0.04 * i);

      const Faces faces = open_faces(part, forest);

      EXPECT_EQ(faces.open.size(), 0u) << levels << " levels, feature " << i;
      EXPECT_EQ(faces.crowded, 0) << levels << " levels, feature " << i;
      EXPECT_NEAR(volume(part), forest.volume(), 1e-13);
    }
  }
}

TEST(Forest, IsFinestAroundTheFeatureAndCoarseFarFromIt) {
  const Forest forest({.cubes = {8, 8, 8}, .levels = 6});
  const Distance distance = from(0.1, 0.1, 0.1);
  const std::int64_t coarsest = sixfold_volume(forest.root(0)), finest = coarsest >> 6;
  int fine_cells = 0, coarse_cells = 0;
  for (int tree = 0; tree < forest.trees(); ++tree) {
    forest.for_leaves(tree, distance, 0.1, [&](const Tetrahedron& leaf) {
      const Lattice at = middle(leaf, longest_edge(leaf));
      const double away = distance(at.x * forest.spacing(), at.y * forest.spacing(), at.z * forest.spacing());
      if (away < 0.1) {
        EXPECT_EQ(sixfold_volume(leaf), finest);
        ++fine_cells;
      } else if (away > 0.7) {
        EXPECT_EQ(sixfold_volume(leaf), coarsest);
        ++coarse_cells;
      }
    });
  }
  EXPECT_GT(fine_cells, 100);
  EXPECT_GT(coarse_cells, 1000);
}

// A check that finds nothing has to be shown what it looks for.
TEST(OpenFaces, FindAMissingCellAndACellThatWasBisectedAlone) {
  const Forest forest({.cubes = {2, 2, 2}, .levels = 3});
  Part missing = whole(forest, nowhere, 0);
  missing.cells.erase(missing.cells.begin() + 5);

  EXPECT_GT(open_faces(missing, forest).open.size(), 0u);

  Part doubled = whole(forest, nowhere, 0);
  doubled.cells.push_back(doubled.cells.front());
  EXPECT_GT(open_faces(doubled, forest).crowded, 0);

  // A neighbour that does not know of the feature: its side of the shared faces is coarse.
  const Distance distance = from(0.5, 0.5, 0.5);
  const Part here = make_part(forest, {0, 24}, distance, 0.2), there = make_part(forest, {24, 48}, nowhere, 0);
  const auto sorted = [](std::vector<Face> faces) {
    std::sort(faces.begin(), faces.end());
    return faces;
  };
  EXPECT_NE(sorted(open_faces(here, forest).open), sorted(open_faces(there, forest).open));
}

TEST(Parts, HaveTheOtherSideOfEachOthersOpenFaces) {
  const Forest forest({.cubes = {2, 2, 2}, .levels = 5});
  const Distance distance = from(0.4, 0.5, 0.6);
  std::map<Face, int> sides;
  for (const Trees trees : {Trees{0, 7}, Trees{7, 7}, Trees{7, 30}, Trees{30, 48}}) {
    const Part part = make_part(forest, trees, distance, 0.1);
    for (const Face& face : open_faces(part, forest).open) ++sides[face];
  }

  EXPECT_GT(sides.size(), 10u);
  for (const auto& [face, count] : sides) EXPECT_EQ(count, 2);
}

TEST(Balanced, GivesEveryRankAboutTheSameAndEveryTreeToOne) {
  std::vector<std::int64_t> leaves(100, 1);
  for (std::size_t i = 40; i < 50; ++i) leaves[i] = 60;
  const std::vector<Trees> shares = balanced(leaves, 7);

  int next = 0;
  for (const Trees& share : shares) {
    EXPECT_EQ(share.first, next);
    next = share.end;
    const std::int64_t sum = std::accumulate(leaves.begin() + share.first, leaves.begin() + share.end, std::int64_t{0});
    EXPECT_NEAR(static_cast<double>(sum), 690 / 7.0, 61);
  }
  EXPECT_EQ(next, 100);
}

TEST(Balanced, LeavesRanksWithoutTreesWhenThereAreTooFew) {
  const std::vector<Trees> shares = balanced(std::vector<std::int64_t>(6, 5), 9);

  int without = 0, trees = 0;
  for (const Trees& share : shares) {
    without += share.first == share.end;
    trees += share.end - share.first;
  }
  EXPECT_EQ(without, 3);
  EXPECT_EQ(trees, 6);
}

}  // namespace
}  // namespace phasta
