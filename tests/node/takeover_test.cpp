// SPDX-License-Identifier: BSD-3-Clause
//
// A drain that is killed at any moment is followed by another that goes on; and when the ranks are killed, what they had
// captured as complete steps becomes files.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <fstream>
#include <thread>
#include <tuple>

#include "base/clock.hpp"
#include "virtual_ranks.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::takeover_test {
namespace {

using store::TemporaryDirectory;

constexpr base::WhenFull policies[] = {base::WhenFull::block, base::WhenFull::synchronous, base::WhenFull::spill};

// Sizes of journals: the smaller one is full before its rank ends a step.
constexpr Bytes journals[] = {128 * base::KiB, 2 * base::KiB};

plan::NodePlan tight_plan(Bytes journal_bytes) {
  plan::NodePlan plan = pool::small_plan();
  plan.journal_bytes_per_rank = journal_bytes;
  plan.pool_bytes = 672 * base::KiB;   // few chunks: steps are written before they are complete
  return plan;
}

// Processes that are there before any thread is, and drain a pool when they are told to.
class DrainProcesses {
 public:
  DrainProcesses(pool::Pool& pool, const plan::NodePlan& plan, int count) {
    for (int i = 0; i < count; ++i) {
      int ends[2];
      if (pipe(ends) != 0) throw std::runtime_error("no pipe");
      const pid_t child = fork();
      if (child == 0) {
        char go = 0;
        if (read(ends[0], &go, 1) == 1) {
          store::SystemCalls calls;
          drain::Engine engine(pool, plan, calls);
          pause();
        }
        _exit(0);
      }
      close(ends[0]);
      waiting_.push_back({child, ends[1]});
    }
  }
  ~DrainProcesses() {
    for (const auto& [child, end] : waiting_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      close(end);
    }
  }
  // Lets the next one drain.
  void start() { EXPECT_EQ(write(waiting_.back().second, "g", 1), 1); }
  // Kills it.
  void stop() {
    const auto [child, end] = waiting_.back();
    waiting_.pop_back();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(end);
  }

 private:
  std::vector<std::pair<pid_t, int>> waiting_;
};

std::vector<VirtualOutput> random_outputs(std::mt19937& random, int ranks, const TemporaryDirectory& directory) {
  std::vector<VirtualOutput> outputs;
  for (int o = 0; o < 3; ++o) {
    outputs.push_back(VirtualOutput::random(random, ranks, 1 + random() % 4, directory / std::to_string(o) + ".nc"));
  }
  return outputs;
}

// With the seed: how ranks put when the pool is full, and the bytes of a journal.
class KilledDrain : public testing::TestWithParam<std::tuple<int, base::WhenFull, Bytes>> {};

TEST_P(KilledDrain, IsFollowedByOneThatGoesOn) {
  const auto [seed, full, journal_bytes] = GetParam();
  const plan::NodePlan plan = tight_plan(journal_bytes);
  std::mt19937 random(static_cast<unsigned>(seed));
  const TemporaryDirectory directory;
  constexpr int rank_count = 3, kills = 4;
  pool::TestPool made(rank_count, plan);
  made.spill_to(directory.string(), base::MiB);
  DrainProcesses processes(made.pool, plan, kills);
  const auto outputs = random_outputs(random, rank_count, directory);
  store::SystemCalls rank_calls;
  VirtualRanks ranks(made, full, rank_calls);
  std::vector<std::string> errors;
  std::thread program([&] { errors = ranks.run(outputs); });
  for (int i = 0; i < kills; ++i) {
    processes.start();
    usleep(static_cast<unsigned>(random() % 8000));
    processes.stop();
  }

  store::SystemCalls calls;
  drain::Engine engine(made.pool, plan, calls);
  program.join();
  EXPECT_EQ(errors, std::vector<std::string>{});
  ASSERT_TRUE(wait_until_finished(made.pool, ranks.keys()));

  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const auto& output = outputs[o];
    EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file())
        << made.pool.slot(ranks.keys()[o].slot).message.data();
    EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, KilledDrain,
                         testing::Combine(testing::Range(0, 12), testing::ValuesIn(policies),
                                          testing::ValuesIn(journals)));

class KilledRanks : public testing::TestWithParam<std::tuple<int, base::WhenFull, Bytes>> {};

