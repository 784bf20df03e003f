// SPDX-License-Identifier: BSD-3-Clause
#include "service/serve.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "service/recovery.hpp"
#include "virtual_ranks.hpp"
#include "pool/futex.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::serve_test {
namespace {

using store::TemporaryDirectory;

// This process plays the ranks, another one is the helper.
class Helper : public testing::Test {
 protected:
  Helper() : made_(2, pool::roomy_plan(), pool::TestPool::Drain::elsewhere), ranks_(made_) {
    EXPECT_TRUE(made_.pool.claim_rank(1) && made_.pool.claim_rank(0));
  }
  ~Helper() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }

  // Waits until it drains. `before` runs in it.
  void start(const std::function<void()>& before = [] {}) {
    child_ = fork();
    if (child_ == 0) {
      base::set_log_level(base::LogLevel::off);
      before();
      _exit(serve_status(made_.pool.name()));
    }
    const std::uint64_t limit = base::now_ns() + 60'000'000'000;
    while (made_.pool.drainer() != child_ && base::now_ns() < limit) usleep(1000);
    ASSERT_EQ(made_.pool.drainer(), child_);
  }
  static int serve_status(const std::string& pool) {
    try {
      return service::serve(pool);
    } catch (const base::Error& error) {
      return 100 + static_cast<int>(error.code());
    }
  }
  [[nodiscard]] int exit_status() {
    int status = 0;
    waitpid(std::exchange(child_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void close_session() {
    made_.pool.header().session_state = pool::SessionState::closed;
    pool::futex_signal(made_.pool.header().progress);
  }
  // As the kernel ends all claims of a process that dies: a descriptor of the object is closed.
  void die() const { close(shm_open(made_.pool.name().c_str(), O_RDWR, 0)); }
  [[nodiscard]] bool pool_exists() const { return std::filesystem::exists("/dev/shm" + made_.pool.name()); }

  // All is put of an output with records, and so many steps are ended.
  VirtualOutput put_all(std::uint32_t ended) {
    VirtualOutput output;
    const auto has_records = [&] {
      const auto& variables = output.description.layout.variables;
      return std::any_of(variables.begin(), variables.end(), [](const auto& variable) { return variable.per_step(); });
    };
    do output = VirtualOutput::random(random_, 2, 3, directory_ / "left.nc");
    while (!has_records());
    auto opener = ranks_.recorder(0);
    key_ = ranks_.open(opener, output);
    for (int rank = 0; rank < 2; ++rank) {
      auto recorder = ranks_.recorder(rank);
      for (const auto& put : output.puts) {
        if (put.rank == rank) VirtualRanks::put(made_, recorder, key_, output, put);
      }
      ranks_.report(recorder, key_, rank, ended);
    }
    return output;
  }

  std::mt19937 random_{3};
  TemporaryDirectory directory_;
  pool::TestPool made_;
  VirtualRanks ranks_;
  pool::OutputKey key_;
  pid_t child_ = 0;
};

TEST_F(Helper, DrainsUntilTheSessionIsClosedAndLeavesItsTrace) {
  const std::vector outputs{VirtualOutput::random(random_, 2, 3, directory_ / "a.nc"),
                            VirtualOutput::random(random_, 2, 2, directory_ / "caf\xe9.nc")};
  start();
  EXPECT_EQ(service::trace_left_in(made_.pool), std::nullopt);

  EXPECT_EQ(ranks_.run(outputs), std::vector<std::string>{});
  ASSERT_TRUE(wait_until_finished(made_.pool, ranks_.keys()));
  for (const auto& output : outputs) EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == output.file());
  close_session();

  EXPECT_EQ(exit_status(), 0);
  EXPECT_FALSE(pool_exists()) << "the rank that has closed the session has it mapped";
  const auto trace = service::trace_left_in(made_.pool);
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->threads, pool::roomy_plan().drain_threads);
  EXPECT_GT(trace->busy_ns, 0U);
  ASSERT_EQ(trace->outputs.size(), 2U);
  for (const auto& output : trace->outputs) EXPECT_EQ(output.state, "published") << output.note;
}

TEST_F(Helper, CompletesWhatRanksThatWereKilledHaveLeft) {
  start();
  const auto output = put_all(2);

  die();

  EXPECT_EQ(exit_status(), 0);
  EXPECT_FALSE(pool_exists());
  EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == first_steps(output, 2).file());
  EXPECT_FALSE(std::filesystem::exists(output.description.names.working_path));
}

TEST_F(Helper, LeavesThePoolToRecoveryWhenTheStorageRefuses) {
  start([] { signal(SIGXFSZ, SIG_IGN); });
  const auto output = put_all(2);
  const auto& slot = made_.pool.slot(key_.slot);
  const std::uint64_t limit = base::now_ns() + 60'000'000'000;
  while (slot.steps.written < 2 && base::now_ns() < limit) usleep(1000);
  ASSERT_EQ(slot.steps.written, 2U);
  const rlimit none{1, 1};
  ASSERT_EQ(prlimit(child_, RLIMIT_FSIZE, &none, nullptr), 0);   // from now on its disk is full

  die();

  EXPECT_EQ(exit_status(), 1);
  EXPECT_TRUE(pool_exists());
  EXPECT_FALSE(std::filesystem::exists(output.description.names.final_path));
  store::SystemCalls calls;
  EXPECT_TRUE(service::recover(made_.pool.name(), calls, [] {}).pool_removed);
  EXPECT_TRUE(bytes_of_file(output.description.names.final_path) == first_steps(output, 2).file());
}

TEST_F(Helper, DoesNotDrainWhatAnotherOneDrains) {
  start();
  const pid_t second = fork();
  if (second == 0) {
    base::set_log_level(base::LogLevel::off);
    _exit(serve_status(made_.pool.name()));
  }
  int status = 0;
  waitpid(second, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 100 + static_cast<int>(base::Errc::invalid_state));
  close_session();
  EXPECT_EQ(exit_status(), 0);
}

TEST_F(Helper, LeavesATraceThatIsNotTrustedBlindly) {
  auto& header = made_.pool.header();
  header.trace_bytes = header.pool_bytes;
  EXPECT_EQ(service::trace_left_in(made_.pool), std::nullopt);
  header.trace_bytes = 5;
  std::memcpy(made_.pool.at(header.chunks_offset), "{\"a\":", 5);
  EXPECT_THROW(static_cast<void>(service::trace_left_in(made_.pool)), base::Error);
}

}  // namespace
}  // namespace glean::tests::serve_test
