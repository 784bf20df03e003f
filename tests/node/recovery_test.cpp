// SPDX-License-Identifier: BSD-3-Clause
#include "service/recovery.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "pool/lamport_clock.hpp"
#include "raw_output.hpp"
#include "virtual_ranks.hpp"
#include "pool/spill.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::recovery_test {
namespace {

using store::TemporaryDirectory;

constexpr int left_ranks = 2;
const std::function<void()> nothing_waits = [] {};

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

// A pool whose ranks have put an output of three steps and are no more.
class Left : public testing::Test {
 protected:
  Left() : made_(std::make_unique<pool::TestPool>(left_ranks, pool::roomy_plan())), ranks_(*made_) {}
  ~Left() override { shm_unlink(name_.c_str()); }

  // Rank r has ended `ended[r]` steps, and put into the next one.
  VirtualOutput put(const std::string& name, std::vector<std::uint32_t> ended, std::uint32_t flags = 0) {
    VirtualOutput output = VirtualOutput::random(random_, left_ranks, 3, directory_ / name);
    auto opener = ranks_.recorder(0);
    const auto key = ranks_.open(opener, output);
    for (int rank = 0; rank < left_ranks; ++rank) {
      auto recorder = ranks_.recorder(rank);
      const std::uint32_t steps = ended[static_cast<std::size_t>(rank)];
      for (const auto& put : output.puts) {
        if (put.rank == rank && put.step <= steps) VirtualRanks::put(*made_, recorder, key, output, put);
      }
      ranks_.report(recorder, key, rank, steps | flags);
    }
    return output;
  }
  // The pool's name, which this process does not use any more.
  const std::string& leave() {
    if (!made_->pool.name().empty()) {
      name_ = made_->pool.name();
      const pool::Pool unmapped = std::move(made_->pool);
    }
    return name_;
  }

  std::mt19937 random_{7};
  TemporaryDirectory directory_;
  store::SystemCalls calls_;
  std::unique_ptr<pool::TestPool> made_;
  VirtualRanks ranks_;
  std::string name_;
};

TEST_F(Left, IsDescribedAndNotChanged) {
  const std::string job = "flash, job 17";
  std::copy(job.begin(), job.end(), made_->pool.header().job.begin());
  const auto open = put("open.nc", {2, 1});
  const auto closed = put("closed.nc", {3, 3}, pool::rank_closed);
  const auto begun = put("begun.nc", {0, 0});
  const auto given_up = put("given_up.nc", {1, 1}, pool::rank_closed | pool::rank_abandoned);
  for (int rank = 0; rank < left_ranks; ++rank) made_->pool.journal(rank).job_rank = static_cast<std::uint32_t>(6 + rank);
  leave();
  const auto before = bytes_of_file("/dev/shm" + name_);

  const service::Remains remains = service::look_at(name_);

  EXPECT_TRUE(bytes_of_file("/dev/shm" + name_) == before);
  EXPECT_EQ(remains.pool, name_);
  EXPECT_EQ(remains.job, job);
  EXPECT_EQ(remains.ranks, left_ranks);
  EXPECT_EQ(remains.pool_bytes, pool::roomy_plan().pool_bytes);
  EXPECT_EQ(remains.in_use_by, 0);
  EXPECT_EQ(remains.problem, "");
  EXPECT_LT(remains.age_seconds, 1000);
  ASSERT_EQ(remains.outputs.size(), 4U);
  EXPECT_EQ(remains.outputs[0].path, open.description.display_path);
  EXPECT_EQ(remains.outputs[0].final_path, open.description.names.final_path);
  EXPECT_EQ(remains.outputs[0].steps_complete, 1U);
  EXPECT_EQ(remains.outputs[0].steps_begun, 2U);
  EXPECT_EQ(remains.outputs[0].ranks_behind, std::vector<int>{7});   // of the session
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

  const service::Recovered recovered = service::recover(leave(), calls_, nothing_waits);

  EXPECT_TRUE(recovered.pool_removed);
  EXPECT_FALSE(pool::exists(name_));
  EXPECT_TRUE(bytes_of_file(closed.description.names.final_path) == closed.file());
  EXPECT_FALSE(std::filesystem::exists(begun.description.names.final_path));
  for (const auto& output : {closed, begun}) EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
  ASSERT_EQ(recovered.outputs.size(), 2U);
  for (const auto& output : recovered.outputs) {
    const bool whole = output.path == closed.description.display_path;
    EXPECT_EQ(output.state, whole ? "published" : "failed") << output.path;
    EXPECT_EQ(output.steps, whole ? 3U : 0U) << output.path;
  }
  EXPECT_EQ(code_of([&] { static_cast<void>(service::recover(leave(), calls_, nothing_waits)); }), base::Errc::not_found);
}

TEST_F(Left, IsNotTouchedWhileARankLives) {
  const auto output = put("alive.nc", {3, 3}, pool::rank_closed);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  leave();
  const pid_t rank = fork();
  if (rank == 0) {
    pool::Pool pool = pool::Pool::attach(name_);
    const bool claimed = pool.claim_rank(1);
    _exit(write(ready[1], claimed ? "y" : "n", 1) == 1 ? pause() : 1);
  }
  char claimed = 0;
  ASSERT_EQ(read(ready[0], &claimed, 1), 1);
  ASSERT_EQ(claimed, 'y');

  EXPECT_EQ(service::look_at(leave()).in_use_by, rank);
  EXPECT_EQ(code_of([&] { static_cast<void>(service::recover(leave(), calls_, nothing_waits)); }), base::Errc::invalid_state);
  EXPECT_EQ(code_of([&] { service::discard(leave(), calls_); }), base::Errc::invalid_state);
  EXPECT_TRUE(pool::exists(name_));
  EXPECT_TRUE(std::filesystem::exists(output.description.names.working_path));

  kill(rank, SIGKILL);
  waitpid(rank, nullptr, 0);
  EXPECT_TRUE(service::recover(leave(), calls_, nothing_waits).pool_removed);
  EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file());
}

