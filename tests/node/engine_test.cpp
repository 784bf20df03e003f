// SPDX-License-Identifier: BSD-3-Clause
#include "drain/engine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "virtual_ranks.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::engine_test {
namespace {

using store::TemporaryDirectory;

std::vector<VirtualOutput> random_outputs(std::mt19937& random, const TemporaryDirectory& directory, int ranks,
                                          int count) {
  std::vector<VirtualOutput> outputs;
  for (int o = 0; o < count; ++o) {
    outputs.push_back(VirtualOutput::random(random, ranks, random() % 4, directory / ("out" + std::to_string(o) + ".nc")));
  }
  return outputs;
}

// A little of everything that must be so after an engine has had its way with outputs.
void expect_empty(pool::TestPool& made) {
  EXPECT_EQ(made.pool.used_bytes(), 0u);
  EXPECT_TRUE(made.journals_are_empty());
  EXPECT_EQ(made.pool.header().waiting_for_space, 0u);
}

std::string error_in(const pool::OutputSlot& slot) { return slot.error == 0 ? "" : slot.message.data(); }

// A variable of bytes, put whole in every step by rank 0.
VirtualOutput simple_output(const std::string& path, std::uint64_t steps, std::uint64_t elements, bool per_step = true) {
  VirtualOutput output;
  output.steps = steps;
  output.description.display_path = path;
  output.description.names = {path + ".part", path};
  output.description.layout.header_bytes = 64;
  output.description.layout.variables.push_back(
      {"v", mesh::Type::int8, {elements}, 64, per_step ? base::align_up(elements, 4) : 0, false, {}});
  for (std::uint64_t step = 0; step < steps; ++step) {
    output.puts.push_back({step, 0, 0, mesh::Type::int8, {{0}, {elements}}});
  }
  return output;
}

// One rank that is driven by hand.
struct OneRank {
  explicit OneRank(const plan::NodePlan& used = pool::small_plan()) : plan(used), made(1, plan), ranks(made, 20) {}
  void put_step(pool::OutputKey key, const VirtualOutput& output, std::uint64_t step) {
    for (const auto& put : output.puts) {
      if (put.step == step) VirtualRanks::put(made, recorder, key, output, put);
    }
    ranks.report(recorder, key, 0, static_cast<std::uint32_t>(step + 1));
  }
  [[nodiscard]] bool wait_for(const std::atomic<std::uint64_t>& counter, std::uint64_t value) const {
    const std::uint64_t deadline = base::now_ns() + 20'000'000'000;
    while (counter < value) {
      if (base::now_ns() > deadline) return false;
      usleep(200);
    }
    return true;
  }

  TemporaryDirectory directory;
  plan::NodePlan plan;
  pool::TestPool made;
  VirtualRanks ranks;
  pool::Recorder recorder = ranks.recorder(0);
  store::SystemCalls calls;
};

class EngineWithThreads : public testing::TestWithParam<int> {};

TEST_P(EngineWithThreads, WritesEveryFileAsAnObviousWriterWould) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  for (int round = 0; round < 25; ++round) {
    const TemporaryDirectory directory;
    const int ranks = 1 + static_cast<int>(random() % 4);
    plan::NodePlan plan = pool::small_plan();
    plan.drain_threads = GetParam();
    plan.request_bytes = (4 * base::KiB) << random() % 4;
    plan.depth = 1 + static_cast<int>(random() % 3);
    if (round % 2 == 0) plan.pool_bytes = 232 * base::KiB + static_cast<Bytes>(ranks) * 16 * base::KiB;   // pressure
    auto outputs = random_outputs(random, directory, ranks, 3);
    for (auto& output : outputs) {
      if (random() % 3 == 0) output.description.direct_io = base::DirectIo::off;
    }
    pool::TestPool made(ranks, plan);
    store::SystemCalls calls;
    drain::Engine engine(made.pool, plan, calls);
    VirtualRanks virtual_ranks(made, 10);

    const auto rank_errors = virtual_ranks.run(outputs);
    for (const auto& key : virtual_ranks.keys()) EXPECT_EQ(error_in(made.pool.slot(key.slot)), "") << "round " << round;
    ASSERT_EQ(rank_errors, std::vector<std::string>{}) << "round " << round;
    ASSERT_TRUE(wait_until_finished(made.pool, virtual_ranks.keys())) << "round " << round;

    engine.stop();
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const auto& slot = made.pool.slot(virtual_ranks.keys()[o].slot);
      ASSERT_EQ(slot.state, pool::OutputState::published) << "round " << round << ": " << error_in(slot);
      const auto file = bytes_of_file(outputs[o].description.names.final_path);
      ASSERT_TRUE(file && *file == outputs[o].file()) << "round " << round << " output " << o;
      EXPECT_FALSE(std::filesystem::exists(outputs[o].description.names.working_path));
    }
    expect_empty(made);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EngineWithThreads, testing::Values(1, 2, 4));

