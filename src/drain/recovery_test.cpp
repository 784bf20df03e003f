// SPDX-License-Identifier: BSD-3-Clause
#include "drain/recovery.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "drain/virtual_ranks.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::drain {
namespace {

using store::TemporaryDirectory;

constexpr int rank_count = 2;
const std::function<void()> nobody_waits = [] {};

plan::Plan roomy_plan() {
  plan::Plan plan = pool::small_plan();
  plan.pool_bytes = 4 * base::MiB;
  plan.journal_bytes_per_rank = 128 * base::KiB;
  return plan;
}

// Code of what `call` throws; nothing if it does not.
template <class Call>
std::optional<base::Errc> code_of(const Call& call) {
  try {
    call();
  } catch (const base::Error& error) {
    return error.code();
  }
  return std::nullopt;
}

bool exists(const std::string& pool) { return std::filesystem::exists("/dev/shm" + pool); }

// A pool whose ranks have put an output of three steps and are no more.
class Left : public testing::Test {
 protected:
  Left() : made_(std::make_unique<pool::TestPool>(rank_count, roomy_plan())), ranks_(*made_) {}

  // Rank r has ended `ended[r]` steps, and put into the next one.
  VirtualOutput put(const std::string& name, std::vector<std::uint32_t> ended, std::uint32_t flags = 0) {
    VirtualOutput output = VirtualOutput::random(random_, rank_count, 3, directory_ / name);
    auto opener = ranks_.recorder(0);
    const auto key = ranks_.open(opener, output);
    for (int rank = 0; rank < rank_count; ++rank) {
      auto recorder = ranks_.recorder(rank);
      const std::uint32_t steps = ended[static_cast<std::size_t>(rank)];
      for (const auto& put : output.puts) {
        if (put.rank == rank && put.step <= steps) VirtualRanks::put(*made_, recorder, key, output, put);
      }
      ranks_.report(recorder, key, rank, steps | flags);
    }
    return output;
  }
  [[nodiscard]] const std::string& name() const { return made_->pool.name(); }
  [[nodiscard]] std::vector<std::byte> memory() const {
    const std::byte* begin = made_->pool.at(0);
    return {begin, begin + made_->pool.header().pool_bytes};
  }

