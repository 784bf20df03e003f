// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/block_mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace glean::mesh {
namespace {

void add(BlockMesh& mesh, std::int32_t level, std::int32_t parent, const std::vector<double>& lower, double width) {
  mesh.levels.push_back(level);
  mesh.parents.push_back(parent);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool is_there = axis < lower.size();
    mesh.bounds.push_back(is_there ? lower[axis] : 0);
    mesh.bounds.push_back(is_there ? lower[axis] + width : 1);
  }
}

// Two roots beside each other, the children of the second, and those of its first child.
BlockMesh three_levels() {
  BlockMesh mesh;
  mesh.dimensions = 2;
  mesh.cells = {4, 4, 1};
  add(mesh, 1, -1, {-8, 2}, 8);
  add(mesh, 1, -1, {0, 2}, 8);
  for (const double y : {0.0, 4.0}) {
    for (const double x : {0.0, 4.0}) add(mesh, 2, 1, {x, 2 + y}, 4);
  }
  for (const double y : {0.0, 2.0}) {
    for (const double x : {0.0, 2.0}) add(mesh, 3, 2, {x, 2 + y}, 2);
  }
  return mesh;
}

std::vector<std::string> defects_of(const BlockMesh& mesh) {
  BlockPositions positions;
  return locate(mesh, positions);
}

using Defects = std::vector<std::string>;

TEST(BlockMesh, LocatesBlocksOnTheGridOfTheirLevel) {
  BlockPositions positions;
  EXPECT_EQ(locate(three_levels(), positions), Defects{});

  EXPECT_EQ(positions.lower, (std::array<double, 3>{-8, 2, 0}));
  EXPECT_EQ(positions.root_width, (std::array<double, 3>{8, 8, 1}));
  EXPECT_EQ(positions.width(3, 0), 2);
  EXPECT_EQ(positions.of_block[0], (std::array<std::int64_t, 3>{0, 0, 0}));
  EXPECT_EQ(positions.of_block[5], (std::array<std::int64_t, 3>{3, 1, 0}));
  EXPECT_EQ(positions.of_block[7], (std::array<std::int64_t, 3>{5, 0, 0}));
}

TEST(BlockMesh, RelatesBlocksToTheirNeighboursAndChildren) {
  const BlockMesh mesh = three_levels();
  BlockPositions positions;
  ASSERT_EQ(locate(mesh, positions), Defects{});

  const BlockRelations relations = relations_of(mesh, positions);

  EXPECT_EQ(relations.node_types, (std::vector<std::int32_t>{1, 2, 2, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(relations.which_child, (std::vector<std::int32_t>{-1, -1, 1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(std::vector(relations.children.begin() + 4, relations.children.begin() + 12),
            (std::vector<std::int32_t>{2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(std::vector(relations.neighbours.begin(), relations.neighbours.begin() + 8),
            (std::vector<std::int32_t>{-1, 1, -1, -1, 0, -1, -1, -1}));
  EXPECT_EQ(std::vector(relations.neighbours.begin() + 12, relations.neighbours.begin() + 16), (std::vector<std::int32_t>{2, -1, -1, 5}));
}

TEST(BlockMesh, OfWhichALevelIsEmptyIsAMesh) {
  BlockMesh mesh;
  mesh.dimensions = 1;
  mesh.cells = {2, 1, 1};
  add(mesh, 2, -1, {4}, 4);
  add(mesh, 2, -1, {0}, 4);
  add(mesh, 4, -1, {1}, 1);
  BlockPositions positions;

  EXPECT_EQ(locate(mesh, positions), Defects{});

  EXPECT_EQ(positions.lower[0], 0);
  EXPECT_EQ(positions.root_width[0], 8);
  EXPECT_EQ(positions.of_block[2][0], 1);
}

TEST(BlockMesh, FindsBlocksInSinglePrecision) {
  BlockMesh mesh;
  mesh.dimensions = 1;
  constexpr int blocks = 3000;
  for (int i = 0; i < blocks; ++i) {
    add(mesh, 5, -1, {i * 0.1}, 0.1);
    for (double* bound : {&mesh.bounds[6 * static_cast<std::size_t>(i)], &mesh.bounds[6 * static_cast<std::size_t>(i) + 1]}) {
      *bound = static_cast<double>(static_cast<float>(*bound));
    }
  }
  BlockPositions positions;
  EXPECT_EQ(locate(mesh, positions), Defects{});
  EXPECT_EQ(positions.of_block.back()[0], blocks - 1);
}

TEST(BlockMesh, NamesAllThatIsWrongAtOnce) {
  BlockMesh mesh = three_levels();
  mesh.bounds[6 * 0 + 1] = std::numeric_limits<double>::quiet_NaN();
  mesh.levels[3] = 0;
  mesh.bounds[6 * 4 + 0] += 1;   // the block is narrower
  mesh.parents[5] = 99;
  mesh.parents[6] = 1;   // of level 1
  mesh.parents[7] = 8;   // a cycle
  mesh.parents[8] = 7;
  std::copy_n(mesh.bounds.begin() + std::ptrdiff_t{6 * 8}, 6, mesh.bounds.begin() + std::ptrdiff_t{6 * 9});

  EXPECT_EQ(defects_of(mesh),
            (Defects{"block 0: its bounding box along x is from -8 to nan", "block 3: its level is 0",
                     "block 4: its bounding box along x is from 1 to 4, where no block of level 2 can be: these are 4 wide",
                     "block 9: it is where block 8 of the same level is",
                     "block 3: its parent 1 is of level 1, and it is of level 0 itself", "block 5: its parent 99 is no block",
                     "block 6: its parent 1 is of level 1, and it is of level 3 itself",
                     "block 7: its parent 8 is of level 3, and it is of level 3 itself",
                     "block 8: its parent 7 is of level 3, and it is of level 3 itself", "a cycle of parents: 7, 8"}));
}

TEST(BlockMesh, BlamesTheBlockThatIsShiftedAndNotTheOthers) {
  BlockMesh mesh = three_levels();
  mesh.bounds[0] -= 3;
  mesh.bounds[1] -= 3;
  EXPECT_EQ(defects_of(mesh),
            Defects{"block 0: its bounding box along x is from -11 to -3, where no block of level 1 can be: these are 8 wide"});
  mesh = three_levels();
  mesh.parents[9] = 3;
  EXPECT_EQ(defects_of(mesh), Defects{"block 9: it does not lie in its parent 3"});
  EXPECT_EQ(defects_of(BlockMesh{}), Defects{"there is no block"});
}

TEST(BlockMesh, TooWideToBeCountedIsRefused) {
  BlockMesh mesh;
  mesh.dimensions = 1;
  add(mesh, 1, -1, {0}, 1);
  add(mesh, 1, -1, {-0x1p51}, 1);
  add(mesh, 40, -1, {0}, 0x1p-39);
  const std::vector<std::string> defects = defects_of(mesh);
  EXPECT_NE(std::find(defects.begin(), defects.end(), "block 2: there are more blocks of level 40 side by side than can be counted"),
            defects.end());
}

TEST(BlockMesh, BoundsMayBeAnything) {
  for (const double wild : {1e300, -1e300, 1e-320, std::numeric_limits<double>::infinity(), 0.0}) {
    BlockMesh mesh = three_levels();
    mesh.bounds[6 * 3] = wild;
    mesh.bounds[6 * 5 + 1] = wild;
    EXPECT_NE(defects_of(mesh), Defects{}) << wild;
  }
}

}  // namespace
}  // namespace glean::mesh
