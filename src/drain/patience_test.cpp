// SPDX-License-Identifier: BSD-3-Clause
#include "drain/patience.hpp"

#include <gtest/gtest.h>

namespace glean::drain {
namespace {

constexpr std::uint64_t ms = 1'000'000;

// One capture before each look.
bool looks(Patience& patience, std::uint64_t from_ms, std::uint64_t to_ms) {
  bool waits = true;
  for (std::uint64_t at = from_ms; at <= to_ms; ++at) waits = patience.look({at * ms, at, 0.1, false}) && waits;
  return waits;
}

TEST(Patience, WaitsWhileRanksCapture) {
  Patience patience;

  EXPECT_TRUE(looks(patience, 1000, 1249));
}

TEST(Patience, EndsWithAPause) {
  Patience patience;
  EXPECT_TRUE(looks(patience, 1000, 1010));

  EXPECT_TRUE(patience.look({1014 * ms, 1010, 0.1, false}));
  EXPECT_FALSE(patience.look({1015 * ms, 1010, 0.1, false}));
}

TEST(Patience, EndsAfterAWhileUntilThereWasAPause) {
  Patience patience;
  EXPECT_TRUE(looks(patience, 1000, 1249));

  EXPECT_FALSE(looks(patience, 1250, 1250));
  EXPECT_FALSE(looks(patience, 1254, 1254));
  EXPECT_TRUE(looks(patience, 1259, 1300));
}

TEST(Patience, WaitsUntilAllHaveComeOutOfClosing) {
  Patience patience;
  EXPECT_TRUE(looks(patience, 1000, 1010));

  EXPECT_TRUE(patience.look({1040 * ms, 1010, 0.1, false, true}));
  EXPECT_TRUE(patience.look({1044 * ms, 1010, 0.1, false}));
  EXPECT_FALSE(patience.look({1045 * ms, 1010, 0.1, false}));
}

TEST(Patience, EndsAfterAWhileThoughARankNeverComesOutOfClosing) {
  Patience patience;
  EXPECT_TRUE(looks(patience, 1000, 1010));

  for (std::uint64_t at = 1011; at < 1250; ++at) EXPECT_TRUE(patience.look({at * ms, 1010, 0.1, false, true}));
  EXPECT_FALSE(patience.look({1250 * ms, 1010, 0.1, false, true}));
}

TEST(Patience, IsNoneWhereMuchIsInUse) {
  Patience patience;

  EXPECT_TRUE(patience.look({1000 * ms, 1, 0.7, false}));
  EXPECT_FALSE(patience.look({1001 * ms, 2, 0.75, false}));
  EXPECT_TRUE(patience.look({1002 * ms, 3, 0.7, false}));
}

TEST(Patience, IsNoneInAPoolThatHasBeenFull) {
  Patience patience;

  EXPECT_FALSE(patience.look({1000 * ms, 1, 0.1, true}));
  EXPECT_FALSE(patience.look({2000 * ms, 2, 0.1, false}));
}

}  // namespace
}  // namespace glean::drain
