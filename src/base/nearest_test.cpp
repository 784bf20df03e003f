// SPDX-License-Identifier: BSD-3-Clause
#include "base/nearest.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace glean::base {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("pool", "pool"), 0U);
  EXPECT_EQ(edit_distance("pol", "pool"), 1U);
  EXPECT_EQ(edit_distance("pool", "pol"), 1U);
  EXPECT_EQ(edit_distance("pool", "poll"), 1U);
  EXPECT_EQ(edit_distance("opol", "pool"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, FindsTheKeyThatWasMeant) {
  const std::vector<std::string> keys = {"pool.budget", "pool.deadline", "drain.threads"};

  EXPECT_EQ(nearest("pool.buget", keys), "pool.budget");
  EXPECT_EQ(nearest("drain.thread", keys), "drain.threads");
}

TEST(Nearest, IsEmptyWithoutCandidates) { EXPECT_EQ(nearest("pool", {}), ""); }

}  // namespace
}  // namespace glean::base
