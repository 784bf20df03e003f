// SPDX-License-Identifier: BSD-3-Clause
//
// The engine before the end of a job: slow system calls, and a job that ends in a few seconds.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <regex>

#include "base/clock.hpp"
#include "base/job_end.hpp"
#include "drain/engine.hpp"
#include "virtual_ranks.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::engine_deadline_boost_test {
namespace {

store::FaultPlan each_write_takes(unsigned microseconds) {
  return {store::on("write").before([=] { usleep(microseconds); })};
}

// A step of one variable, put by one rank.
VirtualOutput output_of(Bytes bytes, const std::string& path) {
  VirtualOutput output;
  output.steps = 1;
  output.description.display_path = path;
  output.description.names = {path + ".part", path};
  output.description.layout.header_bytes = 64;
  output.description.layout.variables.push_back({"v", mesh::Type::int8, {bytes}, 64, base::align_up(bytes, 4), false, {}});
  output.puts.push_back({0, 0, 0, mesh::Type::int8, {{0}, {bytes}}});
  return output;
}

template <class Condition>
bool wait_until(const Condition& condition) {
  const std::uint64_t deadline = base::now_ns() + 30'000'000'000;
  while (!condition()) {
    if (base::now_ns() > deadline) return false;
    usleep(10'000);
  }
  return true;
}

struct Job {
  explicit Job(double seconds, plan::NodePlan used = pool::small_plan()) : plan(std::move(used)), made(1, plan), ranks(made) {
    if (seconds > 0) made.pool.header().job_end_realtime_ns = base::realtime_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  }

  store::TemporaryDirectory directory;
  plan::NodePlan plan;
  pool::TestPool made;
  VirtualRanks ranks;
};

// `drain.cores` decides how many threads there can be, whatever the machine has.
plan::NodePlan plan_for_threads(int threads) {
  plan::NodePlan plan = pool::small_plan();
  plan.pool_bytes = 2 * base::MiB;
  plan.journal_bytes_per_rank = 64 * base::KiB;   // so that a put of the test does not wait
  plan.drain_cores.assign(static_cast<std::size_t>(threads), 0);
  return plan;
}

TEST(EngineBeforeTheEnd, WarnsWithNumbersWhenItWillNotMakeIt) {
  Job job(15, plan_for_threads(1));
  store::FaultyCalls calls(each_write_takes(160'000));   // 25 KiB/s in writes of 4 KiB
  testing::internal::CaptureStderr();
  drain::Engine engine(job.made.pool, job.plan, calls);
  const auto output = output_of(900 * base::KiB, job.directory / "late.nc");

  EXPECT_TRUE(job.ranks.run({output}).empty());
  const bool warned = wait_until([&] { return engine.trace().end_of_job.warnings == 1; });
  const std::uint32_t deadline_boost = job.made.pool.header().deadline_boost;
  calls.follow({});
  EXPECT_TRUE(wait_until_finished(job.made.pool, job.ranks.keys()));
  engine.stop();
  const std::string text = testing::internal::GetCapturedStderr();

  ASSERT_TRUE(warned) << text;
  EXPECT_EQ(deadline_boost, 1u);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex("glean: warning: the job ends in ([0-9.]+) s, ([0-9.]+ K?i?B) wait in the "
                                                        "pool and the drain writes ([0-9.]+ K?i?B)/s: about ([0-9.]+) s "
                                                        "are needed; ([0-9.]+ K?i?B) may be lost\\. ")))
      << text;
  const auto kib = [](const std::string& size) { return std::stod(size) / (size.ends_with("KiB") ? 1 : 1024); };
  const double left = std::stod(found[1]), waiting = kib(found[2]), rate = kib(found[3]);
  const double needed = std::stod(found[4]), lost = kib(found[5]);
  EXPECT_LE(left, 13) << "after three looks, one a second";
  EXPECT_LT(waiting, 900) << "something is written by then";
  EXPECT_GT(waiting, 500);
  EXPECT_LE(rate, 25.6 + 4) << "4 KiB in 160 ms at best, and a write at the edge of a look";
  EXPECT_GT(rate, 0);
  EXPECT_NEAR(needed, waiting / rate, 0.05 * needed);
  EXPECT_NEAR(lost, waiting - rate * left, 0.05 * waiting);
  const drain::DrainTrace trace = engine.trace();
  EXPECT_EQ(trace.end_of_job.end_realtime_ns, job.made.pool.header().job_end_realtime_ns);
  EXPECT_GT(trace.end_of_job.boosted_ns, 0u);
  EXPECT_EQ(trace.end_of_job.added_threads, 0);
  EXPECT_GE(static_cast<double>(trace.end_of_job.worst.lost_bytes()), 0.95 * lost * base::KiB);
  EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file());
}

TEST(EngineBeforeTheEnd, GetsMoreThreads) {
  Job job(40, plan_for_threads(3));
  store::FaultyCalls calls(each_write_takes(2000));
  drain::Engine engine(job.made.pool, job.plan, calls);
  std::vector<VirtualOutput> outputs;
  for (const char* name : {"a.nc", "b.nc", "c.nc"}) outputs.push_back(output_of(200'000, job.directory / name));
  ASSERT_TRUE(wait_until([&] { return job.made.pool.header().deadline_boost == 1; }));

  EXPECT_TRUE(job.ranks.run(outputs).empty());
  ASSERT_TRUE(wait_until_finished(job.made.pool, job.ranks.keys()));
  engine.stop();

  const drain::DrainTrace trace = engine.trace();
  EXPECT_EQ(trace.end_of_job.added_threads, 2);
  EXPECT_EQ(trace.threads, 3);
  EXPECT_EQ(trace.requests.direct_bytes + trace.requests.buffered_bytes, 600'000u) << "what they write is counted";
  for (const auto& output : outputs) EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file());
}

TEST(EngineBeforeTheEnd, SeesAStorageThatHangs) {
  std::atomic<bool> hangs = true;
  store::FaultyCalls calls({store::on("write").before([&] {
    while (hangs) usleep(1000);
  })});
  Job job(61.5);   // in the last minute there is a deadline boost, whatever the drain knows
  drain::Engine engine(job.made.pool, job.plan, calls);
  const auto output = output_of(5000, job.directory / "hanging.nc");
  EXPECT_TRUE(job.ranks.run({output}).empty());

  EXPECT_TRUE(wait_until([&] { return job.made.pool.header().deadline_boost == 1; })) << "while its only thread hangs";

  hangs = false;
  EXPECT_TRUE(wait_until_finished(job.made.pool, job.ranks.keys()));
}

TEST(EngineBeforeTheEnd, DoesNothingWhenTheEndIsFarOrNotKnown) {
  for (const double seconds : {0.0, 3600.0}) {
    Job job(seconds, plan_for_threads(3));
    store::SystemCalls calls;
    drain::Engine engine(job.made.pool, job.plan, calls);
    EXPECT_TRUE(job.ranks.run({output_of(300'000, job.directory / "early.nc")}).empty());
    ASSERT_TRUE(wait_until_finished(job.made.pool, job.ranks.keys()));
    usleep(20'000);
    engine.stop();

    const drain::DrainTrace trace = engine.trace();
    EXPECT_EQ(job.made.pool.header().deadline_boost, 0u);
    EXPECT_EQ(trace.end_of_job.end_realtime_ns, job.made.pool.header().job_end_realtime_ns);
    EXPECT_EQ(trace.end_of_job.boosted_ns, 0u);
    EXPECT_EQ(trace.threads, 1);
  }
}

}  // namespace
}  // namespace glean::tests::engine_deadline_boost_test
