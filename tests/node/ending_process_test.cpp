// SPDX-License-Identifier: BSD-3-Clause
//
// Recovery of a pool whose process was killed and is not gone yet: a debugger holds it at its end, where it has its claims still.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "pool/test_pool.hpp"
#include "service/process_life.hpp"
#include "service/recover_pools.hpp"

namespace glean::tests::ending_process_test {
namespace {

using service::ProcessLife;

class EndingProcess : public testing::Test {
 protected:
  EndingProcess() {
    pool::TestPool made(2, pool::roomy_plan());
    name_ = made.pool.name();
    const pool::Pool unmapped = std::move(made.pool);   // which keeps the name
  }
  ~EndingProcess() override {
    end();
    shm_unlink(name_.c_str());
  }

  // A process that captures in the pool, or drains it, and that this one debugs. False: that is not allowed here.
  bool start() {
    process_ = fork();
    if (process_ == 0) {
      pool::Pool pool = pool::Pool::attach(name_);
      if (!pool.claim_rank(1) || !pool.claim_drain() || ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
      raise(SIGSTOP);
      for (;;) pause();
    }
    int status = 0;
    if (waitpid(process_, &status, 0) != process_ || !WIFSTOPPED(status)) return false;
    return ptrace(PTRACE_SETOPTIONS, process_, nullptr, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL) == 0 &&
           ptrace(PTRACE_CONT, process_, nullptr, nullptr) == 0;
  }
  void kill_and_hold() const {
    kill(process_, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(process_, &status, 0), process_);
    ASSERT_EQ(status >> 8, SIGTRAP | (PTRACE_EVENT_EXIT << 8));
  }
  void end() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    ptrace(PTRACE_CONT, process_, nullptr, nullptr);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  std::string name_;
  pid_t process_ = 0;
  store::SystemCalls calls_;
};

TEST_F(EndingProcess, IsToldFromOneThatGoesOnAndFromOneThatIsGone) {
  if (!start()) GTEST_SKIP() << "no process may be debugged here";

  EXPECT_EQ(service::life_of(process_), ProcessLife::going_on);
  EXPECT_FALSE(service::look_at(name_).is_ending);
  kill_and_hold();
  EXPECT_EQ(service::life_of(process_), ProcessLife::ending);
  const service::Remains remains = service::look_at(name_);
  EXPECT_EQ(remains.in_use_by, process_);
  EXPECT_TRUE(remains.is_ending);
  EXPECT_FALSE(remains.ranks_live);
  const pid_t gone = process_;
  end();
  EXPECT_EQ(service::life_of(gone), ProcessLife::gone);
}

TEST_F(EndingProcess, IsAwaitedByRecoveryWhichSaysSo) {
  if (!start()) GTEST_SKIP() << "no process may be debugged here";
  kill_and_hold();
  const std::string process = std::to_string(process_);
  std::vector<std::string> said;
  const auto alone = service::no_companions();
  service::RecoverRequest request;
  request.pools = {name_};

  const auto results = service::recover_pools(request, *alone, calls_, [&](const std::string& text) {
    said.push_back(text);
    end();
  });

  EXPECT_EQ(said, std::vector<std::string>{"process " + process + " was killed and is not gone yet: waiting for " + name_.substr(1)});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results.front().state, "recovered");
  EXPECT_FALSE(pool::exists(name_));
}

TEST_F(EndingProcess, IsAwaitedByTheNextSession) {
  if (!start()) GTEST_SKIP() << "no process may be debugged here";
  kill_and_hold();
  int ended = 0;

  EXPECT_FALSE(service::wait_while_it_ends(name_, 0.05, [](int) {})) << "it is not gone";
  EXPECT_TRUE(service::wait_while_it_ends(name_, 60, [&](int process) {
    ended = process;
    end();
  }));

  EXPECT_NE(ended, 0);
  EXPECT_TRUE(service::remove_if_finished(name_));
}

}  // namespace
}  // namespace glean::tests::ending_process_test