TEST(Engine, KeepsUpWithAnOutputThatStaysOpenLongerThanTheJournalIs) {
  plan::NodePlan plan = pool::small_plan();
  plan.journal_bytes_per_rank = 4 * base::KiB;   // 31 records
  OneRank one(plan);
  drain::Engine engine(one.made.pool, plan, one.calls);
  const auto output = simple_output(one.directory / "series.nc", 300, 10);
  const auto key = one.ranks.open(one.recorder, output);

  for (std::uint64_t step = 0; step < 300; ++step) ASSERT_NO_THROW(one.put_step(key, output, step));
  one.ranks.report(one.recorder, key, 0, 300 | pool::rank_closed);

  ASSERT_TRUE(wait_until_finished(one.made.pool, {key}));
  EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file());
}

TEST(Engine, WritesDataManyTimesThePoolWithinOneStep) {
  plan::NodePlan plan = pool::small_plan();
  plan.pool_bytes = 216 * base::KiB;   // a dozen chunks
  plan.request_bytes = 64 * base::KiB;
  OneRank one(plan);
  ASSERT_LT(one.made.pool.header().chunk_count, 12u);
  drain::Engine engine(one.made.pool, plan, one.calls);
  const auto output = simple_output(one.directory / "big.nc", 1, 3'000'000, false);
  const auto key = one.ranks.open(one.recorder, output);

  ASSERT_NO_THROW(one.put_step(key, output, 0));
  one.ranks.report(one.recorder, key, 0, 1 | pool::rank_closed);

  ASSERT_TRUE(wait_until_finished(one.made.pool, {key}));
  EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file());
}

TEST(Engine, MakesStepsDurableOnDemandAndPublishesOnlyWhenTheyAreClosed) {
  OneRank one;
  drain::Engine engine(one.made.pool, one.plan, one.calls);
  const auto output = simple_output(one.directory / "steps.nc", 3, 5000);
  const auto key = one.ranks.open(one.recorder, output);
  pool::OutputSlot& slot = one.made.pool.slot(key.slot);

  one.put_step(key, output, 0);
  ASSERT_TRUE(one.wait_for(slot.steps.written, 1));
  EXPECT_EQ(slot.steps.synchronized, 0u);
  one.put_step(key, output, 1);
  slot.steps.synchronize_up_to = 2;
  one.recorder.ring_the_drain();
  ASSERT_TRUE(one.wait_for(slot.steps.synchronized, 2));
  EXPECT_EQ(bytes_of_file(output.description.names.final_path), std::nullopt);
  auto so_far = output;
  so_far.puts.pop_back();
  EXPECT_TRUE(bytes_of_file(output.description.names.working_path) == so_far.file()) << "the header counts 2 records";
  one.put_step(key, output, 2);
  one.ranks.report(one.recorder, key, 0, 3 | pool::rank_closed);

  ASSERT_TRUE(wait_until_finished(one.made.pool, {key}));
  EXPECT_EQ(slot.steps.synchronized, 3u);
  EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file());
}

// Ranks that wait for fewer steps than another has asked for may have to come on before that one's steps are there.
TEST(Engine, MakesDurableWhatIsThereWhenMoreIsAskedForThanAllRanksHaveEnded) {
  OneRank one;
  drain::Engine engine(one.made.pool, one.plan, one.calls);
  const auto output = simple_output(one.directory / "steps.nc", 3, 5000);
  const auto key = one.ranks.open(one.recorder, output);
  pool::OutputSlot& slot = one.made.pool.slot(key.slot);
  slot.steps.synchronize_up_to = 2;

  one.put_step(key, output, 0);

  ASSERT_TRUE(one.wait_for(slot.steps.synchronized, 1));
  one.put_step(key, output, 1);
  ASSERT_TRUE(one.wait_for(slot.steps.synchronized, 2));
  one.put_step(key, output, 2);
  ASSERT_TRUE(one.wait_for(slot.steps.written, 3));
  EXPECT_EQ(slot.steps.synchronized, 2u);
  one.ranks.report(one.recorder, key, 0, 3 | pool::rank_closed);
  ASSERT_TRUE(wait_until_finished(one.made.pool, {key}));
}

