// SPDX-License-Identifier: BSD-3-Clause
#include "plan/domains.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace glean::plan {
namespace {

TEST(FileDomains, HaveTheWholeOfAFileInOrderAndEvenly) {
  const FileDomains domains{.window_bytes = 100, .fixed_begin = 250, .fixed_end = 4250, .aggregators = 4};
  std::vector<std::int64_t> owners;
  std::vector<int> windows(4);
  for (std::uint64_t window = 0; window < 43; ++window) {
    owners.push_back(domains.owner(window));
    ++windows[static_cast<std::size_t>(owners.back())];
  }
  EXPECT_TRUE(std::is_sorted(owners.begin(), owners.end()));
  EXPECT_EQ(owners.front(), 0);
  EXPECT_EQ(owners.back(), 3);
  for (const int count : windows) EXPECT_NEAR(count, 43 / 4.0, 2.0);
}

TEST(FileDomains, DivideEveryRecordAmongAll) {
  const FileDomains domains{.window_bytes = 8, .record_begin = 64, .record_bytes = 400, .aggregators = 5};
  for (const std::uint64_t record : {0U, 1U, 7U}) {
    for (std::int64_t part = 0; part < 5; ++part) {
      const Bytes middle_of_part = 64 + record * 400 + static_cast<Bytes>(part) * 80 + 40;
      EXPECT_EQ(domains.owner(middle_of_part / 8), part) << record;
    }
  }
}

TEST(FileDomains, DivideEveryVariable) {
  const FileDomains domains{.window_bytes = 10, .fixed_begin = 20, .fixed_end = 620, .record_begin = 620, .record_bytes = 300,
                            .fixed_variables = {0, 200, 210}, .record_variables = {0, 100}, .aggregators = 2};
  const auto owner_at = [&](Bytes offset) { return domains.owner(offset / 10); };
  EXPECT_EQ(owner_at(0), 0) << "the header";
  EXPECT_EQ(owner_at(20), 0);
  EXPECT_EQ(owner_at(110), 0);
  EXPECT_EQ(owner_at(120), 1);
  EXPECT_EQ(owner_at(210), 1);
  EXPECT_EQ(owner_at(220), 22 % 2) << "a variable of one window";
  EXPECT_EQ(owner_at(230), 0);
  EXPECT_EQ(owner_at(610), 1);
  for (const Bytes record : {620, 920, 3620}) {
    EXPECT_EQ(owner_at(record), 0);
    EXPECT_EQ(owner_at(record + 50), 1);
    EXPECT_EQ(owner_at(record + 100), 0);
    EXPECT_EQ(owner_at(record + 190), 0);
    EXPECT_EQ(owner_at(record + 200), 1);
    EXPECT_EQ(owner_at(record + 290), 1);
  }
}

TEST(FileDomains, GiveShortRecordsToOneAfterTheOther) {
  const FileDomains domains{.window_bytes = 4096, .record_begin = 0, .record_bytes = 40, .aggregators = 3};
  for (std::uint64_t window = 0; window < 30; ++window) {
    EXPECT_EQ(domains.owner(window), static_cast<std::int64_t>(window % 3));
  }
}

// Offsets near the end of what a file can be, lengths of nothing, one aggregator: always one that there is.
TEST(FileDomains, NameAnAggregatorForWhateverIsAsked) {
  std::mt19937_64 random(20261122);
  for (int i = 0; i < 20000; ++i) {
    const auto small = [&](std::uint64_t below) { return random() % below; };
    const Bytes fixed_begin = small(1 << 20);
    const FileDomains domains{.window_bytes = 1 + small(1 << 24),
                              .fixed_begin = fixed_begin,
                              .fixed_end = fixed_begin + small(2) * small(std::uint64_t{1} << (1 + small(62))),
                              .record_begin = fixed_begin + small(1 << 20),
                              .record_bytes = small(2) * small(std::uint64_t{1} << (1 + small(62))),
                              .fixed_variables = {0, small(1 << 20), (1 << 20) + small(1 << 30)},
                              .record_variables = {small(1 << 10), (1 << 10) + small(1 << 30)},
                              .aggregators = static_cast<std::int64_t>(1 + small(100000))};
    const std::uint64_t windows = (std::uint64_t{1} << 63) / domains.window_bytes;
    const std::int64_t owner = domains.owner(small(windows + 1));
    EXPECT_GE(owner, 0);
    EXPECT_LT(owner, domains.aggregators);
  }
}

}  // namespace
}  // namespace glean::plan
