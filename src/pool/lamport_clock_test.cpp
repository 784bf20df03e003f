// SPDX-License-Identifier: BSD-3-Clause
#include "pool/lamport_clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "pool/journal.hpp"
#include "pool/test_pool.hpp"

namespace glean::pool {
namespace {

class LamportClock : public testing::Test {
 protected:
  LamportClock() : made_(1, small_plan(), NodeShare{"lamport_clock", 2, 0}) { slot().is_bytes = 1; }

  [[nodiscard]] OutputSlot& slot() { return made_.pool.slot(key_.slot); }
  [[nodiscard]] WriteStamp write() { return recorder_.take_number(key_, 1); }

  TestPool made_;
  OutputKey key_ = made_.claim_slot();
  Recorder recorder_{made_.pool, 0, 30, [] { return "a rank"; }};
};

TEST_F(LamportClock, OneIsNewOnlyIfSomethingWasWrittenInTheLast) {
  EXPECT_EQ(proposed_tick(made_.pool), 0U);
  EXPECT_EQ(write().order, 0U);
  EXPECT_EQ(proposed_tick(made_.pool), 1U);
  raise_tick(made_.pool, 1);
  EXPECT_EQ(proposed_tick(made_.pool), 1U);
  const WriteStamp next = write();
  EXPECT_EQ(next.order, 1U);
  EXPECT_EQ(next.number, 1U);
}

TEST_F(LamportClock, AnEarlierOneChangesNothing) {
  raise_tick(made_.pool, 7);
  raise_tick(made_.pool, 3);
  EXPECT_EQ(made_.pool.header().lamport_tick, 7U);
  EXPECT_EQ(write().order, 7U);
}

// Slots are raised one after the other: a rank that writes meanwhile is in no earlier tick than the node.
TEST_F(LamportClock, AWriteIsInThatOfItsNode) {
  made_.pool.header().lamport_tick = 5;
  EXPECT_EQ(write().order, 5U);
}

// What is written before it is proposed is in an earlier one than what all that synchronize write afterwards, whichever rank raises it
// meanwhile.
TEST_F(LamportClock, AProposalIsLaterThanWhatWasWritten) {
  std::atomic<bool> ends{false};
  std::thread other([&] {
    while (!ends) raise_tick(made_.pool, made_.pool.header().lamport_tick.load() + 1);
  });
  std::uint64_t wrong = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t written = write().order;
    if (proposed_tick(made_.pool) <= written) ++wrong;
  }
  ends = true;
  other.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace glean::pool