TEST(Engine, RefusesToPublishAStepThatNotAllRanksHaveEnded) {
  const TemporaryDirectory directory;
  const auto plan = pool::small_plan();
  pool::TestPool made(2, plan);
  store::SystemCalls calls;
  drain::Engine engine(made.pool, plan, calls);
  VirtualRanks ranks(made);
  auto recorder = ranks.recorder(0), other = ranks.recorder(1);
  const auto output = simple_output(directory / "uneven.nc", 2, 100);
  const auto key = ranks.open(recorder, output);
  for (const auto& put : output.puts) VirtualRanks::put(made, recorder, key, output, put);

  ranks.report(recorder, key, 0, 2 | pool::rank_closed);
  ranks.report(other, key, 1, 1 | pool::rank_closed);

  ASSERT_TRUE(wait_until_finished(made.pool, {key}));
  const auto& slot = made.pool.slot(key.slot);
  EXPECT_EQ(slot.state, pool::OutputState::failed);
  EXPECT_NE(error_in(slot).find("rank 1 had not ended step 1"), std::string::npos) << error_in(slot);
  EXPECT_EQ(bytes_of_file(output.description.names.final_path), std::nullopt);
  EXPECT_EQ(bytes_of_file(output.description.names.working_path), std::nullopt);
}

TEST(Engine, NamesBothRanksOfOverlappingPuts) {
  const TemporaryDirectory directory;
  const auto plan = pool::small_plan();
  pool::TestPool made(2, plan);
  store::SystemCalls calls;
  drain::Engine engine(made.pool, plan, calls);
  VirtualRanks ranks(made);
  auto output = simple_output(directory / "overlap.nc", 1, 100);
  output.puts = {{0, 0, 0, mesh::Type::int8, {{0}, {60}}}, {0, 1, 0, mesh::Type::int8, {{59}, {41}}}};

  ASSERT_TRUE(ranks.run({output}).empty());
  ASSERT_TRUE(wait_until_finished(made.pool, ranks.keys()));

  const auto& slot = made.pool.slot(ranks.keys()[0].slot);
  EXPECT_EQ(slot.error, 1u + static_cast<std::uint32_t>(base::Errc::overlap));
  EXPECT_NE(error_in(slot).find("rank 1"), std::string::npos);
  EXPECT_NE(error_in(slot).find("rank 0"), std::string::npos);
  EXPECT_EQ(bytes_of_file(output.description.names.final_path), std::nullopt);
  engine.stop();
  expect_empty(made);
}

TEST(Engine, ThatIsStoppedEarlySaysSoAndLeavesNeitherFilesNorDataBehind) {
  OneRank one;
  drain::Engine engine(one.made.pool, one.plan, one.calls);
  const auto output = simple_output(one.directory / "early.nc", 3, 5000);
  const auto key = one.ranks.open(one.recorder, output);
  one.put_step(key, output, 0);
  for (const auto& put : output.puts) {
    if (put.step == 1) VirtualRanks::put(one.made, one.recorder, key, output, put);   // not ended
  }

  engine.stop();

  const auto& slot = one.made.pool.slot(key.slot);
  EXPECT_EQ(slot.state, pool::OutputState::failed);
  EXPECT_NE(error_in(slot).find("early.nc"), std::string::npos);
  EXPECT_EQ(bytes_of_file(output.description.names.working_path), std::nullopt);
  EXPECT_LE(one.made.pool.header().used_chunks, 1u);   // the recorder's
  EXPECT_TRUE(one.made.journals_are_empty());
}

TEST(Engine, ForgetsAnAbandonedOutput) {
  OneRank one;
  drain::Engine engine(one.made.pool, one.plan, one.calls);
  const auto output = simple_output(one.directory / "abandoned.nc", 1, 5000);
  const auto key = one.ranks.open(one.recorder, output);
  one.put_step(key, output, 0);

  one.ranks.report(one.recorder, key, 0, 1 | pool::rank_closed | pool::rank_abandoned);

  ASSERT_TRUE(wait_until_finished(one.made.pool, {key}));
  EXPECT_EQ(one.made.pool.slot(key.slot).state, pool::OutputState::abandoned);
  EXPECT_EQ(bytes_of_file(output.description.names.working_path), std::nullopt);
}

TEST(Engine, PublishesNothingThatAJournalWithDamageMayBelongTo) {
  OneRank one;
  const auto output = simple_output(one.directory / "damaged.nc", 1, 500);
  auto later = simple_output(one.directory / "later.nc", 1, 500);
  const auto key = one.ranks.open(one.recorder, output);
  one.put_step(key, output, 0);
  auto* first = reinterpret_cast<pool::Record*>(one.made.pool.ring(0));
  ASSERT_EQ(first->kind, pool::RecordKind::put);
  ++first->elements;
  drain::Engine engine(one.made.pool, one.plan, one.calls);
  one.ranks.report(one.recorder, key, 0, 1 | pool::rank_closed);
  ASSERT_TRUE(wait_until_finished(one.made.pool, {key}));
  EXPECT_NE(error_in(one.made.pool.slot(key.slot)).find("journal of rank 0"), std::string::npos);

  const auto later_key = one.ranks.open(one.recorder, later);   // in the same journal, which cannot be read on
  one.ranks.report(one.recorder, later_key, 0, pool::rank_closed);

  ASSERT_TRUE(wait_until_finished(one.made.pool, {later_key}));
  EXPECT_NE(error_in(one.made.pool.slot(later_key.slot)).find("journal of rank 0"), std::string::npos);
  EXPECT_EQ(bytes_of_file(output.description.names.final_path), std::nullopt);
}