TEST_P(KilledRanks, LeaveTheirCompleteStepsToTheNextDrain) {
  const int seed = std::get<0>(GetParam());
  const base::WhenFull full = std::get<1>(GetParam());
  const base::Bytes journal_bytes = std::get<2>(GetParam());
  std::mt19937 random(static_cast<unsigned>(seed));
  const TemporaryDirectory directory;
  constexpr int rank_count = 2;
  const bool drained_meanwhile = random() % 2 == 0;
  const plan::NodePlan plan = drained_meanwhile ? tight_plan(journal_bytes) : pool::roomy_plan(16 * base::MiB, base::MiB);
  pool::TestPool made(rank_count, plan);
  made.spill_to(directory.string(), base::MiB);
  DrainProcesses processes(made.pool, plan, rank_count);
  store::SystemCalls rank_calls;
  VirtualRanks ranks(made, full, rank_calls);
  const auto output = VirtualOutput::random(random, rank_count, 4, directory / "killed.nc");
  // Each rank comes as far as it comes, and is then no more.
  std::uint64_t complete = output.steps;
  pool::OutputKey key;
  {
    auto recorder = ranks.recorder(0);
    key = ranks.open(recorder, output);
  }
  for (int rank = 0; rank < rank_count; ++rank) {
    const std::uint64_t ended = random() % (output.steps + 1);
    complete = std::min(complete, ended);
    if (drained_meanwhile) processes.start();
    // Every other put finds the pool full; a rank that waits for something else does not.
    std::vector<std::uint32_t> taken;
    const auto give_back = [&] {
      for (const auto chunk : taken) made.pool.drop_reference(chunk);
      taken.clear();
    };
    pool::Recorder recorder(made.pool, rank, 30, [] { return std::string("a test"); }, give_back);
    capture::FullPoolPolicy policy(made.pool, recorder, rank, rank_calls);
    const auto squeeze = [&](bool hard) {
      give_back();
      if (!hard || full == base::WhenFull::block) return;
      recorder.ring_the_drain();
      while (const auto chunk = made.pool.take_chunk()) taken.push_back(*chunk);
    };
    for (const auto& put : output.puts) {
      if (put.rank == rank && put.step <= ended && (put.step < ended || random() % 2 == 0)) {
        squeeze(random() % 2 == 0);
        VirtualRanks::put(policy, full, key, output, put);
      }
    }
    squeeze(false);
    ranks.report(recorder, key, rank, static_cast<std::uint32_t>(ended));
    if (drained_meanwhile) processes.stop();
  }

  store::SystemCalls calls;
  {
    drain::Engine first(made.pool, plan, calls, drain::Ranks::gone);
    usleep(static_cast<unsigned>(random() % 500));
    first.stop(drain::Engine::Unfinished::leave);
  }
  drain::Engine engine(made.pool, plan, calls, drain::Ranks::gone);
  engine.wait_until_idle();

  const auto file = bytes_of_file(output.description.names.final_path);
  if (complete == 0) {
    EXPECT_EQ(file, std::nullopt);
    EXPECT_NE(std::string(made.pool.slot(key.slot).message.data()).find("had not ended step 0"), std::string::npos);
  } else {
    EXPECT_TRUE(file == first_steps(output, complete).file()) << complete << " steps; " <<
        made.pool.slot(key.slot).message.data();
  }
  EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
}
INSTANTIATE_TEST_SUITE_P(Seeds, KilledRanks,
                         testing::Combine(testing::Range(0, 40), testing::ValuesIn(policies),
                                          testing::ValuesIn(journals)));

TEST(RanksGone, AnOutputThatWasJustBeingOpenedLeavesNoFile) {
  const TemporaryDirectory directory;
  pool::TestPool made(1);
  std::mt19937 random(1);
  const auto output = VirtualOutput::random(random, 1, 1, directory / "opened.nc");
  pool::Recorder recorder(made.pool, 0, 1, [] { return ""; });
  output.create_working_file();
  const auto key = made.claim_slot();
  recorder.describe(key, output.description.encode_names(), pool::Recorder::More::follow);
  store::SystemCalls calls;

  drain::Engine engine(made.pool, pool::small_plan(), calls, drain::Ranks::gone);
  engine.wait_until_idle();

  EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
  engine.stop();
  ASSERT_EQ(engine.trace().outputs.size(), 1u);
  EXPECT_NE(engine.trace().outputs[0].note.find("just being opened"), std::string::npos);
}

