// SPDX-License-Identifier: BSD-3-Clause
#include "times.hpp"

#include <gtest/gtest.h>

namespace nekcem {
namespace {

TEST(Summary, TakesTheSlowestRankOfEachStepAndOutputAndThenTheMedian) {
  const std::vector<RankTimes> ranks = {{.steps = {1, 2, 9}, .computed = {1, 1, 1}, .blocked = {4, 10}, .files = {8, 30}},
                                        {.steps = {2, 3, 1}, .computed = {1, 1, 1}, .blocked = {6, 2}, .files = {10, 0}}};

  const Summary summary = summarise(ranks, 400);

  EXPECT_DOUBLE_EQ(summary.step_seconds, 3);      // of 2, 3, 9
  EXPECT_DOUBLE_EQ(summary.blocked_seconds, 8);   // of 6, 10
  EXPECT_DOUBLE_EQ(summary.perceived, 50);
  EXPECT_DOUBLE_EQ(summary.raw, 20);              // of 10 and 30 seconds
  EXPECT_DOUBLE_EQ(summary.steps_per_output, 8.0 / 3);
}

TEST(Summary, DoesNotCountAsBlockedWhatARankThatIsSetAsideSpendsWriting) {
  const std::vector<RankTimes> ranks = {{.writes_files = true, .computes = false, .blocked = {50}, .files = {40}},
                                        {.steps = {1}, .computed = {1}, .blocked = {2}, .files = {0}}};

  const Summary summary = summarise(ranks, 400);

  EXPECT_DOUBLE_EQ(summary.perceived, 200);
  EXPECT_DOUBLE_EQ(summary.raw, 10);
  EXPECT_DOUBLE_EQ(summary.writer_lag_seconds, 0);
}

TEST(Summary, KnowsHowLongThoseAreBlockedThatOnlySend) {
  const std::vector<RankTimes> ranks = {{.writes_files = true, .share = 0.25, .steps = {1}, .computed = {1}, .blocked = {8}, .files = {9}},
                                        {.share = 0.25, .steps = {1}, .computed = {1}, .blocked = {2}, .files = {0}},
                                        {.share = 0.5, .steps = {1}, .computed = {1}, .blocked = {3}, .files = {0}}};

  const Summary summary = summarise(ranks, 400);

  EXPECT_DOUBLE_EQ(summary.blocked_seconds, 8);
  EXPECT_DOUBLE_EQ(summary.worker_blocked_seconds, 3);
  EXPECT_DOUBLE_EQ(summary.worker_perceived, 100);
}

TEST(Summary, SaysHowFarWritersLagBehindAndHowMuchThatDiffers) {
  const std::vector<RankTimes> ranks = {{.writes_files = true, .computed = {3, 5}},
                                        {.writes_files = true, .computed = {6, 6}},
                                        {.computed = {1, 3}},
                                        {.computed = {2, 2}}};

  const Summary summary = summarise(ranks, 0);

  EXPECT_DOUBLE_EQ(summary.writer_lag_seconds, 3);
  EXPECT_DOUBLE_EQ(summary.writer_jitter_seconds, 1);
}

TEST(Summary, OfARunWithoutOutputHasNoThroughput) {
  const Summary summary = summarise({{.steps = {1, 2}, .computed = {1, 2}}}, 100);

  EXPECT_DOUBLE_EQ(summary.step_seconds, 1.5);
  EXPECT_EQ(summary.perceived, 0);
  EXPECT_EQ(summary.raw, 0);
}

}  // namespace
}  // namespace nekcem
