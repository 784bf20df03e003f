// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/zfp_chunk.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace glean::reduce {
namespace {

using Shape = std::vector<std::uint64_t>;

TEST(ZfpChunk, TakesNumbersInFloatingPointInOneToFourDimensions) {
  EXPECT_EQ(ZfpChunk::why_not(mesh::Type::float32, Shape{1, 8, 8, 1, 8, 8}), "");
  EXPECT_NE(ZfpChunk::why_not(mesh::Type::float64, Shape{2, 8, 8, 8, 8}), "");
  EXPECT_NE(ZfpChunk::why_not(mesh::Type::float64, Shape{1, 1}), "");
  EXPECT_NE(ZfpChunk::why_not(mesh::Type::int32, Shape{8}), "");
}

#if GLEAN_HAVE_ZFP

std::vector<double> waves(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<double>(i) * 0.1);
  return values;
}

TEST(ZfpChunk, IsSmallerAndWithinTheTolerance) {
  for (const mesh::Type type : {mesh::Type::float32, mesh::Type::float64}) {
    const ZfpChunk chunk(type, Shape{1, 16, 16, 16}, 1e-3);
    double error = 0;

    const auto bytes = chunk.compress(waves(4096), error);

    ASSERT_TRUE(bytes);
    EXPECT_LT(bytes->size(), 4096U * 4 / 2);
    EXPECT_GT(error, 0);
    EXPECT_LE(error, 1e-3);
  }
}

TEST(ZfpChunk, TellsTheFilterWhatAChunkIs) {
  const std::vector<unsigned> values = ZfpChunk(mesh::Type::float64, Shape{4, 5, 6}, 0.5).filter_values();

  ASSERT_GE(values.size(), 4U);
  EXPECT_EQ(values[0] & 0xf000U, 0x5000U);       // zfp's codec
  EXPECT_EQ(values[1] & 0xffffffU, 0x70667aU);   // "zfp", with which its header begins
  EXPECT_EQ((values[1] >> 24), 5U);
}

TEST(ZfpChunk, LeavesWhatItCannotHoldWithinTheTolerance) {
  const ZfpChunk chunk(mesh::Type::float32, Shape{64}, 1e-6);
  double error = 0;
  for (const double bad : {std::nan(""), HUGE_VAL, 9.96921e36}) {
    std::vector<double> values = waves(64);
    values[7] = bad;
    EXPECT_FALSE(chunk.compress(values, error)) << bad;
  }
  EXPECT_EQ(error, 0);
}

#endif

}   // namespace
}   // namespace glean::reduce
