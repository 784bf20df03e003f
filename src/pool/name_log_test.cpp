// SPDX-License-Identifier: BSD-3-Clause
#include "pool/name_log.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "pool/published.hpp"
#include "pool/test_pool.hpp"

namespace glean::pool {
namespace {

std::string log_of(const Pool& pool) { return "/dev/shm/glean-names" + pool.name().substr(std::strlen("/glean")); }

NameChange renamed(OutputKey output, const std::string& path) {
  NameChange change{.kind = NameChange::Kind::renamed, .state = NameChange::State::waiting, .output = output};
  path.copy(change.path.data(), change.path.size() - 1);
  return change;
}

TEST(NameLog, IsMadeWhenItIsFirstWrittenAndGoesWithThePool) {
  TestPool made(1);
  { EXPECT_FALSE(NameLog(made.pool.name(), NameLog::Make::no).is_there()); }
  {
    NameLog log(made.pool.name(), NameLog::Make::yes);
    ASSERT_TRUE(log.is_there());
    EXPECT_EQ(log.count(), 0U);
    EXPECT_TRUE(log.write(log.count(), renamed({3, 7}, "/a/b")));
    EXPECT_EQ(log.count(), 1U);
  }
  {
    const NameLog log(made.pool.name(), NameLog::Make::no);
    NameChange change;
    ASSERT_TRUE(log.read(0, change));
    EXPECT_EQ(change.output, (OutputKey{3, 7}));
    EXPECT_STREQ(change.path.data(), "/a/b");
    EXPECT_FALSE(log.read(1, change));
  }
  EXPECT_TRUE(std::filesystem::exists(log_of(made.pool)));
  made.pool.remove();
  EXPECT_FALSE(std::filesystem::exists(log_of(made.pool)));
}

TEST(NameLog, NumbersGrowAlsoWhenItBeginsAnew) {
  TestPool made(1);
  {
    NameLog log(made.pool.name(), NameLog::Make::yes);
    EXPECT_EQ(log.next_number(), 1U);
    EXPECT_EQ(log.next_number(), 2U);
    EXPECT_TRUE(log.write(0, {}));
    log.clear();
    EXPECT_EQ(log.count(), 0U);
  }
  NameLog log(made.pool.name(), NameLog::Make::yes);
  EXPECT_EQ(log.count(), 0U);
  EXPECT_EQ(log.next_number(), 3U);
}

TEST(NameLog, AThreadThatHasItDoesNotWaitForItself) {
  TestPool made(1);
  const NameLog log(made.pool.name(), NameLog::Make::yes);
  EXPECT_FALSE(NameLog(made.pool.name(), NameLog::Make::yes).is_there());   // as in a signal handler
}

TEST(NameLog, OneThreadAtATimeHasIt) {
  TestPool made(1);
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint32_t i = 0; i < 50; ++i) {
        NameLog log(made.pool.name(), NameLog::Make::yes);
        ASSERT_TRUE(log.write(log.count(), renamed({thread, i}, "/a")));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(NameLog(made.pool.name(), NameLog::Make::no).count(), 200U);
}

TEST(NameLog, TellsTheNewestNameOfAnOutput) {
  TestPool made(1);
  const OutputKey key = made.claim_slot();
  {
    NameLog log(made.pool.name(), NameLog::Make::yes);
    ASSERT_TRUE(log.write(0, renamed(key, "/first")));
    ASSERT_TRUE(log.write(1, renamed({key.slot, key.generation + 1}, "/of another")));
    ASSERT_TRUE(log.write(2, renamed(key, "/second")));
  }
  EXPECT_FALSE(new_name_of(made.pool, key));   // its slot does not say so
  made.pool.slot(key.slot).is_renamed = 1;
  const auto name = new_name_of(made.pool, key);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->final_path, "/second");
  EXPECT_FALSE(name->is_removed);
}

TEST(HiddenNames, TellTheNameAndTheJob) {
  std::array<char, 4096> hidden{};
  ASSERT_TRUE(hidden_path("/scratch/my run/chk-1.nc", "0.12.345.node-7", 9, hidden));
  EXPECT_STREQ(hidden.data(), "/scratch/my run/.chk-1.nc.glean-0.12.345.node-7-9.removed");
  const auto parsed = parse_hidden(".chk-1.nc.glean-0.12.345.node-7-9.removed");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->name, "chk-1.nc");
  EXPECT_EQ(parsed->job, "0.12.345.node-7");
}

TEST(HiddenNames, AreNoLongerThanNamesMayBe) {
  std::array<char, 4096> hidden{};
  EXPECT_FALSE(hidden_path("/d/" + std::string(250, 'x'), "0.1.2.host", 1, hidden));
}

TEST(HiddenNames, AreNotTakenForOthers) {
  for (const char* name : {"chk.removed", ".chk.removed", ".chk.glean-1.part", ".glean-1.2.3.h-1.removed", ".chk.glean-12.removed", ""}) {
    EXPECT_FALSE(parse_hidden(name)) << name;
  }
}

TEST(ClosedBefore, AreOutputsThatAreClosedAndNotDurable) {
  TestPool made(2);
  const OutputKey closed = made.claim_slot(), open = made.claim_slot(), by_rank_0 = made.claim_slot();
  for (int rank = 0; rank < 2; ++rank) made.pool.rank_progress(closed.slot, rank) = 1 | rank_closed;
  made.pool.rank_progress(by_rank_0.slot, 0) = 1 | rank_closed;

  const Draining rank_0(made.pool, 0), another(made.pool, no_rank);
  EXPECT_EQ(rank_0.closed_before(1).fence[closed.slot], closed.generation);
  EXPECT_EQ(rank_0.closed_before(1).fence[by_rank_0.slot], by_rank_0.generation);
  EXPECT_EQ(rank_0.closed_before(1).fence[open.slot], 0U);
  EXPECT_EQ(another.closed_before(1).fence[by_rank_0.slot], 0U);

  made.pool.slot(closed.slot).working_device = 2;   // on another file system
  EXPECT_EQ(another.closed_before(1).fence[closed.slot], 0U);
  EXPECT_FALSE(another.closed_before(2).is_empty());
  made.pool.slot(closed.slot).state = OutputState::published;
  EXPECT_TRUE(another.closed_before(2).is_empty());
}

TEST(ClosedBefore, WhatARankHasGivenUpDoesNotCount) {
  TestPool made(2);
  const OutputKey key = made.claim_slot();
  for (int rank = 0; rank < 2; ++rank) made.pool.rank_progress(key.slot, rank) = 1 | rank_closed | rank_abandoned;
  fail(made.pool.slot(key.slot), 0, "it could not be opened on another node", "");
  EXPECT_TRUE(Draining(made.pool, 0).closed_before(1).is_empty());
}

TEST(ClosedBefore, FailuresCountUntilTheProgramIsTold) {
  TestPool made(1);
  const OutputKey key = made.claim_slot();
  made.pool.rank_progress(key.slot, 0) = 1 | rank_closed;
  fail(made.pool.slot(key.slot), 0, "the disk is full", "");
  const Draining draining(made.pool, 0);
  EXPECT_TRUE(draining.closed_before(1).has_failed);
  made.pool.slot(key.slot).told = 1;
  EXPECT_TRUE(draining.closed_before(1).is_empty());
}

TEST(WrittenFiles, AreKnown) {
  TestPool made(1);
  note_written_file(made.pool, 3, 4);
  EXPECT_TRUE(may_be_written_here(made.pool, 3, 4));
  EXPECT_FALSE(may_be_written_here(made.pool, 3, 5));
}

}  // namespace
}  // namespace glean::pool
