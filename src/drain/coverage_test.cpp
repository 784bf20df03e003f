// SPDX-License-Identifier: BSD-3-Clause
#include "drain/coverage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "store/random_variable.hpp"

namespace glean::drain {
namespace {

using base::Bytes;

TEST(Coverage, FindOverlapsAndHolesAsElementByElementComparisonDoes) {
  std::mt19937 random(4);
  for (int round = 0; round < 3000; ++round) {
    const auto variable = store::random_variable(random, mesh::Type::int16);
    const std::uint64_t record = random() % 3;
    Coverage coverage(variable.shape);
    std::vector<int> owner(mesh::elements_of(variable.shape), -1);

    for (int rank = 0; rank < 12; ++rank) {
      const mesh::Box box = store::random_box(random, variable.shape);
      std::vector<int> owners;
      for (const auto position : store::positions(box, variable.shape)) {
        if (owner[position] >= 0) owners.push_back(owner[position]);
      }
      const auto earlier = coverage.add(box, rank);
      ASSERT_EQ(earlier.has_value(), !owners.empty()) << "round " << round;
      if (earlier) {
        ASSERT_NE(std::find(owners.begin(), owners.end(), earlier->rank), owners.end());
        ASSERT_TRUE(earlier->box.intersects(box));
      } else {
        for (const auto position : store::positions(box, variable.shape)) owner[position] = rank;
      }
    }

    std::vector<bool> expected(owner.size()), reported(owner.size());
    for (std::size_t i = 0; i < owner.size(); ++i) expected[i] = owner[i] < 0;
    Bytes reached = 0;
    for (const base::Extent& hole : coverage.uncovered(variable, record)) {
      ASSERT_LT(hole.begin, hole.end);
      ASSERT_TRUE(reached == 0 || hole.begin > reached) << "neighbours are one hole";
      reached = hole.end;
      ASSERT_EQ((hole.begin - variable.record_begin_bytes(record)) % 2, 0u);
      for (Bytes at = hole.begin; at < hole.end; at += 2) {
        reported[(at - variable.record_begin_bytes(record)) / 2] = true;
      }
    }
    ASSERT_EQ(reported, expected) << "round " << round;
  }
}

double cpu_seconds_of_adding(const mesh::Shape& shape, const std::vector<mesh::Box>& boxes) {
  Coverage coverage(shape);
  const std::clock_t begin = std::clock();
  for (const auto& box : boxes) EXPECT_FALSE(coverage.add(box, 0));
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Coverage, OfManySmallBoxesTakeNoLongerThanTheirNumberJustifies) {
  std::vector<mesh::Box> rows, with_a_large_one;
  for (std::uint64_t row = 0; row < 30'000; ++row) rows.push_back({{row, 0}, {1, 30'001}});   // in the longest dimension
  with_a_large_one.push_back({{30'000, 0}, {30'000, 2}});
  for (std::uint64_t row = 0; row < 30'000; ++row) with_a_large_one.push_back({{30'000 + row, 2}, {1, 29'999}});
  with_a_large_one.insert(with_a_large_one.end(), rows.begin(), rows.end());

  const std::vector<mesh::Box> an_eighth(rows.begin(), rows.begin() + 3'750);
  const double limit = 24 * cpu_seconds_of_adding({30'000, 30'001}, an_eighth);   // pairwise comparison would take 64 times as long

  EXPECT_LT(cpu_seconds_of_adding({30'000, 30'001}, rows), limit);
  EXPECT_LT(cpu_seconds_of_adding({60'000, 30'001}, with_a_large_one), 2 * limit);
}

TEST(Coverage, OfAScalarAreOne) {
  Coverage coverage({});

  EXPECT_FALSE(coverage.add({}, 3));
  EXPECT_EQ(coverage.add({}, 4)->rank, 3);
}

}  // namespace
}  // namespace glean::drain
