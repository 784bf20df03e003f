// SPDX-License-Identifier: BSD-3-Clause
#include "store/sums/checksum.hpp"

#include <gtest/gtest.h>


namespace glean::store {
namespace {

std::vector<std::byte> counting_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

TEST(Checksums, OfOneRunIsThatOfItsBytes) {
  const auto bytes = counting_bytes(100);
  const std::vector<Extent> runs = {{1010, 1040}};

  const auto sums = checksums_of(runs, bytes.data(), 1000);

  StreamingSum expected;
  expected.add(std::span(bytes).subspan(10, 30));
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0], (StridedSum{1010, 30, 0, 1, false, expected.value()}));
}

TEST(Checksums, OfTheRowsOfABoxAreOne) {
  const auto bytes = counting_bytes(64 * 1000);
  std::vector<Extent> runs;
  for (Bytes row = 0; row < 1000; ++row) runs.push_back({row * 64 + 8, row * 64 + 24});

  const auto sums = checksums_of(runs, bytes.data(), 0, true);

  StreamingSum expected;
  for (const Extent& run : runs) expected.add(std::span(bytes).subspan(run.begin, run.size()));
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0], (StridedSum{8, 16, 64, 1000, true, expected.value()}));
  EXPECT_EQ(sums[0].bytes(), 16000u);
  EXPECT_EQ(sums[0].end(), runs.back().end);
}

TEST(Checksums, AreAsManyAsThereAreLengthsAndDistances) {
  const auto bytes = counting_bytes(400);
  const std::vector<Extent> runs = {{0, 4}, {10, 14}, {20, 24}, {100, 104}, {104, 112}, {200, 201}, {300, 301}};

  const auto sums = checksums_of(runs, bytes.data(), 0);

  std::vector<Extent> covered;
  for (const auto& sum : sums) {
    for (std::uint64_t run = 0; run < sum.runs; ++run) covered.push_back({sum.run_begin(run), sum.run_begin(run) + sum.length});
  }
  EXPECT_EQ(covered, runs);
  EXPECT_EQ(sums.size(), 4u);
}

TEST(Checksums, OfNothingAreNone) { EXPECT_TRUE(checksums_of({}, nullptr, 0).empty()); }

}  // namespace
}  // namespace glean::store
