// SPDX-License-Identifier: BSD-3-Clause
//
// Recovery of a pool whose process was killed and is not gone yet: it has its claims still.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "held_process.hpp"
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
  ~EndingProcess() override { shm_unlink(name_.c_str()); }

  // A process that captures in the pool, or drains it.
  [[nodiscard]] bool start() {
    return process_.start([this] {
      static std::optional<pool::Pool> pool;   // until it ends
      pool.emplace(pool::Pool::attach(name_));
      return pool->claim_rank(1) && pool->claim_drain();
    });
  }

  std::string name_;
  HeldProcess process_;
  store::SystemCalls calls_;
};

TEST_F(EndingProcess, IsToldFromOneThatGoesOnAndFromOneThatIsGone) {
  if (!start()) GTEST_SKIP() << "no process may be debugged here";

  EXPECT_EQ(service::life_of(process_.id()), ProcessLife::going_on);
  EXPECT_FALSE(service::look_at(name_).is_ending);
  process_.kill_and_hold();
  EXPECT_EQ(service::life_of(process_.id()), ProcessLife::ending);
  const service::Remains remains = service::look_at(name_);
  EXPECT_EQ(remains.in_use_by, process_.id());
  EXPECT_TRUE(remains.is_ending);
  EXPECT_FALSE(remains.ranks_live);
  const pid_t gone = process_.id();
  process_.end();
  EXPECT_EQ(service::life_of(gone), ProcessLife::gone);
}

TEST_F(EndingProcess, IsAwaitedByRecoveryWhichSaysSo) {
  if (!start()) GTEST_SKIP() << "no process may be debugged here";
  process_.kill_and_hold();
  const std::string process = std::to_string(process_.id());
  std::vector<std::string> said;
  const auto alone = service::no_companions();
  service::RecoverRequest request;
  request.pools = {name_};

  const auto results = service::recover_pools(request, *alone, calls_, [&](const std::string& text) {
    said.push_back(text);
    process_.end();
  });

  EXPECT_EQ(said, std::vector<std::string>{"process " + process + " was killed and is not gone yet: waiting for " + name_.substr(1)});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results.front().state, "recovered");
  EXPECT_FALSE(pool::exists(name_));
}

TEST_F(EndingProcess, IsAwaitedByTheNextSession) {
  if (!start()) GTEST_SKIP() << "no process may be debugged here";
  process_.kill_and_hold();
  int ended = 0;

  EXPECT_FALSE(service::wait_while_it_ends(name_, 0.05, [](int) {})) << "it is not gone";
  EXPECT_TRUE(service::wait_while_it_ends(name_, 60, [&](int process) {
    ended = process;
    process_.end();
  }));

  EXPECT_NE(ended, 0);
  EXPECT_TRUE(service::remove_if_finished(name_));
}

}  // namespace
}  // namespace glean::tests::ending_process_test