  std::mt19937 random_{7};
  TemporaryDirectory directory_;
  store::SystemCalls calls_;
  std::unique_ptr<pool::TestPool> made_;
  VirtualRanks ranks_;
};

TEST_F(Left, IsDescribedAndNotChanged) {
  const std::string job = "flash, job 17";
  std::copy(job.begin(), job.end(), made_->pool.header().job.begin());
  const auto open = put("open.nc", {2, 1});
  const auto closed = put("closed.nc", {3, 3}, pool::rank_closed);
  const auto begun = put("begun.nc", {0, 0});
  const auto given_up = put("given_up.nc", {1, 1}, pool::rank_closed | pool::rank_abandoned);
  const auto before = memory();

  const Remains remains = look_at(name());

  EXPECT_TRUE(memory() == before);
  EXPECT_EQ(remains.pool, name());
  EXPECT_EQ(remains.job, job);
  EXPECT_EQ(remains.ranks, rank_count);
  EXPECT_EQ(remains.pool_bytes, roomy_plan().pool_bytes);
  EXPECT_EQ(remains.in_use_by, 0);
  EXPECT_EQ(remains.problem, "");
  EXPECT_LT(remains.age_seconds, 1000);
  ASSERT_EQ(remains.outputs.size(), 4U);
  EXPECT_EQ(remains.outputs[0].path, open.description.display_path);
  EXPECT_EQ(remains.outputs[0].final_path, open.description.names.final_path);
  EXPECT_EQ(remains.outputs[0].steps_complete, 1U);
  EXPECT_EQ(remains.outputs[0].steps_begun, 2U);
  EXPECT_EQ(remains.outputs[0].ranks_behind, std::vector<int>{1});
  EXPECT_FALSE(remains.outputs[0].closed);
  EXPECT_EQ(remains.outputs[0].problem, "");
  EXPECT_EQ(remains.outputs[1].steps_complete, 3U);
  EXPECT_TRUE(remains.outputs[1].ranks_behind.empty());
  EXPECT_TRUE(remains.outputs[1].closed);
  EXPECT_EQ(remains.outputs[1].problem, "");
  base::Bytes waiting = 0;
  for (const auto& output : remains.outputs) waiting += output.waiting_bytes;
  EXPECT_GT(waiting, 0U);
  EXPECT_EQ(remains.outputs[2].problem, "it has no complete step");
  EXPECT_EQ(remains.outputs[3].problem, "the application has given it up");
}

TEST_F(Left, IsCompletedAndRemoved) {
  const auto closed = put("closed.nc", {3, 3}, pool::rank_closed);
  const auto begun = put("begun.nc", {0, 1});

  const Recovered recovered = recover(name(), calls_, nobody_waits);

  EXPECT_TRUE(recovered.pool_removed);
  EXPECT_FALSE(exists(name()));
  EXPECT_TRUE(bytes_of_file(closed.description.names.final_path) == closed.file());
  EXPECT_FALSE(std::filesystem::exists(begun.description.names.final_path));
  for (const auto& output : {closed, begun}) EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
  ASSERT_EQ(recovered.outputs.size(), 2U);
  for (const auto& output : recovered.outputs) {
    const bool whole = output.path == closed.description.display_path;
    EXPECT_EQ(output.state, whole ? "published" : "failed") << output.path;
    EXPECT_EQ(output.steps, whole ? 3U : 0U) << output.path;
  }
  EXPECT_EQ(code_of([&] { static_cast<void>(recover(name(), calls_, nobody_waits)); }), base::Errc::not_found);
}

TEST_F(Left, IsNotTouchedWhileARankLives) {
  const auto output = put("alive.nc", {3, 3}, pool::rank_closed);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t rank = fork();
  if (rank == 0) {
    const bool claimed = made_->pool.claim_rank(1);
    _exit(write(ready[1], claimed ? "y" : "n", 1) == 1 ? pause() : 1);
  }
  char claimed = 0;
  ASSERT_EQ(read(ready[0], &claimed, 1), 1);
  ASSERT_EQ(claimed, 'y');

  EXPECT_EQ(look_at(name()).in_use_by, rank);
  EXPECT_EQ(code_of([&] { static_cast<void>(recover(name(), calls_, nobody_waits)); }), base::Errc::invalid_state);
  EXPECT_EQ(code_of([&] { discard(name(), calls_); }), base::Errc::invalid_state);
  EXPECT_TRUE(exists(name()));
  EXPECT_TRUE(std::filesystem::exists(output.description.names.working_path));

  kill(rank, SIGKILL);
  waitpid(rank, nullptr, 0);
  EXPECT_TRUE(recover(name(), calls_, nobody_waits).pool_removed);
  EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file());
}

TEST_F(Left, StaysWhenTheStorageRefusesAndIsCompletedLater) {
  struct Full : store::SystemCalls {
    int allocate(int, off_t, off_t) override { return -ENOSPC; }
    ssize_t result_of_write(int, std::size_t, off_t, ssize_t) override { return -ENOSPC; }
  } full;
  const auto output = put("refused.nc", {3, 3}, pool::rank_closed);

  const Recovered first = recover(name(), full, nobody_waits);
  EXPECT_FALSE(first.pool_removed);
  ASSERT_EQ(first.outputs.size(), 1U);
  EXPECT_EQ(first.outputs[0].state, "postponed");
  EXPECT_TRUE(exists(name()));
  EXPECT_EQ(look_at(name()).outputs.size(), 1U);

  EXPECT_TRUE(recover(name(), calls_, nobody_waits).pool_removed);
  EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file());
}

TEST_F(Left, IsDiscardedWithItsWorkingFiles) {
  const auto closed = put("closed.nc", {3, 3}, pool::rank_closed), begun = put("begun.nc", {0, 0});

  discard(name(), calls_);

  EXPECT_FALSE(exists(name()));
  for (const auto& output : {closed, begun}) {
    EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
    EXPECT_FALSE(std::filesystem::exists(output.description.names.final_path));
  }
}

