// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

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
  for (const double seconds : {0.0, 0.5, 300.0, 0.001, 86400.0, 1.0 / 3, 1e-4 / 3, 1e-9, 1e-11, 12345678.9}) {
    EXPECT_EQ(parse_seconds(exact_seconds(seconds)), seconds);
  }
  EXPECT_EQ(exact_seconds(0.5), "0.5s");
  EXPECT_EQ(exact_seconds(2e-5), "20us");
}

TEST(Units, ReadsRates) {
  EXPECT_EQ(parse_rate("425MB/s"), 425e6);
  EXPECT_EQ(parse_rate("1.5 GiB/s"), 1536.0 * 1024 * 1024);
  EXPECT_EQ(parse_rate("6.7GiB/s"), 6.7 * 1024 * 1024 * 1024);
  EXPECT_EQ(parse_rate("10Gbit/s"), 1.25e9);
}

TEST(Units, PrintsWhateverThereIsSoThatItReadsBackTheSame) {
  std::mt19937_64 random(20261122);
  for (int i = 0; i < 20000; ++i) {
    const double number = std::uniform_real_distribution(1.0, 10.0)(random) * std::pow(10.0, static_cast<int>(random() % 24) - 9);
    EXPECT_EQ(parse_rate(exact_rate(number)), number) << exact_rate(number);
    EXPECT_EQ(parse_seconds(exact_seconds(number)), number) << exact_seconds(number);
  }
}

TEST(Units, RoundsRatesForPeople) {
  EXPECT_EQ(readable_rate(425e6), "425 MB/s");
  EXPECT_EQ(readable_rate(12.5e9), "12.5 GB/s");
  EXPECT_EQ(readable_rate(999.99e6), "1 GB/s");
  EXPECT_EQ(readable_rate(17), "17 B/s");
}

TEST(Units, RefusesWhatIsNoRate) {
  for (const char* text : {"", "fast", "425", "425MB", "-1MB/s", "1e3B/s", "MB/s", "10Gb/s"}) {
    EXPECT_EQ(parse_rate(text), std::nullopt) << text;
  }
}

TEST(Units, PrintsRatesThatReadBackTheSame) {
  for (const double rate : {0.0, 1.0, 0.1, 425e6, 6.7 * 1024 * 1024 * 1024, 1e12 / 3, 3.3e15, 0x1p-20}) {
    EXPECT_EQ(parse_rate(exact_rate(rate)), rate) << exact_rate(rate);
  }
  EXPECT_EQ(exact_rate(425e6), "425MB/s");
  EXPECT_EQ(exact_rate(1.25e9), "1.25GB/s");
}

TEST(Units, NamesRanksAndOfManyTheFirst) {
  EXPECT_EQ(readable_ranks({3}), "rank 3");
  EXPECT_EQ(readable_ranks({1, 2, 5}), "ranks 1, 2, 5");
  EXPECT_EQ(readable_ranks({0, 1, 2, 3, 4, 5, 6, 7}), "ranks 0, 1, 2, 3, 4, 5, 6, 7");
  EXPECT_EQ(readable_ranks({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
}

}  // namespace
}  // namespace glean::base
