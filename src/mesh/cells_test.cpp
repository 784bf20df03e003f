// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/cells.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace glean::mesh {
namespace {

TEST(Cells, HaveAsManyPointsAsTheirShapeSays) {
  EXPECT_EQ(shape_of_cell(12)->least, 8U);
  EXPECT_EQ(points_wanted(12, *shape_of_cell(12), 8), "");
  EXPECT_EQ(points_wanted(12, *shape_of_cell(12), 7), "8 points");
  EXPECT_EQ(points_wanted(1, *shape_of_cell(1), 2), "1 point");
  EXPECT_EQ(points_wanted(7, *shape_of_cell(7), 17), "");
  EXPECT_EQ(points_wanted(7, *shape_of_cell(7), 2), "at least 3 points");
}

TEST(Cells, OfTypesThatCannotBeWrittenAreNone) {
  for (const int type : {0, 17, 42, 71, 73, 255}) EXPECT_FALSE(shape_of_cell(static_cast<std::uint8_t>(type))) << type;
}

TEST(LagrangeHexahedra, HaveAnOrderWhereTheirPointsAreACube) {
  EXPECT_EQ(lagrange_order(8), 1U);
  EXPECT_EQ(lagrange_order(27), 2U);
  EXPECT_EQ(lagrange_order(17 * 17 * 17), 16U);
  for (const std::uint64_t points : {0, 1, 9, 26, 28}) EXPECT_FALSE(lagrange_order(points)) << points;
  EXPECT_EQ(points_wanted(72, *shape_of_cell(72), 9), "(order + 1)^3 points, such as 8, 27, 64");
}

TEST(LagrangeHexahedra, OfOrderOneAreHexahedra) {
  const std::size_t corners[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(lagrange_hexahedron_point(corners[c][0], corners[c][1], corners[c][2], 1), c);
}

TEST(LagrangeHexahedra, HaveEveryPointOnce) {
  for (std::size_t order = 1; order < 6; ++order) {
    std::set<std::size_t> found;
    for (std::size_t i = 0; i <= order; ++i) {
      for (std::size_t j = 0; j <= order; ++j) {
        for (std::size_t k = 0; k <= order; ++k) found.insert(lagrange_hexahedron_point(i, j, k, order));
      }
    }
    EXPECT_EQ(found.size(), (order + 1) * (order + 1) * (order + 1));
    EXPECT_EQ(*found.rbegin(), found.size() - 1);
  }
}

// From a table of VTK's: the second point of an edge, a face and the middle of order 2, 27 points.
TEST(LagrangeHexahedra, HaveEdgesThenFacesThenWhatIsInside) {
  EXPECT_EQ(lagrange_hexahedron_point(1, 0, 0, 2), 8U);
  EXPECT_EQ(lagrange_hexahedron_point(2, 1, 0, 2), 9U);
  EXPECT_EQ(lagrange_hexahedron_point(1, 2, 0, 2), 10U);
  EXPECT_EQ(lagrange_hexahedron_point(0, 1, 0, 2), 11U);
  EXPECT_EQ(lagrange_hexahedron_point(0, 0, 1, 2), 16U);
  EXPECT_EQ(lagrange_hexahedron_point(2, 2, 1, 2), 18U);
  EXPECT_EQ(lagrange_hexahedron_point(0, 2, 1, 2), 19U);
  EXPECT_EQ(lagrange_hexahedron_point(0, 1, 1, 2), 20U);
  EXPECT_EQ(lagrange_hexahedron_point(1, 1, 2, 2), 25U);
  EXPECT_EQ(lagrange_hexahedron_point(1, 1, 1, 2), 26U);
}

TEST(LagrangeHexahedra, OfOldFilesHaveTwoEdgesTheOtherWayRound) {
  std::vector<std::int64_t> points(64);
  std::iota(points.begin(), points.end(), 0);
  swap_lagrange_edges(points, 3);
  for (std::size_t k = 1; k < 3; ++k) {
    EXPECT_EQ(points[lagrange_hexahedron_point(0, 3, k, 3)], static_cast<std::int64_t>(lagrange_hexahedron_point(3, 3, k, 3)));
    EXPECT_EQ(points[lagrange_hexahedron_point(3, 3, k, 3)], static_cast<std::int64_t>(lagrange_hexahedron_point(0, 3, k, 3)));
    EXPECT_EQ(points[lagrange_hexahedron_point(3, 0, k, 3)], static_cast<std::int64_t>(lagrange_hexahedron_point(3, 0, k, 3)));
  }
}

}  // namespace
}  // namespace glean::mesh
