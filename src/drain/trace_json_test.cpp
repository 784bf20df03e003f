// SPDX-License-Identifier: BSD-3-Clause
#include "drain/trace_json.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace glean::drain {
namespace {

DrainTrace example() {
  DrainTrace trace;
  trace.threads = 3;
  trace.io_uring = true;
  trace.busy_ns = 4;
  trace.cpu_ns = 5;
  trace.requests = {6, 7, 8, 9};
  trace.from_pool_bytes = 34;
  trace.request_sizes[7] = 10;
  trace.intervals = {{11, 12}, {13, 14}};
  trace.outputs.push_back({"a.nc", "published", "", "", 15, 31, 32, 16, 30, "recorded", 17, 18, 19, 20, 21});
  trace.outputs.push_back({"b \"quoted\".nc", "failed", "disk\nfull", "a.unclosed", 0, 0, 0, 0, 0, "off", 0, 0, 0, 0, 0});
  trace.outputs[0].analyses = {{"mine", 3, 1, "it has crashed"}};
  trace.outputs[0].copies = {{"a.h5", 33.5, ""}, {"a.vtkhdf", 0.5, "no mesh"}};
  trace.end_of_job = {22, 23, 24, 25, {26, 27.5, 28, 29.5}};
  return trace;
}

TEST(TraceJson, ComesBackWhole) {
  const DrainTrace trace = trace_from_json(trace_to_json(example()));

  EXPECT_EQ(trace.threads, 3);
  EXPECT_TRUE(trace.io_uring);
  EXPECT_EQ(trace.busy_ns, 4U);
  EXPECT_EQ(trace.cpu_ns, 5U);
  EXPECT_EQ(trace.requests.direct_requests, 6U);
  EXPECT_EQ(trace.requests.direct_bytes, 7U);
  EXPECT_EQ(trace.requests.buffered_requests, 8U);
  EXPECT_EQ(trace.requests.buffered_bytes, 9U);
  EXPECT_EQ(trace.from_pool_bytes, 34U);
  EXPECT_EQ(trace.request_sizes, example().request_sizes);
  ASSERT_EQ(trace.intervals.size(), 2U);
  EXPECT_EQ(trace.intervals[1].begin_ns, 13U);
  EXPECT_EQ(trace.intervals[1].end_ns, 14U);
  ASSERT_EQ(trace.outputs.size(), 2U);
  const OutputTrace& output = trace.outputs[0];
  EXPECT_EQ(output.path, "a.nc");
  EXPECT_EQ(output.state, "published");
  EXPECT_EQ(output.bytes, 15U);
  EXPECT_EQ(output.steps, 16U);
  EXPECT_EQ(output.steps_dropped, 30U);
  EXPECT_EQ(output.checksums, "recorded");
  EXPECT_EQ(output.range_errors, 17U);
  EXPECT_EQ(output.first_capture_ns, 18U);
  EXPECT_EQ(output.last_capture_ns, 19U);
  EXPECT_EQ(output.written_ns, 20U);
  EXPECT_EQ(output.durable_ns, 21U);
  ASSERT_EQ(output.analyses.size(), 1U);
  EXPECT_EQ(output.analyses[0].name, "mine");
  EXPECT_EQ(output.analyses[0].steps, 3U);
  EXPECT_EQ(output.analyses[0].steps_left_out, 1U);
  EXPECT_EQ(output.analyses[0].why, "it has crashed");
  ASSERT_EQ(output.copies.size(), 2U);
  EXPECT_EQ(output.copies[0].path, "a.h5");
  EXPECT_EQ(output.copies[0].seconds, 33.5);
  EXPECT_EQ(output.copies[1].error, "no mesh");
  EXPECT_EQ(trace.outputs[1].path, "b \"quoted\".nc");
  EXPECT_EQ(trace.outputs[1].note, "disk\nfull");
  EXPECT_EQ(trace.outputs[1].unclosed_path, "a.unclosed");
  EXPECT_EQ(trace.end_of_job.end_realtime_ns, 22U);
  EXPECT_EQ(trace.end_of_job.boosted_ns, 23U);
  EXPECT_EQ(trace.end_of_job.added_threads, 24);
  EXPECT_EQ(trace.end_of_job.warnings, 25);
  EXPECT_EQ(trace.end_of_job.worst.at_ns, 26U);
  EXPECT_EQ(trace.end_of_job.worst.seconds_left, 27.5);
  EXPECT_EQ(trace.end_of_job.worst.waiting_bytes, 28U);
  EXPECT_EQ(trace.end_of_job.worst.bytes_per_second, 29.5);
}

TEST(TraceJson, HasNoRateWhereNoneIsKnown) {
  DrainTrace trace = example();
  trace.end_of_job.worst.bytes_per_second.reset();

  EXPECT_EQ(trace_from_json(trace_to_json(trace)).end_of_job.worst.bytes_per_second, std::nullopt);
}

TEST(TraceJson, TakesPathsThatAreNotUtf8) {
  DrainTrace trace = example();
  trace.outputs[0].path = "caf\xe9.nc";

  const DrainTrace read = trace_from_json(trace_to_json(trace));

  EXPECT_EQ(read.outputs[0].path, "caf\xef\xbf\xbd.nc");
  EXPECT_EQ(read.outputs[0].steps, 16U);
}

TEST(TraceJson, RefusesWhatIsDamaged) {
  const std::string text = trace_to_json(example());
  for (const std::string& damaged : {std::string(), text.substr(0, text.size() / 2), std::string("{}"), "[" + text + "]"}) {
    try {
      static_cast<void>(trace_from_json(damaged));
      ADD_FAILURE() << damaged;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::Errc::io);
    }
  }
}

}  // namespace
}  // namespace glean::drain
