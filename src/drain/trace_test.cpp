// SPDX-License-Identifier: BSD-3-Clause
#include "drain/trace.hpp"

#include <gtest/gtest.h>

namespace glean::drain {
namespace {

OutputTrace output(const std::string& path, base::Bytes bytes, std::uint64_t first, std::uint64_t durable) {
  OutputTrace trace;
  trace.path = path;
  trace.bytes = bytes;
  trace.first_capture_ns = first;
  trace.durable_ns = durable;
  return trace;
}

TEST(DrainTrace, OfAnotherNodeAddsWhatItWroteToOutputsOfThatName) {
  DrainTrace mine, other;
  mine.outputs = {output("a", 10, 100, 900), output("b", 1, 0, 0), output("a", 20, 300, 800)};
  other.outputs = {output("b", 2, 50, 0), output("a", 5, 90, 850), output("a", 6, 350, 820)};
  mine.threads = 2;
  other.threads = 1;
  other.requests.direct_bytes = 7;
  other.from_pool_bytes = 6;

  mine.add_node(other);

  EXPECT_EQ(mine.outputs[0].bytes, 15U);
  EXPECT_EQ(mine.outputs[0].first_capture_ns, 90U);
  EXPECT_EQ(mine.outputs[0].durable_ns, 900U);
  EXPECT_EQ(mine.outputs[1].bytes, 3U);
  EXPECT_EQ(mine.outputs[1].first_capture_ns, 50U);
  EXPECT_EQ(mine.outputs[2].bytes, 26U);
  EXPECT_EQ(mine.threads, 2);
  EXPECT_EQ(mine.requests.direct_bytes, 7U);
  EXPECT_EQ(mine.from_pool_bytes, 6U);
}

TEST(DrainTrace, OfANodeThatWroteOtherFilesAddsThem) {
  DrainTrace mine, other;
  mine.outputs = {output("a.0of2", 1, 0, 0)};
  other.outputs = {output("a.1of2", 2, 0, 0)};
  mine.add_node(other, DrainTrace::Wrote::other_files);
  mine.add_node(other);   // the next node of that part
  ASSERT_EQ(mine.outputs.size(), 2U);
  EXPECT_EQ(mine.outputs[0].bytes, 1U);
  EXPECT_EQ(mine.outputs[1].bytes, 4U);
}

TEST(DrainTrace, OfAnotherNodeJoinsIntervalsInItsOwnTime) {
  DrainTrace mine, other;
  mine.intervals = {{100, 200}, {400, 500}};
  other.intervals = {{1150, 1250}, {1600, 1700}};
  other.outputs = {output("a", 1, 1100, 0)};

  other.shift(-1000);
  mine.add_node(other);

  ASSERT_EQ(mine.intervals.size(), 3U);
  EXPECT_EQ(mine.intervals[0].begin_ns, 100U);
  EXPECT_EQ(mine.intervals[0].end_ns, 250U);
  EXPECT_EQ(mine.intervals[2].begin_ns, 600U);
  EXPECT_EQ(other.outputs[0].first_capture_ns, 100U);
  EXPECT_EQ(other.outputs[0].durable_ns, 0U) << "has not happened in any time";
}

}  // namespace
}  // namespace glean::drain
