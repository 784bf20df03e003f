// SPDX-License-Identifier: BSD-3-Clause
#include "pool/pool.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "pool/test_pool.hpp"

namespace glean::pool {
namespace {

template <class Action>
base::Errc code_of(Action action) {
  try {
    action();
  } catch (const base::Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return base::Errc::overlap;
}

std::set<std::uint32_t> take_all(Pool& pool) {
  std::set<std::uint32_t> chunks;
  while (const auto chunk = pool.take_chunk()) {
    EXPECT_TRUE(chunks.insert(*chunk).second) << "chunk " << *chunk << " was given out twice";
  }
  return chunks;
}

// Takes chunks, marks them as its own, looks whether they stay so, and gives them back.
bool use_chunks(Pool& pool, std::uint64_t mark, int rounds, std::size_t at_once) {
  std::vector<std::uint32_t> mine;
  const auto word = [&](std::uint32_t chunk) {
    return reinterpret_cast<std::uint64_t*>(pool.at(pool.offset_of_chunk(chunk)));
  };
  for (int round = 0; round < rounds; ++round) {
    if (mine.size() < at_once) {
      if (const auto chunk = pool.take_chunk()) {
        *word(*chunk) = mark;
        mine.push_back(*chunk);
        continue;
      }
    }
    if (mine.empty()) continue;
    if (*word(mine.back()) != mark) return false;
    pool.drop_reference(mine.back());
    mine.pop_back();
  }
  for (const std::uint32_t chunk : mine) pool.drop_reference(chunk);
  return true;
}

TEST(Pool, IsTheSameForAProcessThatAttaches) {
  TestPool made(3);

  Pool attached = Pool::attach(made.pool.name());

  const auto chunk = made.pool.take_chunk();
  std::strcpy(reinterpret_cast<char*>(made.pool.at(made.pool.offset_of_chunk(*chunk))), "captured");
  EXPECT_STREQ(reinterpret_cast<char*>(attached.at(attached.offset_of_chunk(*chunk))), "captured");
  EXPECT_EQ(attached.header().ranks, 3u);
  EXPECT_EQ(attached.used_bytes(), attached.header().chunk_bytes);
}

TEST(Pool, RefusesNamesThatAreTakenMissingOrNotAPool) {
  TestPool made(1);
  const std::string other = made.pool.name() + ".other";

  EXPECT_EQ(code_of([&] { static_cast<void>(Pool::create(made.pool.name(), small_plan(), 1)); }), base::Errc::exists);
  EXPECT_EQ(code_of([&] { static_cast<void>(Pool::attach(other)); }), base::Errc::not_found);
  const int descriptor = shm_open(other.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  ASSERT_EQ(ftruncate(descriptor, 100), 0);
  EXPECT_EQ(code_of([&] { static_cast<void>(Pool::attach(other)); }), base::Errc::io);
  ASSERT_EQ(ftruncate(descriptor, 1 << 20), 0);
  EXPECT_EQ(code_of([&] { static_cast<void>(Pool::attach(other)); }), base::Errc::io);
  close(descriptor);
  shm_unlink(other.c_str());
}

TEST(Pool, RefusesAHeaderThatNoDrainCanUse) {
  TestPool made(1);
  const PoolHeader& sound = made.pool.header();
  const auto refused_with = [&](auto PoolHeader::* field, auto value) {
    auto& word = made.pool.header().*field;
    const auto before = word;
    word = value;
    const base::Errc code = code_of([&] { static_cast<void>(Pool::attach(made.pool.name())); });
    word = before;
    return code == base::Errc::io;
  };

  for (const std::uint32_t count : {0u, 1u << 31, ~0u}) {
    EXPECT_TRUE(refused_with(&PoolHeader::drain_threads, count));
    EXPECT_TRUE(refused_with(&PoolHeader::drain_depth, count));
    EXPECT_TRUE(refused_with(&PoolHeader::ranks, count));
  }
  for (const Bytes bytes : {Bytes{0}, Bytes{1}, sound.request_bytes + 1, Bytes{1} << 40}) {
    EXPECT_TRUE(refused_with(&PoolHeader::request_bytes, bytes));
  }
  EXPECT_TRUE(refused_with(&PoolHeader::journal_bytes, sound.journal_bytes - 1));
  EXPECT_NO_THROW(static_cast<void>(Pool::attach(made.pool.name())));
}

TEST(Pool, SaysThatSharedMemoryCannotHoldItInsteadOfDying) {
  struct statvfs shared_memory {};
  ASSERT_EQ(statvfs("/dev/shm", &shared_memory), 0);
  plan::NodePlan plan = small_plan();
  plan.pool_bytes = base::align_up(shared_memory.f_blocks * shared_memory.f_frsize, 4096) + base::GiB;
  plan.chunk_bytes = base::MiB;
  TestPool made(1, plan);

  EXPECT_EQ(code_of([&] { made.pool.fault_in(0, 1); }), base::Errc::no_space);
}

TEST(Pool, TooSmallForItsRanksIsRefusedAndLeavesNothingBehind) {
  plan::NodePlan plan = small_plan();
  plan.pool_bytes = 32 * base::KiB;
  const std::string name = unique_pool_name();

  EXPECT_EQ(code_of([&] { static_cast<void>(Pool::create(name, plan, 4)); }), base::Errc::invalid_config);
  EXPECT_EQ(code_of([&] { static_cast<void>(Pool::attach(name)); }), base::Errc::not_found);
}

TEST(Pool, HasMoreChunksThanRanksSoThatHalfFilledOnesNeverBlockAllRanks) {
  for (Bytes bytes = 128 * base::KiB; bytes < 512 * base::KiB; bytes += 4096) {
    plan::NodePlan plan = small_plan();
    plan.pool_bytes = bytes;
    try {
      TestPool made(6, plan);
      EXPECT_GT(made.pool.header().chunk_count, 6u);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::Errc::invalid_config);
    }
  }
}

TEST(Pool, LaysEverythingOutWithoutOverlapInsideOfItsBudget) {
  for (const int ranks : {1, 3, 8}) {
    for (const Bytes chunk_bytes : {4 * base::KiB, 64 * base::KiB}) {
      plan::NodePlan plan = small_plan();
      plan.chunk_bytes = chunk_bytes;
      plan.pool_bytes = base::MiB + 4096;
      TestPool made(ranks, plan);
      const PoolHeader& header = made.pool.header();

      EXPECT_LE(reinterpret_cast<std::byte*>(&made.pool.slot(output_slots)), made.pool.at(header.progress_offset));
      EXPECT_LE(reinterpret_cast<std::byte*>(&made.pool.rank_progress(output_slots - 1, ranks - 1) + 1),
                made.pool.at(header.journals_offset));
      for (int rank = 0; rank < ranks; ++rank) {
        const std::byte* end = made.pool.ring(rank) + made.pool.ring_bytes();
        EXPECT_LE(end, rank + 1 < ranks ? reinterpret_cast<std::byte*>(&made.pool.journal(rank + 1))
                                        : made.pool.at(header.chunk_states_offset));
        EXPECT_EQ(made.pool.ring_bytes() % record_alignment, 0u);
      }
      EXPECT_LE(header.chunk_states_offset + header.chunk_count * sizeof(ChunkState), header.chunks_offset);
      EXPECT_EQ(header.chunks_offset % 4096, 0u);
      EXPECT_LE(made.pool.offset_of_chunk(header.chunk_count), plan.pool_bytes);
      EXPECT_GT(made.pool.offset_of_chunk(header.chunk_count) + 2 * chunk_bytes, plan.pool_bytes) << "room is wasted";
    }
  }
}

TEST(Pool, HasMoreChunksThanRanksInTheSmallestBudgetThatAPlanTakes) {
  topology::Node node;
  node.page_bytes = 4096;
  node.memory_available_bytes = node.shared_memory_available_bytes = base::GiB;
  for (const int ranks : {1, 2, 3, 8, 40, 200}) {
    base::Settings settings;
    std::optional<plan::NodePlan> plan;
    while (!plan) {
      settings.pool.budget_bytes += 4096;
      try {
        plan = plan::plan_node(node, {.ranks_on_node = ranks}, settings);
      } catch (const base::Error& error) {
        ASSERT_EQ(error.code(), base::Errc::invalid_config) << error.what();
      }
    }
    const TestPool made(ranks, *plan);
    EXPECT_GT(made.pool.header().chunk_count, static_cast<std::uint32_t>(ranks)) << settings.pool.budget_bytes;
  }
}

TEST(Pool, KnowsWhatMayBeAPayload) {
  TestPool made(1);
  const PoolHeader& header = made.pool.header();
  const Bytes first = header.chunks_offset, end = made.pool.offset_of_chunk(header.chunk_count);

  EXPECT_TRUE(made.pool.is_payload(first, header.chunk_bytes));
  EXPECT_TRUE(made.pool.is_payload(end - 1, 1));
  EXPECT_FALSE(made.pool.is_payload(first - 1, 1));
  EXPECT_FALSE(made.pool.is_payload(end, 0));
  EXPECT_FALSE(made.pool.is_payload(end - 1, 2));
  EXPECT_FALSE(made.pool.is_payload(first + 1, header.chunk_bytes));
  EXPECT_FALSE(made.pool.is_payload(first, ~0ull));
  EXPECT_FALSE(made.pool.is_payload(~0ull, 1));
}

TEST(Pool, FaultsInEveryPartAndGivesEveryChunkOutOnce) {
  TestPool made(2);
  for (int part = 0; part < 3; ++part) made.pool.fault_in(part, 3);
  made.pool.map_all();

  const auto chunks = take_all(made.pool);

  EXPECT_EQ(chunks.size(), made.pool.header().chunk_count);
  for (const std::uint32_t chunk : chunks) {
    std::memset(made.pool.at(made.pool.offset_of_chunk(chunk)), 1, made.pool.header().chunk_bytes);
  }
}

TEST(Pool, FreesAChunkWithItsLastReferenceAndRemembersTheHighWaterMark) {
  TestPool made(1);
  const auto a = *made.pool.take_chunk(), b = *made.pool.take_chunk();
  made.pool.add_reference(a);

  made.pool.drop_reference(a);
  EXPECT_EQ(made.pool.used_bytes(), 2 * made.pool.header().chunk_bytes);
  made.pool.drop_reference(a);
  made.pool.drop_reference(b);

  EXPECT_EQ(made.pool.used_bytes(), 0u);
  EXPECT_EQ(made.pool.high_water_bytes(), made.pool.header().chunks_offset + 2 * made.pool.header().chunk_bytes);
}

TEST(Pool, GivesNoChunkToTwoThreads) {
  TestPool made(1);
  const std::uint32_t count = made.pool.header().chunk_count;
  std::vector<std::thread> threads;
  std::atomic<int> spoiled = 0;
  for (std::uint64_t mark = 1; mark <= 4; ++mark) {
    threads.emplace_back([&, mark] { spoiled += use_chunks(made.pool, mark, 20000, count / 3) ? 0 : 1; });
  }
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(spoiled, 0);
  EXPECT_EQ(made.pool.used_bytes(), 0u);
  EXPECT_LE(made.pool.header().high_water_chunks, count);
  EXPECT_EQ(take_all(made.pool).size(), count);
}

TEST(Pool, GivesNoChunkToTwoProcesses) {
  TestPool made(1);
  const std::uint32_t count = made.pool.header().chunk_count;
  std::vector<pid_t> children;
  for (std::uint64_t mark = 1; mark <= 3; ++mark) {
    const pid_t child = fork();
    if (child == 0) {
      Pool pool = Pool::attach(made.pool.name());
      _exit(use_chunks(pool, mark, 20000, count / 2) ? 0 : 1);
    }
    children.push_back(child);
  }

  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(made.pool.used_bytes(), 0u);
  EXPECT_EQ(take_all(made.pool).size(), count);
}

TEST(Pool, LosesNoMoreThanTheLastChunkOfAKilledProcess) {
  for (int round = 0; round < 10; ++round) {
    TestPool made(1);
    const std::uint32_t count = made.pool.header().chunk_count;
    const pid_t child = fork();
    if (child == 0) {
      for (;;) use_chunks(made.pool, 1, 1000, 1);
    }
    usleep(static_cast<useconds_t>(500 + 317 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);

    EXPECT_GE(take_all(made.pool).size(), count - 1);
  }
}

TEST(Fail, KeepsTheFirstFailureOfAnOutputAndCutsLongTexts) {
  TestPool made(1);
  OutputSlot& slot = made.pool.slot(0);

  fail(slot, 3, std::string(5000, 'x'), "first hint");
  fail(slot, 4, "second", "second hint");

  EXPECT_EQ(slot.error, 4u);
  EXPECT_EQ(std::string(slot.message.data()), std::string(slot.message.size() - 1, 'x'));
  EXPECT_STREQ(slot.hint.data(), "first hint");
}

}  // namespace
}  // namespace glean::pool
