// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/box.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace glean::mesh {
namespace {

// Array positions of all elements of a box, in order, one index at a time.
std::vector<std::uint64_t> positions_one_by_one(const Box& box, const Shape& shape) {
  std::vector<std::uint64_t> positions;
  for (std::uint64_t i = 0; i < box.elements(); ++i) {
    std::uint64_t rest = i, position = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      position += (box.start[d] + rest % box.count[d]) * stride;
      rest /= box.count[d];
      stride *= shape[d];
    }
    positions.push_back(position);
  }
  return positions;
}

std::vector<std::uint64_t> positions_by_rows(const Rows& rows) {
  std::vector<std::uint64_t> positions;
  for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
    for (std::uint64_t e = 0; e < rows.row_elements(); ++e) positions.push_back(rows.position(row) + e);
  }
  return positions;
}

std::pair<Box, Shape> random_box(std::mt19937& random) {
  const std::size_t dimensions = random() % 5;
  Box box;
  Shape shape;
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::uint64_t extent = 1 + random() % 6;
    const std::uint64_t start = random() % extent;
    shape.push_back(extent);
    box.start.push_back(start);
    box.count.push_back(1 + random() % (extent - start));
  }
  return {box, shape};
}

TEST(Rows, AreTheElementsOfTheBoxInOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto [box, shape] = random_box(random);

    const Rows rows(box, shape);

    ASSERT_EQ(positions_by_rows(rows), positions_one_by_one(box, shape)) << to_string(box) << " round " << round;
  }
}

TEST(Rows, MergeWholeTrailingDimensions) {
  const Rows rows({{2, 0, 0}, {3, 4, 5}}, Shape{8, 4, 5});

  EXPECT_EQ(rows.row_count(), 1u);
  EXPECT_EQ(rows.row_elements(), 60u);
  EXPECT_EQ(rows.position(0), 40u);
}

TEST(Rows, FindTheFirstRowAfterAPosition) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    const auto [box, shape] = random_box(random);
    const Rows rows(box, shape);
    for (std::uint64_t position = 0; position <= elements_of(shape); ++position) {
      std::uint64_t expected = 0;
      while (expected < rows.row_count() && rows.position(expected) + rows.row_elements() <= position) ++expected;

      ASSERT_EQ(rows.first_row_ending_after(position), expected) << to_string(box) << " at " << position;
    }
  }
}

TEST(Rows, OfAnEmptyBoxAreNone) {
  const Rows rows({{0, 3}, {4, 0}}, Shape{4, 4});

  EXPECT_EQ(rows.row_count(), 0u);
}

TEST(Box, KnowsWhatLiesInsideAndWhatOverlaps) {
  const Box box{{2, 2}, {4, 4}};

  EXPECT_TRUE(box.contains({{3, 2}, {3, 4}}));
  EXPECT_FALSE(box.contains({{3, 2}, {4, 4}}));
  EXPECT_TRUE(box.contains({{100, 100}, {0, 7}}));
  EXPECT_TRUE(box.intersects({{5, 5}, {9, 9}}));
  EXPECT_FALSE(box.intersects({{6, 2}, {1, 1}}));
  EXPECT_FALSE(box.contains({{~0ull, 2}, {2, 1}}));
}

TEST(Box, OfMoreElementsThanCanBeCountedIsNotTakenForAnEmptyOne) {
  const Box monster{{0, 0}, {1ull << 32, 1ull << 32}};   // 2^64 elements: 0 in 64 bits

  EXPECT_FALSE(monster.empty());
  EXPECT_FALSE((Box{{0, 0}, {4, 4}}.contains(monster)));
  EXPECT_TRUE(monster.intersects({{5, 5}, {1, 1}}));
}

TEST(Box, MeetsAnotherNearTheEndOfWhatCanBeCounted) {
  const Box last{{~0ull - 1}, {2}};

  EXPECT_TRUE(last.intersects({{~0ull}, {1}}));
  EXPECT_FALSE(last.intersects({{0}, {1}}));
  EXPECT_FALSE((Box{{0}, {1}}.intersects(last)));
}

TEST(Merged, JoinsNeighboursAlongEveryDimension) {
  std::vector<Box> quarters;
  for (std::uint64_t i = 0; i < 16; ++i) quarters.push_back({{i / 4 * 2, i % 4 * 3}, {2, 3}});
  std::shuffle(quarters.begin(), quarters.end(), std::mt19937(1));
  quarters.push_back(quarters.front());

  EXPECT_EQ(merged(quarters), (std::vector<Box>{{{0, 0}, {8, 12}}}));
  EXPECT_EQ(merged({{{0}, {2}}, {{3}, {1}}, {{9}, {0}}}), (std::vector<Box>{{{0}, {2}}, {{3}, {1}}}));
  EXPECT_EQ(merged({Box{}, Box{}}), std::vector<Box>{Box{}});
  EXPECT_TRUE(merged({}).empty());
}

TEST(Merged, HasTheSameElements) {
  std::mt19937 random(2);
  const Shape shape = {6, 5, 7};
  for (int n = 0; n < 100; ++n) {
    std::vector<Box> boxes;
    std::vector<std::uint64_t> expected;
    // Single elements, so that none is twice in two boxes.
    for (std::uint64_t position = 0; position < elements_of(shape); ++position) {
      if (random() % 3 == 0) continue;
      boxes.push_back({{position / 35, position / 7 % 5, position % 7}, {1, 1, 1}});
      expected.push_back(position);
    }
    const std::vector<Box> joined = merged(boxes);
    std::vector<std::uint64_t> found;
    for (const Box& box : joined) {
      const auto its = positions_one_by_one(box, shape);
      found.insert(found.end(), its.begin(), its.end());
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
    EXPECT_LT(joined.size(), boxes.size());
  }
}

TEST(Box, WithoutDimensionsIsOneElement) {
  const Box scalar;

  EXPECT_FALSE(scalar.empty());
  EXPECT_EQ(scalar.elements(), 1u);
  EXPECT_TRUE(scalar.contains(scalar));
  EXPECT_TRUE(scalar.intersects(scalar));
}

}  // namespace
}  // namespace glean::mesh