TEST(RanksGone, AnOutputThatFailsLeavesNoSidecarOfTheDrainBefore) {
  const TemporaryDirectory directory;
  pool::TestPool made(1);
  std::mt19937 random(1);
  auto output = VirtualOutput::random(random, 1, 1, directory / "failed.nc");
  output.description.checksums = true;
  {
    VirtualRanks ranks(made);
    auto recorder = ranks.recorder(0);
    static_cast<void>(ranks.open(recorder, output));   // and no step is ever ended
  }
  const std::string prepared = directory / ".failed.nc.glean-sums.part";
  std::ofstream(prepared) << "prepared by a drain that was killed";
  made.pool.header().drains = 1;
  store::SystemCalls calls;

  drain::Engine engine(made.pool, pool::small_plan(), calls, drain::Ranks::gone);
  engine.wait_until_idle();

  EXPECT_FALSE(std::filesystem::exists(prepared));
  EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
}

TEST(RanksGone, WhatTheStorageRefusesStaysForAnotherTry) {
  store::FaultyCalls calls(store::full_disk());
  const TemporaryDirectory directory;
  pool::TestPool made(2);
  std::mt19937 random(3);
  const std::vector outputs{VirtualOutput::random(random, 2, 2, directory / "refused.nc")};
  VirtualRanks ranks(made);
  EXPECT_TRUE(ranks.run(outputs).empty());
  {
    drain::Engine engine(made.pool, pool::small_plan(), calls, drain::Ranks::gone);
    engine.wait_until_idle();
    engine.stop(drain::Engine::Unfinished::leave);
    ASSERT_EQ(engine.trace().outputs.size(), 1u);
    EXPECT_EQ(engine.trace().outputs[0].state, "postponed");
    EXPECT_NE(engine.trace().outputs[0].note.find("No space"), std::string::npos);
  }
  EXPECT_TRUE(std::filesystem::exists(outputs[0].description.names.working_path));

  calls.follow({});
  drain::Engine engine(made.pool, pool::small_plan(), calls, drain::Ranks::gone);
  engine.wait_until_idle();

  EXPECT_EQ(bytes_of_file(outputs[0].description.names.final_path), outputs[0].file());
}

TEST(RanksGone, AFileThatAnotherJobHasWrittenSinceIsNotReplaced) {
  const TemporaryDirectory directory;
  pool::TestPool made(1, pool::roomy_plan(16 * base::MiB, base::MiB));
  std::mt19937 random(4);
  const std::vector outputs{VirtualOutput::random(random, 1, 1, directory / "newer.nc")};
  VirtualRanks ranks(made);
  EXPECT_TRUE(ranks.run(outputs).empty());
  usleep(20'000);   // more than the resolution of file times
  std::ofstream(outputs[0].description.names.final_path) << "newer";
  store::SystemCalls calls;

  drain::Engine engine(made.pool, pool::roomy_plan(16 * base::MiB, base::MiB), calls, drain::Ranks::gone);
  engine.wait_until_idle();
  engine.stop();

  EXPECT_EQ(bytes_of_file(outputs[0].description.names.final_path)->size(), 5u);
  EXPECT_FALSE(std::filesystem::exists(outputs[0].description.names.working_path));
  ASSERT_EQ(engine.trace().outputs.size(), 1u);
  EXPECT_EQ(engine.trace().outputs[0].state, "superseded");
}

TEST(RanksGone, AFileThatWasRenamedButNotYetSafeIsMadeSafe) {
  const TemporaryDirectory directory;
  pool::TestPool made(1, pool::roomy_plan(16 * base::MiB, base::MiB));
  std::mt19937 random(5);
  const std::vector outputs{VirtualOutput::random(random, 1, 2, directory / "renamed.nc")};
  VirtualRanks ranks(made);
  const pid_t child = fork();
  if (child == 0) {
    store::FaultyCalls calls({store::on("rename").after([] { _exit(7); })});
    drain::Engine engine(made.pool, pool::small_plan(), calls, drain::Ranks::working);
    sleep(20);
    _exit(0);
  }
  EXPECT_TRUE(ranks.run(outputs).empty());
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  store::FaultyCalls calls;

  drain::Engine engine(made.pool, pool::small_plan(), calls, drain::Ranks::gone);
  engine.wait_until_idle();

  EXPECT_TRUE(bytes_of_file(outputs[0].description.names.final_path) == outputs[0].file());
  EXPECT_STREQ(made.pool.slot(ranks.keys()[0].slot).message.data(), "");
  EXPECT_EQ(calls.count("rename"), 0u);
  EXPECT_GE(calls.count("fsync"), 2u);   // the file and its directory
  EXPECT_EQ(made.pool.slot(ranks.keys()[0].slot).state, pool::OutputState::published);
}

}  // namespace
}  // namespace glean::tests::takeover_test