TEST_F(Left, WithADamagedJournalIsNamedAndNotPublished) {
  const auto output = put("damaged.nc", {3, 3}, pool::rank_closed);
  made_->pool.ring(0)[24] ^= std::byte{1};

  const Remains remains = look_at(name());
  ASSERT_EQ(remains.outputs.size(), 1U);
  EXPECT_NE(remains.outputs[0].problem.find("journal of rank 0: damaged"), std::string::npos) << remains.outputs[0].problem;

  const Recovered recovered = recover(name(), calls_, nobody_waits);
  ASSERT_EQ(recovered.outputs.size(), 1U);
  EXPECT_EQ(recovered.outputs[0].state, "failed");
  EXPECT_NE(recovered.outputs[0].note.find("damaged"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(output.description.names.final_path));
  EXPECT_FALSE(exists(name()));
}

// An object of shared memory with what was written into it.
class Object {
 public:
  Object(const std::string& name, const std::vector<std::byte>& content) : name_(name) {
    const int descriptor = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    EXPECT_EQ(write(descriptor, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    close(descriptor);
  }
  ~Object() { shm_unlink(name_.c_str()); }

 private:
  std::string name_;
};

TEST(NoPool, IsNamedAndOnlyRemovedWhenItIsDiscarded) {
  const std::string name = "/glean-test." + std::to_string(getpid()) + ".garbage";
  store::SystemCalls calls;
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{1} << 20}) {
    std::vector<std::byte> content(size, std::byte{0x5a});
    const Object object(name, content);

    const Remains remains = look_at(name);
    EXPECT_EQ(remains.pool, name);
    EXPECT_NE(remains.problem, "");
    EXPECT_TRUE(remains.outputs.empty());
    EXPECT_EQ(code_of([&] { static_cast<void>(recover(name, calls, nobody_waits)); }), base::Errc::io);
    EXPECT_TRUE(exists(name));

    discard(name, calls);
    EXPECT_FALSE(exists(name));
  }
}

TEST(NoPool, ThatItsMakerDidNotFinishIsRemovedWhenTheMakerIsGone) {
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  store::SystemCalls calls;
  for (const std::size_t size : {std::size_t{0}, std::size_t{4096}}) {
    const std::string of_gone = "/glean.0." + std::to_string(gone) + ".1", of_living = "/glean.0." + std::to_string(getpid()) + ".1";
    const Object left(of_gone, std::vector<std::byte>(size)), being_made(of_living, std::vector<std::byte>(size));

    EXPECT_TRUE(recover(of_gone, calls, nobody_waits).pool_removed);
    EXPECT_FALSE(exists(of_gone));
    EXPECT_EQ(code_of([&] { static_cast<void>(recover(of_living, calls, nobody_waits)); }), base::Errc::io);
    EXPECT_TRUE(exists(of_living));
  }
}

TEST(Pools, OfOtherUsersAreLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give an object away";
  const std::string name = "/glean.65534." + std::to_string(getpid()) + ".2";
  const Object object(name, std::vector<std::byte>(4096));
  const auto names = pool_names();
  EXPECT_TRUE(std::find(names.begin(), names.end(), name) != names.end());
  ASSERT_EQ(chown(("/dev/shm" + name).c_str(), 65534, 65534), 0);
  store::SystemCalls calls;

  const auto own = pool_names();
  EXPECT_TRUE(std::find(own.begin(), own.end(), name) == own.end());
  EXPECT_NE(look_at(name).problem.find("belongs to another user"), std::string::npos);
  EXPECT_EQ(code_of([&] { static_cast<void>(recover(name, calls, nobody_waits)); }), base::Errc::permission);
  EXPECT_EQ(code_of([&] { discard(name, calls); }), base::Errc::permission);
  EXPECT_TRUE(exists(name));
}

}  // namespace
}  // namespace glean::drain
