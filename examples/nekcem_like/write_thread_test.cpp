// SPDX-License-Identifier: BSD-3-Clause
#include "write_thread.hpp"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <vector>

namespace nekcem {
namespace {

TEST(WriteThread, DoesAllJobsInTheirOrder) {
  std::vector<int> done;
  WriteThread thread;

  for (int i = 0; i < 20; ++i) thread.hand_over([&done, i] { done.push_back(i); });
  thread.finish();

  ASSERT_EQ(done.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(WriteThread, TakesOneJobWhileAnotherIsDone) {
  std::promise<void> may_end;
  auto allowed = may_end.get_future().share();
  int done = 0;
  WriteThread thread;

  thread.hand_over([allowed] { allowed.wait(); });
  thread.hand_over([&done] { ++done; });   // returns although the first job cannot end
  EXPECT_EQ(done, 0);
  may_end.set_value();
  thread.finish();

  EXPECT_EQ(done, 1);
}

TEST(WriteThread, PassesOnWhatAJobThrows) {
  WriteThread thread;

  thread.hand_over([] { throw std::runtime_error("no space"); });

  EXPECT_THROW(thread.finish(), std::runtime_error);
  EXPECT_NO_THROW(thread.finish());   // once
}

TEST(WriteThread, EndsItsJobsBeforeItIsDestroyed) {
  int done = 0;
  {
    WriteThread thread;
    for (int i = 0; i < 3; ++i) thread.hand_over([&done] { ++done; });
  }
  EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace nekcem
