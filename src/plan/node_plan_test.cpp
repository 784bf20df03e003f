// SPDX-License-Identifier: BSD-3-Clause
#include "plan/node_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"

namespace glean::plan {
namespace {

using base::GiB;
using base::KiB;
using base::MiB;

topology::Node node_with(Bytes memory, Bytes shared_memory) {
  topology::Node node;
  node.host_name = "n1";
  node.cores = {0, 1};
  node.memory_bytes = 2 * memory;
  node.memory_available_bytes = memory;
  node.shared_memory_available_bytes = shared_memory;
  return node;
}

base::Settings with_budget(Bytes budget) {
  base::Settings settings;
  settings.pool.budget_bytes = budget;
  return settings;
}

base::Error refusal(const topology::Node& node, int ranks, const base::Settings& settings) {
  try {
    static_cast<void>(plan_node(node, {.ranks_on_node = ranks}, settings));
  } catch (const base::Error& error) {
    return error;
  }
  ADD_FAILURE() << "a plan was made";
  return {base::Errc::io, ""};
}

TEST(MakePlan, LeavesHalfOfTheBudgetToFilesThatAreGathered) {
  const topology::Node node = node_with(2 * GiB, 2 * GiB);
  const auto plan = plan_node(node, {.ranks_on_node = 4, .gathers_files = true}, with_budget(64 * MiB));
  const auto small = plan_node(node, {.ranks_on_node = 4, .gathers_files = true}, with_budget(MiB));

  EXPECT_EQ(plan.pool_bytes, 32 * MiB);
  EXPECT_EQ(plan.gathered_bytes, 32 * MiB);
  EXPECT_EQ(small.pool_bytes + small.gathered_bytes, MiB);
  EXPECT_EQ(plan_node(node, {.ranks_on_node = 4}, with_budget(64 * MiB)).gathered_bytes, 0u);
}

TEST(MakePlan, TakesAQuarterOfTheMemoryByDefault) {
  EXPECT_EQ(plan_node(node_with(2 * GiB, 2 * GiB), {.ranks_on_node = 4}, {}).pool_bytes, 512 * MiB);
}

TEST(MakePlan, TakesAtMostHalfOfTheSharedMemory) {
  EXPECT_EQ(plan_node(node_with(24 * GiB, 64 * MiB), {.ranks_on_node = 4}, {}).pool_bytes, 32 * MiB);
}

TEST(MakePlan, TakesAtMostAGibibyteByDefaultAndWhatIsGivenOtherwise) {
  const auto node = node_with(64 * GiB, 32 * GiB);

  EXPECT_EQ(plan_node(node, {.ranks_on_node = 8}, {}).pool_bytes, GiB);
  EXPECT_EQ(plan_node(node, {.ranks_on_node = 8}, with_budget(3 * GiB)).pool_bytes, 3 * GiB);
}

TEST(MakePlan, GivesEveryRankAtLeastEightChunksWhereTheBudgetAllows) {
  const auto node = node_with(64 * GiB, 32 * GiB);
  for (const int ranks : {1, 3, 8, 64, 128}) {
    for (const Bytes budget : {16 * MiB, 100 * MiB, GiB}) {
      const auto plan = plan_node(node, {.ranks_on_node = ranks}, with_budget(budget));
      const Bytes journals = static_cast<Bytes>(ranks) * plan.journal_bytes_per_rank;

      EXPECT_GE((budget - journals) / plan.chunk_bytes, 8U * static_cast<Bytes>(ranks)) << ranks << " " << budget;
      EXPECT_LE(journals, budget / 8);
      EXPECT_EQ(plan.chunk_bytes % node.page_bytes, 0U);
      EXPECT_EQ(plan.journal_bytes_per_rank % node.page_bytes, 0U);
    }
  }
}

TEST(MakePlan, UsesChunksOfAMebibyteWhereThereIsRoom) {
  EXPECT_EQ(plan_node(node_with(64 * GiB, 32 * GiB), {.ranks_on_node = 8}, {}).chunk_bytes, MiB);
}

TEST(MakePlan, RefusesABudgetThatIsTooSmallAndNamesTheSmallestThatWorks) {
  const auto node = node_with(64 * GiB, 32 * GiB);

  const auto error = refusal(node, 64, with_budget(2 * MiB));

  EXPECT_EQ(error.code(), base::Errc::invalid_config);
  EXPECT_STREQ(error.what(), "pool.budget = 2MiB is too small for 64 ranks on a node");
  EXPECT_EQ(error.hint(), "the smallest that works is \"8MiB\"");
  EXPECT_EQ(plan_node(node, {.ranks_on_node = 64}, with_budget(8 * MiB)).pool_bytes, 8 * MiB);
}

TEST(MakePlan, WorksWithTheSmallestBudgetForEveryNumberOfRanks) {
  const auto node = node_with(64 * GiB, 32 * GiB);
  for (int ranks = 1; ranks <= 256; ++ranks) {
    const Bytes smallest = std::max<Bytes>(static_cast<Bytes>(ranks) * 128 * KiB, 224 * KiB);
    const auto plan = plan_node(node, {.ranks_on_node = ranks}, with_budget(smallest));

    const Bytes room = plan.pool_bytes - outputs_table(static_cast<Bytes>(ranks)) - static_cast<Bytes>(ranks) * plan.journal_bytes_per_rank;
    EXPECT_GT(room / plan.chunk_bytes, static_cast<Bytes>(ranks)) << ranks;
    EXPECT_GE(plan.journal_bytes_per_rank, 16 * KiB);
  }
}

TEST(MakePlan, RefusesABudgetThatSharedMemoryCannotHold) {
  const auto error = refusal(node_with(24 * GiB, 64 * MiB), 4, with_budget(GiB));

  EXPECT_EQ(error.code(), base::Errc::no_space);
  EXPECT_STREQ(error.what(),
               "pool.budget = 1GiB does not fit: 24 GiB of memory and 64 MiB of shared memory are free on n1");
}

TEST(MakePlan, RefusesANodeWithoutRoom) {
  EXPECT_EQ(refusal(node_with(24 * GiB, 1 * MiB), 8, {}).code(), base::Errc::no_space);
  EXPECT_EQ(refusal(node_with(0, 0), 1, {}).code(), base::Errc::no_space);
}

TEST(MakePlan, FollowsTheSettingsOfTheDrain) {
  base::Settings settings;
  settings.drain = {.threads = 2, .cores = {1, 3}, .request_bytes = 4 * MiB, .depth = 8};

  const auto plan = plan_node(node_with(24 * GiB, 12 * GiB), {.ranks_on_node = 8}, settings);

  EXPECT_EQ(plan.drain_threads, 2);
  EXPECT_EQ(plan.drain_cores, (std::vector<int>{1, 3}));
  EXPECT_EQ(plan.request_bytes, 4 * MiB);
  EXPECT_EQ(plan.depth, 8);
  EXPECT_EQ(plan.drain_buffer_bytes(), 64 * MiB);
}

TEST(MakePlan, IsPure) {
  const auto node = node_with(24 * GiB, 12 * GiB);

  EXPECT_EQ(plan_node(node, {.ranks_on_node = 8}, {}), plan_node(node, {.ranks_on_node = 8}, {}));
}

TEST(Explain, OfALaptopWithEightRanks) {
  EXPECT_EQ(explain(plan_node(node_with(20 * GiB, 12 * GiB), {.ranks_on_node = 8}, {})),
            "pool      1 GiB: all shared memory of the node (pool.budget)\n"
            "chunks    1 MiB: what a rank takes at a time, so that each has at least eight if the pool allows\n"
            "journal   1 MiB per rank, inside the pool: what was captured, for the drain\n"
            "drain     1 thread in the process of node rank 0, on any core (drain.threads, drain.cores)\n"
            "requests  8 MiB, starting at multiples of it in the file (drain.request)\n"
            "depth     4 requests in flight per thread, 32 MiB of buffers outside the pool (drain.depth)\n");
}

TEST(Explain, OfAContainerWithLittleSharedMemory) {
  base::Settings settings;
  settings.drain = {.threads = 2, .cores = {0, 1}, .request_bytes = MiB, .depth = 2};

  EXPECT_EQ(explain(plan_node(node_with(4 * GiB, 64 * MiB), {.ranks_on_node = 16}, settings)),
            "pool      32 MiB: all shared memory of the node (pool.budget)\n"
            "chunks    128 KiB: what a rank takes at a time, so that each has at least eight if the pool allows\n"
            "journal   256 KiB per rank, inside the pool: what was captured, for the drain\n"
            "drain     2 threads in the process of node rank 0, on cores 0,1 (drain.threads, drain.cores)\n"
            "requests  1 MiB, starting at multiples of it in the file (drain.request)\n"
            "depth     2 requests in flight per thread, 4 MiB of buffers outside the pool (drain.depth)\n");
}

}  // namespace
}  // namespace glean::plan