TEST_F(Left, StaysWhenTheStorageRefusesAndIsCompletedLater) {
  store::FaultyCalls full(store::full_disk());
  const auto output = put("refused.nc", {3, 3}, pool::rank_closed);

  const service::Recovered first = service::recover(leave(), full, nothing_waits);
  EXPECT_FALSE(first.pool_removed);
  ASSERT_EQ(first.outputs.size(), 1U);
  EXPECT_EQ(first.outputs[0].state, "postponed");
  EXPECT_TRUE(pool::exists(name_));
  EXPECT_EQ(service::look_at(leave()).outputs.size(), 1U);

  EXPECT_TRUE(service::recover(leave(), calls_, nothing_waits).pool_removed);
  EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file());
}

TEST_F(Left, WithNothingUnfinishedIsJustRemoved) {
  {
    const auto output = put("published.nc", {3, 3}, pool::rank_closed);
    drain::Engine engine(made_->pool, pool::roomy_plan(), calls_);
    ASSERT_TRUE(wait_until_finished(made_->pool, ranks_.keys()));
    EXPECT_FALSE(service::remove_if_finished(made_->pool.name())) << "this process uses it";
  }
  leave();

  const pid_t rank = fork();
  if (rank == 0) {
    pool::Pool pool = pool::Pool::attach(name_);
    _exit(pool.claim_rank(1) ? pause() : 1);
  }
  while (pool::Pool::process_using(name_) == 0) usleep(1000);
  EXPECT_FALSE(service::remove_if_finished(name_)) << "a rank lives";
  kill(rank, SIGKILL);
  waitpid(rank, nullptr, 0);

  EXPECT_TRUE(service::remove_if_finished(name_));
  EXPECT_FALSE(pool::exists(name_));
  EXPECT_FALSE(service::remove_if_finished(name_)) << "it is gone";
}

TEST_F(Left, WithSomethingUnfinishedStaysForRecovery) {
  const auto output = put("open.nc", {1, 1});

  EXPECT_FALSE(service::remove_if_finished(leave()));

  EXPECT_TRUE(pool::exists(name_));
  EXPECT_TRUE(std::filesystem::exists(output.description.names.working_path));
}

TEST_F(Left, WithAFileInPlaceThatHasAllThatWasCapturedIsJustRemoved) {
  const auto key = open_raw_output(*made_, raw_output(directory_ / "in_place", directory_ / "in_place"));
  auto& slot = made_->pool.slot(key.slot);
  slot.writes.begun = pool::WriteStamp{0, 3}.word();
  slot.writes.written = 2;
  EXPECT_FALSE(service::remove_if_finished(leave())) << "one write is not in the file";

  {
    pool::Pool again = pool::Pool::attach(name_);
    again.slot(key.slot).writes.written = 3;
    for (int rank = 0; rank < left_ranks; ++rank) again.rank_progress(key.slot, rank) = 1 | pool::rank_closed;
  }
  EXPECT_FALSE(service::remove_if_finished(name_)) << "all have closed it: it has to be on the storage";

  pool::Pool::attach(name_).rank_progress(key.slot, 0) = 1;
  EXPECT_TRUE(service::remove_if_finished(name_));
}

TEST_F(Left, WithASpillFileStaysForRecovery) {
  auto& header = made_->pool.header();
  std::string(directory_ / "").copy(header.spill_directory.data(), header.spill_directory.size() - 1);
  header.spill_budget_bytes = base::MiB;
  const std::string spilled = pool::spill_path(made_->pool, 0);
  store::write_text(spilled, "a block");
  EXPECT_FALSE(service::remove_if_finished(leave()));
  EXPECT_TRUE(pool::exists(name_));
  std::filesystem::remove(spilled);
  EXPECT_TRUE(service::remove_if_finished(name_));
}

