// SPDX-License-Identifier: BSD-3-Clause
#include "drain/logged_puts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.hpp"

namespace glean::drain {
namespace {

LoggedPut whole(const mesh::Box& box, int rank = 0, std::uint64_t step = 0) { return {1, rank, step, 0, box.elements(), box}; }

TEST(LoggedPuts, OfRowsSideBySideBecomeOne) {
  std::vector<LoggedPut> rows;
  for (std::uint64_t row : {3, 1, 2, 5}) rows.push_back(whole({{row, 0}, {1, 8}}));

  const auto joined = join(rows);

  EXPECT_EQ(joined, (std::vector{whole({{1, 0}, {3, 8}}), whole({{5, 0}, {1, 8}})}));
}

TEST(LoggedPuts, OfTilesThatCoverABoxBecomeOne) {
  std::vector<LoggedPut> tiles;
  for (std::uint64_t i = 0; i < 4 * 5 * 6; ++i) tiles.push_back(whole({{3 * (i / 30), i / 6 % 5, 2 * (i % 6)}, {3, 1, 2}}));
  std::shuffle(tiles.begin(), tiles.end(), std::mt19937(1));

  EXPECT_EQ(join(tiles), (std::vector{whole({{0, 0, 0}, {12, 5, 12}})}));
}

TEST(LoggedPuts, OfPartsOfABoxBecomeTheBoxWhenAllAreThere) {
  const mesh::Box box{{0, 4}, {10, 10}};
  const LoggedPut first{1, 0, 0, 0, 30, box}, second{1, 0, 0, 30, 50, box}, third{1, 0, 0, 80, 20, box};

  EXPECT_EQ(join({third, first}), (std::vector{first, third}));
  EXPECT_EQ(join({third, second}), (std::vector{LoggedPut{1, 0, 0, 30, 70, box}}));
  EXPECT_EQ(join({third, first, second, whole({{10, 4}, {1, 10}})}), (std::vector{whole({{0, 4}, {11, 10}})}));
}

TEST(LoggedPuts, OfDifferentRanksStepsAndVariablesStayApart) {
  auto of_another_variable = whole({{3}, {1}});
  of_another_variable.variable = 2;
  const std::vector puts{whole({{0}, {1}}), whole({{1}, {1}}, 1), whole({{2}, {1}}, 0, 1), of_another_variable};

  auto joined = join(puts);

  ASSERT_EQ(joined.size(), puts.size());
  for (const LoggedPut& put : puts) EXPECT_NE(std::find(joined.begin(), joined.end(), put), joined.end());
}

// Each element is in one box before and after.
TEST(LoggedPuts, SayTheSameWhenTheyAreJoined) {
  std::mt19937 random(7);
  constexpr std::uint64_t edge = 12;
  const auto elements = [](const std::vector<LoggedPut>& puts) {
    std::vector<int> ranks(edge * edge, -1);
    for (const LoggedPut& put : puts) {
      EXPECT_EQ(put.elements, put.box.elements());
      for (std::uint64_t i = 0; i < put.elements; ++i) {
        int& rank = ranks[(put.box.start[0] + i / put.box.count[1]) * edge + put.box.start[1] + i % put.box.count[1]];
        EXPECT_EQ(rank, -1);
        rank = put.job_rank;
      }
    }
    return ranks;
  };
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<LoggedPut> puts;
    for (std::uint64_t row = 0; row < edge; row += 2) {
      for (std::uint64_t column = 0; column < edge;) {
        const std::uint64_t columns = std::min<std::uint64_t>(1 + random() % 4, edge - column);
        if (random() % 4 != 0) puts.push_back(whole({{row, column}, {2, columns}}, static_cast<int>(random() % 2)));
        column += columns;
      }
    }
    const auto joined = join(puts);
    EXPECT_EQ(elements(joined), elements(puts));
    EXPECT_LE(joined.size(), puts.size());
  }
}

TEST(LoggedPuts, ComeBackFromTheirBytes) {
  const std::vector puts{whole({{1, 2}, {3, 4}}, 5, 6), LoggedPut{0, 2, 9, 3, 4, {{7}, {20}}}, whole({{}, {}})};
  EXPECT_EQ(decode_logged_puts(encode(puts)), puts);
  EXPECT_TRUE(decode_logged_puts(encode({})).empty());
}

TEST(LoggedPuts, ThatAreDamagedAreRefused) {
  const auto bytes = encode(std::vector{whole({{1, 2}, {3, 4}}, 5, 6), whole({{5, 2}, {3, 4}}, 5, 6)});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{0x10};
    EXPECT_THROW(static_cast<void>(decode_logged_puts(damaged)), base::Error) << i;
    EXPECT_THROW(static_cast<void>(decode_logged_puts(std::span(bytes).first(i))), base::Error) << i;
  }
}

}  // namespace
}  // namespace glean::drain
