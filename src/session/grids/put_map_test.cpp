// SPDX-License-Identifier: BSD-3-Clause
#include "session/grids/put_map.hpp"

#include <gtest/gtest.h>

#include <map>

namespace glean::session {
namespace {

using mesh::Box;

struct Taken final : PutMap::Receiver {
  struct One {
    int variable;
    Box file, part;
    friend bool operator==(const One&, const One&) = default;
  };
  std::vector<One> all;
  void take(int variable, const Box& file, const Box& part) override { all.push_back({variable, file, part}); }
};

TEST(OwnPoints, LeaveOutWhatTheNextBlockPuts) {
  const OwnPoints map(3, {{{0, 0}, {2, 4}}, {{2, 0}, {3, 4}}});
  Taken taken;

  map.split(0, {{0, 0}, {3, 4}}, taken);
  map.split(0, {{2, 0}, {1, 4}}, taken);
  map.split(1, {{2, 1}, {3, 1}}, taken);

  const Box first{{0, 0}, {2, 4}}, second{{2, 1}, {3, 1}};
  EXPECT_EQ(taken.all, (std::vector<Taken::One>{{3, first, first}, {3, second, second}}));
}

// Blocks 5, 6, 7 of the program: 5 and 6 follow each other in the level of variable 1.
AmrLevels three_blocks(bool has_components) { return {5, {{1, 10}, {1, 11}, {2, 0}}, {2, 3}, has_components}; }

TEST(AmrLevels, PutsWholeBlocksOfALevelAtOnce) {
  Taken taken;
  three_blocks(false).split(0, {{5, 0, 0}, {3, 2, 3}}, taken);
  EXPECT_EQ(taken.all, (std::vector<Taken::One>{{1, {{60}, {12}}, {{5, 0, 0}, {2, 2, 3}}}, {2, {{0}, {6}}, {{7, 0, 0}, {1, 2, 3}}}}));
}

TEST(AmrLevels, PutsPartsOfABlockRowByRow) {
  Taken taken;
  three_blocks(true).split(0, {{6, 0, 1, 2}, {1, 2, 2, 1}}, taken);
  EXPECT_EQ(taken.all, (std::vector<Taken::One>{{1, {{67, 2}, {2, 1}}, {{6, 0, 1, 2}, {1, 1, 2, 1}}},
                                                {1, {{70, 2}, {2, 1}}, {{6, 1, 1, 2}, {1, 1, 2, 1}}}}));
}

// Every element once, where the list of its level has it.
TEST(AmrLevels, PutsEveryElementWhereItBelongs) {
  const AmrLevels map(0, {{0, 1}, {0, 0}, {1, 0}}, {2, 3, 4}, false);
  Taken taken;
  map.split(0, {{0, 0, 1, 1}, {3, 2, 2, 3}}, taken);
  std::map<std::pair<int, std::uint64_t>, int> found;
  for (const auto& one : taken.all) {
    ASSERT_EQ(one.file.elements(), one.part.elements());
    for (std::uint64_t i = 0; i < one.file.count[0]; ++i) ++found[{one.variable, one.file.start[0] + i}];
  }
  EXPECT_EQ(found.size(), 3U * 2 * 2 * 3);
  for (const auto& [place, count] : found) {
    EXPECT_EQ(count, 1);
    const std::uint64_t within = place.second % 24;
    EXPECT_TRUE(within / 4 % 3 >= 1 && within % 4 >= 1) << place.second;
  }
}

}  // namespace
}  // namespace glean::session
