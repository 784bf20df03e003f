// SPDX-License-Identifier: BSD-3-Clause
#include "mesh.hpp"

#include <gtest/gtest.h>

namespace nekcem {
namespace {

TEST(EvenRuns, CoverAllElementsAndDifferByOneAtMost) {
  const std::vector<Range> runs = even_runs(10, std::vector<Role>(4, Role::computes));

  std::int64_t next = 0;
  for (const Range& run : runs) {
    EXPECT_EQ(run.first, next);
    EXPECT_TRUE(run.size() == 2 || run.size() == 3);
    next = run.end;
  }
  EXPECT_EQ(next, 10);
}

TEST(EvenRuns, GiveNothingToRanksThatAreSetAside) {
  const std::vector<Range> runs = even_runs(6, {Role::set_aside, Role::computes, Role::computes, Role::set_aside, Role::computes});

  std::vector<std::int64_t> sizes;
  for (const Range& run : runs) sizes.push_back(run.size());
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{0, 2, 2, 0, 2}));
}

TEST(Mesh, NamesTheRankThatHasAnElement) {
  const std::vector<Role> roles = {Role::set_aside, Role::computes, Role::set_aside, Role::computes, Role::computes};
  const Mesh mesh({.elements = {3, 2, 2}}, even_runs(12, roles), 0);

  for (std::int64_t element = 0; element < 12; ++element) {
    const Range& run = mesh.runs()[static_cast<std::size_t>(mesh.owner(element))];
    EXPECT_TRUE(element >= run.first && element < run.end) << element;
  }
}

TEST(Mesh, HasWallsAlongXAndYAndIsPeriodicAlongZ) {
  const Mesh mesh({.elements = {3, 2, 2}}, even_runs(12, {Role::computes}), 0);

  EXPECT_EQ(mesh.neighbour(0, 0), Mesh::wall);
  EXPECT_EQ(mesh.neighbour(0, 1), 1);
  EXPECT_EQ(mesh.neighbour(2, 1), Mesh::wall);
  EXPECT_EQ(mesh.neighbour(0, 2), Mesh::wall);
  EXPECT_EQ(mesh.neighbour(0, 3), 3);
  EXPECT_EQ(mesh.neighbour(0, 4), 6);
  EXPECT_EQ(mesh.neighbour(7, 5), 1);
}

TEST(Mesh, FindsItsWayBackThroughEveryFace) {
  const Mesh mesh({.elements = {3, 2, 4}}, even_runs(24, {Role::computes}), 0);

  for (std::int64_t element = 0; element < 24; ++element) {
    for (int face = 0; face < faces; ++face) {
      const std::int64_t beyond = mesh.neighbour(element, face);
      if (beyond == Mesh::wall) continue;
      EXPECT_EQ(mesh.neighbour(beyond, opposite(face)), element);
    }
  }
}

TEST(Mesh, PutsPointsOfNeighboursInTheSamePlace) {
  const Mesh mesh({.elements = {4, 2, 8}, .order = 3}, even_runs(64, {Role::computes}), 0);

  EXPECT_DOUBLE_EQ(mesh.coordinate(0, 0, 3), mesh.coordinate(1, 0, 0));
  EXPECT_DOUBLE_EQ(mesh.coordinate(3, 0, 3), 1.0);
  EXPECT_DOUBLE_EQ(mesh.coordinate(63, 2, 3), 2.0);
}

}  // namespace
}  // namespace nekcem
