// SPDX-License-Identifier: BSD-3-Clause
#include "pool/published.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/clock.hpp"
#include "pool/futex.hpp"
#include "pool/test_pool.hpp"

namespace glean::pool {
namespace {

void ignore(void*, int) {}

OutputKey open_output(TestPool& made, std::string_view path) {
  const OutputKey key = made.claim_slot();
  mark_path(made.pool.slot(key.slot), path);
  return key;
}

void close(TestPool& made, const OutputKey& key, int rank, std::uint32_t flags = rank_closed) {
  made.pool.rank_progress(key.slot, rank).store(flags, std::memory_order_release);
}

void end(Pool& pool, const OutputKey& key, OutputState state) {
  pool.slot(key.slot).state.store(state, std::memory_order_release);
  futex_signal(pool.header().progress);
}

OutputSet only(const OutputKey& key) { return OutputSet{1} << key.slot; }

TEST(Draining, IsWhatAllRanksHaveClosed) {
  TestPool made(2);
  Draining draining(made.pool, no_rank);

  EXPECT_EQ(draining.outputs().closed, 0u);
  const OutputKey key = open_output(made, "/a/file");
  EXPECT_EQ(draining.outputs().closed, 0u);
  close(made, key, 1);
  EXPECT_EQ(draining.outputs().closed, 0u);
  close(made, key, 0);
  EXPECT_EQ(draining.outputs().closed, only(key));
  end(made.pool, key, OutputState::published);
  EXPECT_EQ(draining.outputs().closed, 0u);
}

TEST(Draining, IsWhatTheRankThatLooksHasClosed) {
  TestPool made(2);
  const OutputKey key = open_output(made, "/a/file");
  close(made, key, 1);

  EXPECT_EQ(Draining(made.pool, 0).outputs().closed, 0u);
  EXPECT_EQ(Draining(made.pool, 1).outputs().closed, only(key));
}

TEST(Draining, IsNotWhatTheRankThatLooksNeverOpened) {
  TestPool made(2);
  const OutputKey key = open_output(made, "/a/file");
  close(made, key, 1, rank_closed | rank_absent);

  EXPECT_EQ(Draining(made.pool, 1).outputs().closed, 0u);
  close(made, key, 0);
  EXPECT_EQ(Draining(made.pool, 1).outputs().closed, only(key));
}

TEST(Draining, SeesWhatIsOpenedAfterNothingWasOpen) {
  TestPool made(1);
  Draining draining(made.pool, 0);
  const OutputKey first = open_output(made, "/a/file");
  close(made, first, 0);
  end(made.pool, first, OutputState::published);
  EXPECT_EQ(draining.outputs().closed, 0u);

  const OutputKey second = open_output(made, "/a/file");
  close(made, second, 0);

  EXPECT_EQ(draining.outputs().closed, only(second));
}

TEST(Draining, KnowsFilesAndTheirDirectories) {
  TestPool made(1);
  const OutputKey one = open_output(made, "/a/one"), two = open_output(made, "/a/two"), top = open_output(made, "/top");
  const OutputSet all = only(one) | only(two) | only(top);
  const Draining draining(made.pool, 0);

  for (const auto names : {Draining::Names::files, Draining::Names::directories_too}) {
    EXPECT_EQ(draining.of(all, path_mark("/a/one"), names), only(one));
    EXPECT_EQ(draining.of(only(two), path_mark("/a/one"), names), 0u);
    EXPECT_EQ(draining.of(all, path_mark("/a/o"), names), 0u);
  }
  EXPECT_EQ(draining.of(all, path_mark("/a"), Draining::Names::directories_too), only(one) | only(two));
  EXPECT_EQ(draining.of(all, path_mark("/"), Draining::Names::directories_too), only(top));
  EXPECT_EQ(draining.of(all, path_mark("/a"), Draining::Names::files), 0u);
}

TEST(Draining, WaitsForTheEndOfAnOutput) {
  for (const OutputState state : {OutputState::published, OutputState::failed, OutputState::abandoned}) {
    TestPool made(1);
    const OutputKey key = open_output(made, "/a/file");
    close(made, key, 0);
    std::jthread drain([&] {
      usleep(20'000);
      end(made.pool, key, state);
    });

    EXPECT_TRUE(Draining(made.pool, 0).wait_for(only(key), 20, ignore, nullptr));
    EXPECT_EQ(made.pool.slot(key.slot).state, state);
  }
}

TEST(Draining, DoesNotWaitForTheNextOutputInTheSamePlace) {
  TestPool made(1);
  const OutputKey key = open_output(made, "/a/file");
  close(made, key, 0);
  std::jthread others([&] {
    usleep(20'000);
    end(made.pool, key, OutputState::free);
    static_cast<void>(made.pool.open_slot(key.slot));
  });

  EXPECT_TRUE(Draining(made.pool, 0).wait_for(only(key), 20, ignore, nullptr));
}

// One was closed when it was looked for, and has ended since.
TEST(Draining, DoesNotWaitForAnOpenOneThatHasTakenThePlace) {
  TestPool made(2);
  const OutputKey before = open_output(made, "/a/file");
  close(made, before, 0);
  close(made, before, 1);
  Draining draining(made.pool, 0);
  const OutputSet outputs = draining.outputs().closed;
  end(made.pool, before, OutputState::free);
  ASSERT_TRUE(made.pool.open_slot(before.slot));

  EXPECT_TRUE(draining.wait_for(outputs, 0.05, ignore, nullptr));
}

TEST(Name, IsKeptByOneAtATime) {
  TestPool made(2);
  const OutputKey key = open_output(made, "/a/file");

  EXPECT_TRUE(keep_name(made.pool, key, 1));
  EXPECT_FALSE(keep_name(made.pool, key, 0));
  release_name(made.pool, key);
  EXPECT_TRUE(keep_name(made.pool, key, 0));
}

TEST(Name, OfTheNextOutputInTheSamePlaceIsLeftAlone) {
  TestPool made(2);
  const OutputKey key = open_output(made, "/a/file");
  end(made.pool, key, OutputState::free);
  EXPECT_FALSE(keep_name(made.pool, key, 0)) << "it is published";
  const auto next = made.pool.open_slot(key.slot);
  ASSERT_TRUE(next);

  EXPECT_FALSE(keep_name(made.pool, key, 0));
  EXPECT_EQ(made.pool.slot(key.slot).name_lock, 0u) << "no process would ever give it back";
  ASSERT_TRUE(keep_name(made.pool, *next, 1));
  release_name(made.pool, key);
  EXPECT_NE(made.pool.slot(key.slot).name_lock, 0u) << "another output's";
}

TEST(Draining, GivesUpWhenNothingIsWritten) {
  TestPool made(1);
  const OutputKey key = open_output(made, "/a/file");
  close(made, key, 0);

  EXPECT_FALSE(Draining(made.pool, 0).wait_for(only(key), 0.05, ignore, nullptr));
}

TEST(Draining, SaysHowLongItHasWaited) {
  TestPool made(1);
  const OutputKey key = open_output(made, "/a/file");
  close(made, key, 0);
  struct Told {
    TestPool& made;
    OutputKey key;
    int seconds = 0;
  } told{made, key};

  const auto waiting = [](void* context, int seconds) {
    auto& heard = *static_cast<Told*>(context);
    heard.seconds = seconds;
    end(heard.made.pool, heard.key, OutputState::published);
  };
  EXPECT_TRUE(Draining(made.pool, 0).wait_for(only(key), 20, waiting, &told));
  EXPECT_GE(told.seconds, 1);
}

TEST(Draining, IsSeenByAnotherProcess) {
  TestPool made(2);
  const OutputKey key = open_output(made, "/a/file");
  close(made, key, 0);
  close(made, key, 1);

  const pid_t child = fork();
  if (child == 0) {
    const Pool pool = Pool::attach(made.pool.name(), Pool::Access::look);
    Draining draining(pool, no_rank);
    const OutputSet outputs = draining.of(draining.outputs().closed, path_mark("/a/file"), Draining::Names::files);
    const bool waited = draining.wait_for(outputs, 20, ignore, nullptr);
    _exit(outputs == only(key) && waited && pool.slot(key.slot).state == OutputState::published ? 0 : 1);
  }
  usleep(20'000);
  end(made.pool, key, OutputState::published);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Draining, AnotherProcessWaitsUntilAFileIsOpened) {
  TestPool made(2);
  const OutputKey key = open_output(made, "/a/file");
  OutputSlot& slot = made.pool.slot(key.slot);

  const pid_t child = fork();
  if (child == 0) {
    const Pool pool = Pool::attach(made.pool.name(), Pool::Access::look);
    Draining(pool, no_rank).wait_until_opened(only(key), 20);
    _exit(pool.slot(key.slot).working_inode == 7 ? 0 : 1);
  }
  usleep(20'000);
  slot.working_inode = 7;
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Draining, WaitsForNoFileThatIsOpenedNeverOrNotInTime) {
  TestPool made(2);
  const OutputKey key = open_output(made, "/a/file");
  Draining draining(made.pool, 0);
  const std::uint64_t begin = base::now_ns();

  draining.wait_until_opened(only(key), 0.05);
  EXPECT_GE(base::seconds(base::now_ns() - begin), 0.05);

  fail(made.pool.slot(key.slot), 1, "it cannot be opened", "");
  draining.wait_until_opened(only(key), 1e9);
}

}  // namespace
}  // namespace glean::pool