// Killed when it had told its job that all is done, and before it had removed its pool.
TEST_F(Left, OfAStagerWithNothingUnfinishedIsRemovedWithItsSpillFile) {
  made_ = std::make_unique<pool::TestPool>(0, pool::roomy_plan(), pool::NodeShare{"/job", 2, 1, 1});
  pool::PoolHeader& header = made_->pool.header();
  std::string(directory_ / "").copy(header.spill_directory.data(), header.spill_directory.size() - 1);
  header.spill_budget_bytes = base::MiB;
  const std::string spilled = pool::spill_path(made_->pool, 0);
  store::write_text(spilled, "a block");
  header.place.port = 1;
  EXPECT_FALSE(service::remove_if_finished(leave())) << "another process may take its place";

  pool::Pool::attach(name_).header().place.port = 0;
  EXPECT_FALSE(service::remove_if_finished(name_)) << "recovery of the job needs it";

  pool::Pool::attach(name_).header().place.left_clients[0] = 1;
  EXPECT_TRUE(service::remove_if_finished(name_));
  EXPECT_FALSE(pool::exists(name_));
  EXPECT_FALSE(std::filesystem::exists(spilled));
}

TEST_F(Left, OnSeveralNodesWithNothingUnfinishedIsJustRemoved) {
  made_ = std::make_unique<pool::TestPool>(left_ranks, pool::roomy_plan(), pool::NodeShare{"/job", 2, 0});
  EXPECT_TRUE(service::remove_if_finished(leave()));
  EXPECT_FALSE(pool::exists(name_));
}

TEST_F(Left, IsDiscardedWithItsWorkingFiles) {
  const auto closed = put("closed.nc", {3, 3}, pool::rank_closed), begun = put("begun.nc", {0, 0});

  service::discard(leave(), calls_);

  EXPECT_FALSE(pool::exists(name_));
  for (const auto& output : {closed, begun}) {
    EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
    EXPECT_FALSE(std::filesystem::exists(output.description.names.final_path));
  }
}

TEST_F(Left, WithADamagedJournalIsNamedAndNotPublished) {
  const auto output = put("damaged.nc", {3, 3}, pool::rank_closed);
  made_->pool.journal(0).job_rank = 6;
  made_->pool.ring(0)[24] ^= std::byte{1};

  const service::Remains remains = service::look_at(leave());
  ASSERT_EQ(remains.outputs.size(), 1U);
  EXPECT_NE(remains.outputs[0].problem.find("journal of rank 6: damaged"), std::string::npos) << remains.outputs[0].problem;

  const service::Recovered recovered = service::recover(leave(), calls_, nothing_waits);
  ASSERT_EQ(recovered.outputs.size(), 1U);
  EXPECT_EQ(recovered.outputs[0].state, "failed");
  EXPECT_NE(recovered.outputs[0].note.find("damaged"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(output.description.names.final_path));
  EXPECT_FALSE(pool::exists(name_));
}

TEST_F(Left, IsNotOpenedByAProcessThatUsesIt) {
  ASSERT_TRUE(made_->pool.claim_rank(1));
  const std::string name = made_->pool.name();

  EXPECT_EQ(service::look_at(name).in_use_by, getpid());
  EXPECT_EQ(pool::Pool::process_using(name), getpid());

  const pid_t other = fork();   // it sees whether the claims are still there
  if (other == 0) _exit(made_->pool.process_of_rank(0) == getppid() && !made_->pool.claim_rank(0) ? 0 : 1);
  int status = 0;
  waitpid(other, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
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

    const service::Remains remains = service::look_at(name);
    EXPECT_EQ(remains.pool, name);
    EXPECT_NE(remains.problem, "");
    EXPECT_TRUE(remains.outputs.empty());
    EXPECT_EQ(code_of([&] { static_cast<void>(service::recover(name, calls, nothing_waits)); }), base::Errc::io);
    EXPECT_TRUE(pool::exists(name));

    service::discard(name, calls);
    EXPECT_FALSE(pool::exists(name));
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

    EXPECT_FALSE(service::remove_if_finished(of_living));
    EXPECT_TRUE(size == 0 ? service::remove_if_finished(of_gone) : service::recover(of_gone, calls, nothing_waits).pool_removed);
    EXPECT_FALSE(pool::exists(of_gone));
    EXPECT_EQ(code_of([&] { static_cast<void>(service::recover(of_living, calls, nothing_waits)); }), base::Errc::io);
    EXPECT_TRUE(pool::exists(of_living));
  }
}

TEST(Pools, OfOtherUsersAreLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give an object away";
  const std::string name = "/glean.65534." + std::to_string(getpid()) + ".2";
  const Object object(name, std::vector<std::byte>(4096));
  const auto names = service::pool_names();
  EXPECT_TRUE(std::find(names.begin(), names.end(), name) != names.end());
  ASSERT_EQ(chown(("/dev/shm" + name).c_str(), 65534, 65534), 0);
  store::SystemCalls calls;

  const auto own = service::pool_names();
  EXPECT_TRUE(std::find(own.begin(), own.end(), name) == own.end());
  EXPECT_NE(service::look_at(name).problem.find("belongs to another user"), std::string::npos);
  EXPECT_EQ(code_of([&] { static_cast<void>(service::recover(name, calls, nothing_waits)); }), base::Errc::permission);
  EXPECT_EQ(code_of([&] { service::discard(name, calls); }), base::Errc::permission);
  EXPECT_TRUE(pool::exists(name));
}

}  // namespace
}  // namespace glean::tests::recovery_test
