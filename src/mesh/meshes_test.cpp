// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/meshes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

namespace glean::mesh {
namespace {

using Sentences = std::vector<std::string>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

PointList points(const std::vector<double>& xyz) {
  const auto bytes = std::as_bytes(std::span(xyz));
  return {Type::float64, {bytes.begin(), bytes.end()}};
}

// A tetrahedron and a triangle.
UnstructuredMesh two_cells() {
  return {points({0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}), {10, 5}, {0, 4, 7}, {0, 1, 2, 3, 0, 1, 2}};
}

UniformGrid plane() { return {{4, 6}, {0, 0}, {1, 0.5}, {{{0, 0}, {2, 6}}, {{2, 0}, {2, 6}}}}; }

AmrGrid tree() {
  return {3, 0, {{1, -1, {0, 0}, {8, 8}}, {2, 0, {0, 0}, {4, 4}}, {2, 0, {4, 0}, {8, 4}}}, {4, 4}};
}

TEST(UniformGrids, ThatAreGoodHaveNoFlaws) { EXPECT_EQ(flaws_of(plane()), Sentences{}); }

TEST(UniformGrids, SayAllThatIsWrong) {
  UniformGrid grid = plane();
  grid.origin[1] = nan;
  grid.spacing[0] = 0;
  grid.blocks.push_back({{3, 5}, {2, 1}});

  const Sentences flaws = flaws_of(grid);

  EXPECT_EQ(flaws, (Sentences{"its origin along dimension 1 is not finite",
                              "its spacing along dimension 0 is 0.000000, not a positive number",
                              "block 2 [3:5, 5:6] does not lie in a grid of [4, 6] cells"}));
}

TEST(UniformGrids, NameTheFirstBlocksThatOverlap) {
  UniformGrid grid = plane();
  grid.blocks[1].start[0] = 1;
  EXPECT_EQ(flaws_of(grid), Sentences{"blocks 0 [0:2, 0:6] and 1 [1:3, 0:6] of this rank overlap"});
}

TEST(RectilinearGrids, HaveCoordinatesThatAscend) {
  RectilinearGrid grid{{{0, 1, 3}, {0, 2, 2, 1, nan}}, {}};
  EXPECT_EQ(grid.shape(), (Shape{2, 4}));
  EXPECT_EQ(flaws_of(grid), (Sentences{"coordinate 2 along dimension 1 is 2.000000, not greater than the one before, 2.000000",
                                       "coordinate 3 along dimension 1 is 1.000000, not greater than the one before, 2.000000",
                                       "coordinate 4 along dimension 1 is not finite"}));
  EXPECT_EQ(flaws_of(RectilinearGrid{{{0}}, {}}), Sentences{"dimension 0 has no cells"});
}

TEST(CurvilinearGrids, HavePointsForAllCornersOfTheirBlocks) {
  CurvilinearGrid grid{{1, 2}, {{{0, 0}, {1, 2}}}, points(std::vector<double>(15))};
  EXPECT_EQ(flaws_of(grid), Sentences{"it has 5 points, and the blocks of this rank have 6: one more than cells in each dimension"});
  grid.points = points(std::vector<double>(18));
  EXPECT_EQ(flaws_of(grid), Sentences{});
}

TEST(UnstructuredMeshes, ThatAreGoodOrEmptyHaveNoFlaws) {
  EXPECT_EQ(flaws_of(two_cells()), Sentences{});
  EXPECT_EQ(flaws_of(UnstructuredMesh{{}, {}, {0}, {}}), Sentences{});
}

TEST(UnstructuredMeshes, SayWhichCellsAreWrong) {
  UnstructuredMesh mesh = two_cells();
  mesh.types = {12, 42};
  mesh.connectivity[1] = 4;
  mesh.connectivity[6] = -1;
  mesh.points = points({0, 0, 0, 1, nan, 0, 0, 1, 0, 0, 0, INFINITY});

  EXPECT_EQ(flaws_of(mesh), (Sentences{"cell 1 has type 42, which cannot be written",
                                       "cell 0 is a hexahedron and has 4 points, not 8 points",
                                       "cell 0 has point 4, and this rank has points 0 to 3",
                                       "cell 1 has point -1, and this rank has points 0 to 3", "y of point 1 is not finite",
                                       "z of point 3 is not finite"}));
}

TEST(UnstructuredMeshes, AreNotLookedAtBehindOffsetsThatAreWrong) {
  UnstructuredMesh mesh = two_cells();
  mesh.offsets = {1, 0, 9};
  EXPECT_EQ(flaws_of(mesh), (Sentences{"the first offset is 1, not 0", "offset 1 is 0, less than the one before, 1",
                                       "its cells have 9 points by their offsets, and the connectivity has 7"}));
  mesh.offsets = {0, 4};
  EXPECT_EQ(flaws_of(mesh), Sentences{"it has 2 offsets for 2 cells, not one more than cells"});
}

TEST(UnstructuredMeshes, CountWhatIsWrongOften) {
  UnstructuredMesh mesh{{}, std::vector<std::uint8_t>(100, 1), {}, std::vector<std::int64_t>(100, 7)};
  mesh.offsets = offsets_of(mesh.types);
  const Sentences flaws = flaws_of(mesh);
  ASSERT_EQ(flaws.size(), 4U);
  EXPECT_EQ(flaws.back(), "there are 97 more points of cells that are not there");
}

TEST(AmrGrids, ThatAreGoodHaveNoFlaws) { EXPECT_EQ(flaws_of(tree()), Sentences{}); }

TEST(AmrGrids, SayWhatIsWrongWithTheTree) {
  AmrGrid grid = tree();
  grid.first_block = 1;
  grid.blocks_total = 4;
  grid.blocks[0].level = 0;
  grid.blocks[1].parent = 9;
  grid.blocks[2].parent = 2;
  EXPECT_EQ(flaws_of(grid), (Sentences{"the level of block 1 is 0, less than 1", "parent 9 of block 2 is no block of the grid",
                                       "block 3 has level 2, and its parent 2 has level 2"}));
}

TEST(AmrGrids, SayWhichBlocksDoNotFitTheirLevel) {
  AmrGrid grid = tree();
  grid.blocks[2].lower[0] = 3.7;
  grid.blocks[2].upper[0] = 7.7;
  const Sentences flaws = flaws_of(grid);
  ASSERT_EQ(flaws.size(), 2U);
  EXPECT_EQ(flaws[0], "along x, block 2 reaches from 3.700000 to 7.700000, which does not fit cells of width 1.000000 of its level 2");
  EXPECT_EQ(flaws[1], "block 1 and block 2 of level 2 overlap");
}

TEST(AmrGrids, DoNotMindRoundedBounds) {
  AmrGrid grid{2, 0, {{1, -1, {0.1}, {0.1 + 0.3}}, {1, -1, {0.4}, {0.7000000001}}}, {16}};
  EXPECT_EQ(flaws_of(grid), Sentences{});
}

TEST(Points, ThatBlocksShareAreOfTheOneThatBeginsThere) {
  EXPECT_EQ(points_of({{0, 2}, {2, 4}}), (Box{{0, 2}, {3, 5}}));
  EXPECT_EQ(own_points_of({{0, 2}, {2, 4}}, {4, 6}), (Box{{0, 2}, {2, 5}}));
}

}  // namespace
}  // namespace glean::mesh
