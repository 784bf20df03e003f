// SPDX-License-Identifier: BSD-3-Clause
#include "disk.hpp"

#include <gtest/gtest.h>

#include <set>

namespace glean::powercut {
namespace {

constexpr std::size_t sectors = 256;

void write(Disk& disk, std::size_t sector, int value) {
  const std::vector<std::byte> data(Disk::sector_bytes, static_cast<std::byte>(value));
  ASSERT_TRUE(disk.write(sector * Disk::sector_bytes, data));
}

// The value that fills the sector; -1: a mixture.
int read(Disk& disk, std::size_t sector) {
  std::vector<std::byte> data(Disk::sector_bytes);
  EXPECT_TRUE(disk.read(sector * Disk::sector_bytes, data));
  for (const std::byte byte : data) {
    if (byte != data[0]) return -1;
  }
  return static_cast<int>(data[0]);
}

TEST(Disk, ReadsWhatWasWrittenLastWhetherFlushedOrNot) {
  Disk disk(sectors * Disk::sector_bytes);
  write(disk, 3, 1);
  ASSERT_TRUE(disk.flush());
  write(disk, 3, 2);

  EXPECT_EQ(read(disk, 3), 2);
  EXPECT_EQ(read(disk, 4), 0);
}

TEST(Disk, KeepsEveryFlushedSectorThroughACut) {
  Disk disk(sectors * Disk::sector_bytes);
  for (std::size_t i = 0; i < sectors; ++i) write(disk, i, 7);
  ASSERT_TRUE(disk.flush());

  disk.cut(1);
  disk.power_on();

  for (std::size_t i = 0; i < sectors; ++i) EXPECT_EQ(read(disk, i), 7);
}

TEST(Disk, LosesSomeUnflushedSectorsAndKeepsOthersInAnyOfTheirVersions) {
  std::set<int> survivors;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Disk disk(sectors * Disk::sector_bytes);
    for (int version = 1; version <= 3; ++version) {
      for (std::size_t i = 0; i < sectors; ++i) write(disk, i, version);
    }
    disk.cut(seed);
    EXPECT_EQ(disk.status().unflushed_sectors, sectors);
    disk.power_on();
    for (std::size_t i = 0; i < sectors; ++i) survivors.insert(read(disk, i));
  }

  EXPECT_EQ(survivors, (std::set<int>{0, 1, 2, 3}));
}

TEST(Disk, ForgetsTheSameWithTheSameSeed) {
  std::vector<int> found[2];
  for (auto& values : found) {
    Disk disk(sectors * Disk::sector_bytes);
    for (std::size_t i = 0; i < sectors; ++i) write(disk, i, 9);
    disk.cut(42);
    disk.power_on();
    for (std::size_t i = 0; i < sectors; ++i) values.push_back(read(disk, i));
  }

  EXPECT_EQ(found[0], found[1]);
}

TEST(Disk, ServesNothingBetweenTheCutAndPowerOn) {
  Disk disk(sectors * Disk::sector_bytes);
  std::vector<std::byte> data(Disk::sector_bytes);
  disk.cut(1);

  EXPECT_FALSE(disk.read(0, data));
  EXPECT_FALSE(disk.write(0, data));
  EXPECT_FALSE(disk.flush());
  disk.power_on();
  EXPECT_TRUE(disk.flush());
}

TEST(Disk, CutsInsteadOfDoingTheRequestThatItWasToldToCutAt) {
  Disk disk(sectors * Disk::sector_bytes);
  disk.cut_at(3, 1);
  write(disk, 0, 5);
  ASSERT_TRUE(disk.flush());

  EXPECT_FALSE(disk.flush());

  EXPECT_FALSE(disk.status().power);
  disk.power_on();
  EXPECT_EQ(read(disk, 0), 5);
}

TEST(Disk, RefusesWhatLiesBehindItsEnd) {
  Disk disk(Disk::sector_bytes);
  std::vector<std::byte> data(2 * Disk::sector_bytes);

  EXPECT_FALSE(disk.write(0, data));
  EXPECT_FALSE(disk.read(0, data));
}

}  // namespace
}  // namespace glean::powercut
