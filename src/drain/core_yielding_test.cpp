// SPDX-License-Identifier: BSD-3-Clause
#include "drain/core_yielding.hpp"

#include <gtest/gtest.h>

namespace glean::drain {
namespace {

constexpr std::uint64_t ms = 1'000'000;

// One capture before each look.
bool looks(CoreYielding& yielding, std::uint64_t from_ms, std::uint64_t to_ms) {
  bool waits = true;
  for (std::uint64_t at = from_ms; at <= to_ms; ++at) waits = yielding.look({at * ms, at, 0.1, false}) && waits;
  return waits;
}

TEST(CoreYielding, WaitsWhileRanksCapture) {
  CoreYielding yielding;

  EXPECT_TRUE(looks(yielding, 1000, 1249));
}

TEST(CoreYielding, EndsWithAPause) {
  CoreYielding yielding;
  EXPECT_TRUE(looks(yielding, 1000, 1010));

  EXPECT_TRUE(yielding.look({1014 * ms, 1010, 0.1, false}));
  EXPECT_FALSE(yielding.look({1015 * ms, 1010, 0.1, false}));
}

TEST(CoreYielding, EndsAfterAWhileUntilThereWasAPause) {
  CoreYielding yielding;
  EXPECT_TRUE(looks(yielding, 1000, 1249));

  EXPECT_FALSE(looks(yielding, 1250, 1250));
  EXPECT_FALSE(looks(yielding, 1254, 1254));
  EXPECT_TRUE(looks(yielding, 1259, 1300));
}

TEST(CoreYielding, WaitsUntilAllHaveComeOutOfClosing) {
  CoreYielding yielding;
  EXPECT_TRUE(looks(yielding, 1000, 1010));

  EXPECT_TRUE(yielding.look({1040 * ms, 1010, 0.1, false, true}));
  EXPECT_TRUE(yielding.look({1044 * ms, 1010, 0.1, false}));
  EXPECT_FALSE(yielding.look({1045 * ms, 1010, 0.1, false}));
}

TEST(CoreYielding, EndsAfterAWhileThoughARankNeverComesOutOfClosing) {
  CoreYielding yielding;
  EXPECT_TRUE(looks(yielding, 1000, 1010));

  for (std::uint64_t at = 1011; at < 1250; ++at) EXPECT_TRUE(yielding.look({at * ms, 1010, 0.1, false, true}));
  EXPECT_FALSE(yielding.look({1250 * ms, 1010, 0.1, false, true}));
}

TEST(CoreYielding, IsNoneWhereMuchIsInUse) {
  CoreYielding yielding;

  EXPECT_TRUE(yielding.look({1000 * ms, 1, 0.7, false}));
  EXPECT_FALSE(yielding.look({1001 * ms, 2, 0.75, false}));
  EXPECT_TRUE(yielding.look({1002 * ms, 3, 0.7, false}));
}

TEST(CoreYielding, IsNoneInAPoolThatHasBeenFull) {
  CoreYielding yielding;

  EXPECT_FALSE(yielding.look({1000 * ms, 1, 0.1, true}));
  EXPECT_FALSE(yielding.look({2000 * ms, 2, 0.1, false}));
}

}  // namespace
}  // namespace glean::drain