TEST(Engine, FailsLaterOutputsTooWhenAnotherRanksJournalIsDamaged) {
  const TemporaryDirectory directory;
  const auto plan = pool::small_plan();
  pool::TestPool made(2, plan);
  store::SystemCalls calls;
  VirtualRanks ranks(made);
  auto recorder = ranks.recorder(0), other = ranks.recorder(1);
  auto output = simple_output(directory / "first.nc", 1, 100), later = simple_output(directory / "later.nc", 1, 100);
  output.puts[0].rank = later.puts[0].rank = 1;
  const auto key = ranks.open(recorder, output);
  VirtualRanks::put(made, other, key, output, output.puts[0]);
  ++reinterpret_cast<pool::Record*>(made.pool.ring(1))->step;
  drain::Engine engine(made.pool, plan, calls);
  for (const int rank : {0, 1}) ranks.report(recorder, key, rank, 1 | pool::rank_closed);
  ASSERT_TRUE(wait_until_finished(made.pool, {key}));

  const auto later_key = ranks.open(recorder, later);
  VirtualRanks::put(made, other, later_key, later, later.puts[0]);
  for (const int rank : {0, 1}) ranks.report(recorder, later_key, rank, 1 | pool::rank_closed);

  ASSERT_TRUE(wait_until_finished(made.pool, {later_key}));
  EXPECT_EQ(made.pool.slot(later_key.slot).state, pool::OutputState::failed);
  EXPECT_EQ(bytes_of_file(later.description.names.final_path), std::nullopt);
}

TEST(Engine, RemovesTheWorkingFileThatItCannotOpen) {
  store::FaultyCalls calls({store::on("open").fails(EMFILE)});
  OneRank one;
  drain::Engine engine(one.made.pool, one.plan, calls);
  const auto output = simple_output(one.directory / "unopened.nc", 1, 100);
  const auto key = one.ranks.open(one.recorder, output);
  one.put_step(key, output, 0);
  one.ranks.report(one.recorder, key, 0, 1 | pool::rank_closed);

  ASSERT_TRUE(wait_until_finished(one.made.pool, {key}));
  EXPECT_EQ(one.made.pool.slot(key.slot).state, pool::OutputState::failed);
  EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
}

TEST(Engine, TellsItsUserWhenItCannotHaveItsBuffers) {
  plan::NodePlan plan = pool::small_plan();
  pool::TestPool made(1, plan);
  store::SystemCalls calls;
  plan.request_bytes = base::align_down(~0ull / 4, 4096);

  EXPECT_THROW(drain::Engine(made.pool, plan, calls), base::Error);
}

TEST(Engine, KeepsAnAccountOfWhatItDid) {
  OneRank one;
  drain::Engine engine(one.made.pool, one.plan, one.calls);
  const auto output = simple_output(one.directory / "traced.nc", 2, 5000);
  const auto key = one.ranks.open(one.recorder, output);
  for (std::uint64_t step = 0; step < 2; ++step) one.put_step(key, output, step);
  one.ranks.report(one.recorder, key, 0, 2 | pool::rank_closed);
  ASSERT_TRUE(wait_until_finished(one.made.pool, {key}));

  engine.stop();
  const drain::DrainTrace trace = engine.trace();

  ASSERT_EQ(trace.outputs.size(), 1u);
  EXPECT_EQ(trace.outputs[0].state, "published");
  EXPECT_EQ(trace.outputs[0].bytes, 10'000u);
  EXPECT_EQ(trace.outputs[0].steps, 2u);
  EXPECT_EQ(trace.requests.direct_bytes + trace.requests.buffered_bytes, 10'000u);
  EXPECT_LE(trace.outputs[0].first_capture_ns, trace.outputs[0].last_capture_ns);
  EXPECT_LE(trace.outputs[0].last_capture_ns, trace.outputs[0].written_ns);
  EXPECT_LE(trace.outputs[0].written_ns, trace.outputs[0].durable_ns);
}

}  // namespace
}  // namespace glean::tests::engine_test
