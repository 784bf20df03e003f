// SPDX-License-Identifier: BSD-3-Clause
#include "pool/ranks_of_output.hpp"

#include <gtest/gtest.h>

#include "pool/test_pool.hpp"

namespace glean::pool {
namespace {

TEST(RanksOfOutput, AreAsFarAsTheySay) {
  const TestPool made(3);
  const Pool& pool = made.pool;
  const auto says = [&](int rank, std::uint32_t progress) { pool.rank_progress(5, rank) = progress; };
  const RanksOfOutput none = ranks_of_output(pool, 5);
  EXPECT_EQ(none.most_ended, 0U);
  EXPECT_FALSE(none.all_closed || none.any_closed || none.all_abandoned || none.any_abandoned);
  EXPECT_EQ(ranks_with_output_open(pool, 5), (std::vector{0, 1, 2}));

  says(0, 4);
  says(1, 2 | rank_closed);
  says(2, 3 | rank_closed | rank_abandoned);
  const RanksOfOutput some = ranks_of_output(pool, 5);
  EXPECT_EQ(some.steps_ended, 2U);
  EXPECT_EQ(some.most_ended, 4U);
  EXPECT_TRUE(some.any_closed && some.any_abandoned);
  EXPECT_FALSE(some.all_closed || some.all_abandoned);
  EXPECT_EQ(ranks_before_step(pool, 5, 4), (std::vector{1, 2}));
  EXPECT_EQ(ranks_with_output_open(pool, 5), std::vector{0});
  EXPECT_EQ(ranks_that_abandoned(pool, 5), std::vector{2});

  for (const int rank : {0, 1, 2}) says(rank, 4 | rank_closed | rank_abandoned);
  const RanksOfOutput all = ranks_of_output(pool, 5);
  EXPECT_TRUE(all.all_closed && all.all_abandoned);
  EXPECT_TRUE(ranks_before_step(pool, 5, 4).empty());
  EXPECT_EQ(ranks_of_output(pool, 6).most_ended, 0U);   // another one
}

}  // namespace
}  // namespace glean::pool
