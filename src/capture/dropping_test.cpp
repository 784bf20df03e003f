// SPDX-License-Identifier: BSD-3-Clause
#include "capture/dropping.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "pool/test_pool.hpp"

namespace glean::capture {
namespace {

using base::Bytes;

const pool::WaitDiagnosis no_diagnosis = [] { return std::string("not known"); };

bool keep(pool::TestPool& made, const StepToBegin& step, int rank = 0, double seconds = 20) {
  return keep_step(made.pool, rank, step, seconds, no_diagnosis);
}

// Takes chunks until `left` are free.
std::vector<std::uint32_t> take_all_but(pool::Pool& pool, std::uint32_t left) {
  std::vector<std::uint32_t> taken;
  while (pool.header().used_chunks + left < pool.header().chunk_count) taken.push_back(*pool.take_chunk());
  return taken;
}

TEST(KeepStep, KeepsWhatFindsRoomAndDropsWhatDoesNot) {
  pool::TestPool made(2);
  const pool::OutputKey output = made.claim_slot();
  const Bytes chunk = made.pool.header().chunk_bytes;
  const auto taken = take_all_but(made.pool, 3);

  EXPECT_TRUE(keep(made, {output, 0, 3 * chunk}));
  EXPECT_FALSE(keep(made, {output, 1, 3 * chunk + 1}));
  EXPECT_EQ(made.pool.slot(output.slot).steps.dropped, 1u);
  EXPECT_TRUE(keep(made, {output, 2, 3 * chunk + 1, false})) << "this one must not be dropped";
  for (const auto each : taken) made.pool.drop_reference(each);
  EXPECT_TRUE(keep(made, {output, 3, 3 * chunk + 1}));
}

TEST(KeepStep, AStepThatIsLargerThanThePoolIsKeptWhenHalfOfItIsFree) {
  pool::TestPool made(1);
  const pool::OutputKey output = made.claim_slot();
  const auto taken = take_all_but(made.pool, made.pool.header().chunk_count / 2);

  EXPECT_TRUE(keep(made, {output, 0, 100 * made.pool.header().pool_bytes}));
  static_cast<void>(take_all_but(made.pool, made.pool.header().chunk_count / 2 - 2));
  EXPECT_FALSE(keep(made, {output, 1, 100 * made.pool.header().pool_bytes}));
}

TEST(KeepStep, DropsDuringADeadlineBoost) {
  pool::TestPool made(1);
  const pool::OutputKey output = made.claim_slot();
  made.pool.header().deadline_boost = 1;

  EXPECT_FALSE(keep(made, {output, 0, 8}));
  made.pool.header().deadline_boost = 0;
  EXPECT_TRUE(keep(made, {output, 1, 8}));
}

TEST(KeepStep, AllRanksDoTheSameWhateverTheyFind) {
  constexpr int ranks = 4;
  constexpr std::uint64_t steps = 500;
  pool::TestPool made(ranks);
  const pool::OutputKey output = made.claim_slot();
  std::vector<std::vector<bool>> kept(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      std::mt19937 random(static_cast<unsigned>(rank));
      std::vector<std::uint32_t> taken;
      for (std::uint64_t step = 0; step < steps; ++step) {
        if (random() % 3 == 0) {
          for (int i = 0; i < 30; ++i) {
            if (const auto chunk = made.pool.take_chunk()) taken.push_back(*chunk);
          }
        } else if (random() % 2 == 0) {
          for (const auto chunk : taken) made.pool.drop_reference(chunk);
          taken.clear();
        }
        kept[static_cast<std::size_t>(rank)].push_back(keep(made, {output, step, base::MiB}, rank));
      }
      for (const auto chunk : taken) made.pool.drop_reference(chunk);
    });
  }
  for (auto& thread : threads) thread.join();

  const auto dropped = static_cast<std::uint64_t>(std::count(kept[0].begin(), kept[0].end(), false));
  for (const auto& of_rank : kept) EXPECT_EQ(of_rank, kept[0]);
  EXPECT_EQ(made.pool.slot(output.slot).steps.dropped, dropped);
  EXPECT_GT(dropped, 0u);
  EXPECT_LT(dropped, steps);
}

TEST(KeepStep, WaitsForARankThatIsFarBehindAndNamesIt) {
  pool::TestPool made(3);
  for (const int rank : {0, 1, 2}) made.pool.journal(rank).job_rank = static_cast<std::uint32_t>(10 + rank);
  const pool::OutputKey output = made.claim_slot();
  for (std::uint64_t step = 0; step < 64; ++step) EXPECT_TRUE(keep(made, {output, step, 8}));
  EXPECT_TRUE(keep(made, {output, 0, 8}, 2));

  try {
    static_cast<void>(keep(made, {output, 64, 8}, 0, 0.05));
    FAIL() << "a rank does not know step 0 yet";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::timeout);
    const std::string what = error.what();
    EXPECT_NE(what.find("rank 11 has not begun step 0, rank 10 waits with step 64"), std::string::npos) << what;
  }
  std::thread other([&] { EXPECT_TRUE(keep(made, {output, 0, 8}, 1)); });
  EXPECT_TRUE(keep(made, {output, 64, 8}));
  other.join();
}

TEST(KeepStep, DoesNotWaitForTheRanksOfALostOutput) {
  pool::TestPool made(2);
  const pool::OutputKey output = made.claim_slot();
  for (std::uint64_t step = 0; step < 64; ++step) EXPECT_TRUE(keep(made, {output, step, 8}));
  fail(made.pool.slot(output.slot), 0, "lost", "");

  EXPECT_TRUE(keep(made, {output, 64, 8}, 0, 0.05));
  EXPECT_TRUE(keep(made, {output, 0, 8}, 1, 0.05));
}

}  // namespace
}  // namespace glean::capture
