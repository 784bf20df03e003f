// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.hpp"

#include <gtest/gtest.h>

namespace glean::base {
namespace {

TEST(Units, ReadsByteCountsInBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("4096"), Bytes{4096});
  EXPECT_EQ(parse_bytes("64KiB"), 64 * KiB);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 1536 * MiB);
  EXPECT_EQ(parse_bytes("1GB"), Bytes{1'000'000'000});
  EXPECT_EQ(parse_bytes("17B"), Bytes{17});
  EXPECT_EQ(parse_bytes("0"), Bytes{0});
}

TEST(Units, RefusesWhatIsNoByteCount) {
  for (const char* text : {"", "much", "-1", "1.5B", "8k", "1 giga", "MiB", "1MiB2", "1e3", "99999999999TiB", "..1"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(Units, PrintsByteCountsThatReadBackTheSame) {
  for (const Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{1000}, 4 * KiB, 512 * MiB, 3 * GiB, 2048 * GiB, GiB + 1}) {
    EXPECT_EQ(parse_bytes(exact_bytes(bytes)), bytes);
  }
  EXPECT_EQ(exact_bytes(512 * MiB), "512MiB");
}

TEST(Units, RoundsByteCountsForPeople) {
  EXPECT_EQ(readable_bytes(17), "17 B");
  EXPECT_EQ(readable_bytes(GiB), "1 GiB");
  EXPECT_EQ(readable_bytes(1500 * MiB), "1.46 GiB");
  EXPECT_EQ(readable_bytes(980 * KiB), "980 KiB");
}

TEST(Units, ReadsDurations) {
  EXPECT_EQ(parse_seconds("300s"), 300.0);
  EXPECT_EQ(parse_seconds("2min"), 120.0);
  EXPECT_EQ(parse_seconds("500 ms"), 0.5);
  EXPECT_EQ(parse_seconds("1h"), 3600.0);
  EXPECT_EQ(parse_seconds("1.5"), 1.5);
}

TEST(Units, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "soon", "-1s", "3 days", "s", "nan", "inf"}) {
    EXPECT_EQ(parse_seconds(text), std::nullopt) << text;
  }
}

TEST(Units, PrintsDurationsThatReadBackTheSame) {
  for (const double seconds : {0.5, 300.0, 0.001, 86400.0, 1.0 / 3}) {
    EXPECT_EQ(parse_seconds(exact_seconds(seconds)), seconds);
  }
}

}  // namespace
}  // namespace glean::base
