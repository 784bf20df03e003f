// SPDX-License-Identifier: BSD-3-Clause
#include "pool/verdicts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>

#include "base/error.hpp"
#include "capture/dropping.hpp"
#include "pool/test_pool.hpp"

namespace glean::capture {
namespace {

using base::Bytes;

// One node of several, of one rank, and its part of one output.
struct Node {
  Node(int nodes, int node) : made(1, pool::small_plan(), pool::NodeShare{"verdicts", nodes, node}), output(made.claim_slot()) {
    made.pool.journal(0).job_rank = static_cast<std::uint32_t>(100 + node);
  }
  // It would keep the step, or not.
  bool decide(std::uint64_t step, bool keep, double seconds = 0.05) {
    made.pool.header().hurry = keep ? 0 : 1;
    return keep_step(made.pool, 0, {output, step, 8}, seconds, [] { return std::string("nobody knows"); });
  }
  pool::OutputSlot& slot() { return made.pool.slot(output.slot); }

  pool::TestPool made;
  pool::OutputKey output;
};

// Of both, as the root of two nodes puts it together.
pool::Decisions together(Node& one, Node& other) {
  const pool::Decisions first = pool::decisions_of(one.slot()), second = pool::decisions_of(other.slot());
  return {std::min(first.decided, second.decided), first.drops | second.drops};
}

TEST(Verdicts, KeepWhatAllNodesKeep) {
  Node one(2, 0), other(2, 1);
  const std::vector<std::pair<bool, bool>> would_keep = {{true, true}, {true, false}, {false, true}, {true, true}, {false, false}};
  for (std::uint64_t step = 0; step < would_keep.size(); ++step) {
    EXPECT_EQ(one.decide(step, would_keep[step].first), would_keep[step].first);
    EXPECT_EQ(other.decide(step, would_keep[step].second), would_keep[step].second);
  }
  const pool::Decisions all = together(one, other);

  for (Node* node : {&one, &other}) {
    pool::judge(node->slot(), all);
    EXPECT_EQ(pool::verdict_of(node->slot()).judged, 5u);
    EXPECT_EQ(pool::last_kept(node->slot()), (std::vector<std::uint64_t>{0, 3}));
    EXPECT_EQ(pool::record_of(node->slot(), 0), 0u);
    EXPECT_EQ(pool::record_of(node->slot(), 1), std::nullopt);
    EXPECT_EQ(pool::record_of(node->slot(), 3), 1u);
    EXPECT_EQ(pool::record_of(node->slot(), 5), std::nullopt) << "it is not judged";
    EXPECT_EQ(pool::kept_before(node->slot(), 3), 1u);
    EXPECT_EQ(pool::kept_before(node->slot(), 4), 2u);
    EXPECT_EQ(pool::kept_before(node->slot(), 7), 4u) << "what is not judged may be kept";
  }
}

TEST(Verdicts, ARankDoesNotCaptureWhatAnotherNodeHasDropped) {
  pool::TestPool made(2, pool::small_plan(), pool::NodeShare{"verdicts", 2, 0});
  const pool::OutputKey output = made.claim_slot();
  const auto keep = [&](int rank) { return keep_step(made.pool, rank, {output, 0, 8}, 1, [] { return std::string(); }); };

  EXPECT_TRUE(keep(0));
  pool::judge(made.pool.slot(output.slot), {.decided = 1, .drops = 1});
  EXPECT_FALSE(keep(1));
}

TEST(Verdicts, AreNotOvertakenByMoreThan64Steps) {
  Node node(2, 1);
  for (std::uint64_t step = 0; step < 64; ++step) node.decide(step, step % 2 == 0);
  try {
    node.decide(64, true);
    FAIL() << "another node has not decided about step 0";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::timeout);
    EXPECT_NE(std::string(error.what()).find("another node has not begun step 0, rank 101 waits with step 64"), std::string::npos)
        << error.what();
  }
  node.slot().job_last_rank = 7;
  EXPECT_THROW(
      {
        try {
          node.decide(64, true);
        } catch (const base::Error& error) {
          EXPECT_NE(std::string(error.what()).find("rank 7 has not begun step 0"), std::string::npos) << error.what();
          throw;
        }
      },
      base::Error);

  pool::judge(node.slot(), {.decided = 1});
  EXPECT_TRUE(node.decide(64, true));
}

// Whoever waits for the others sees to it that it hears of them.
TEST(Verdicts, AreHeardOfByARankThatWaitsForThem) {
  Node node(2, 1);
  for (std::uint64_t step = 0; step < 64; ++step) node.decide(step, false);
  int calls = 0;

  EXPECT_TRUE(keep_step(node.made.pool, 0, {node.output, 64, 8, false}, 30, [] { return std::string(); }, [&] {
    if (++calls == 3) pool::judge(node.slot(), {.decided = 64, .drops = ~std::uint64_t{0}});
  }));
  EXPECT_EQ(calls, 3);
}

TEST(Verdicts, OfAsManyStepsAsWaitAreKnown) {
  Node node(2, 0);
  std::uint64_t step = 0;
  for (; step < 40; ++step) EXPECT_TRUE(node.decide(step, true));
  pool::judge(node.slot(), {.decided = 40});
  for (; step < pool::kept_steps_known; ++step) EXPECT_TRUE(node.decide(step, true));
  EXPECT_FALSE(node.decide(step, true)) << "none of them is written";
  pool::judge(node.slot(), pool::decisions_of(node.slot()));
  EXPECT_EQ(pool::record_of(node.slot(), 0), 0u);
  EXPECT_EQ(pool::kept_before(node.slot(), 1), 1u);

  node.slot().steps_written = 1;
  EXPECT_TRUE(node.decide(step + 1, true));
}

TEST(Verdicts, SayAtLeastHowManyStepsOfLongAgoAreKept) {
  Node node(2, 0);
  for (std::uint64_t step = 0; step < 300; ++step) {
    node.decide(step, step % 3 != 0);
    pool::judge(node.slot(), pool::decisions_of(node.slot()));
    node.slot().steps_written = step + 1;
  }
  EXPECT_EQ(pool::verdict_of(node.slot()).judged, 300u);
  EXPECT_EQ(pool::verdict_of(node.slot()).kept, 200u);
  EXPECT_EQ(pool::kept_before(node.slot(), 270), 180u);
  EXPECT_EQ(pool::kept_before(node.slot(), 150), 50u) << "100 of them are kept, and 100 of all dropped";
  EXPECT_EQ(pool::record_of(node.slot(), 299), 199u);
}

TEST(Verdicts, OfTheOutputBeforeInTheSlotIsKnown) {
  Node node(2, 0);
  node.decide(0, true);
  pool::judge(node.slot(), pool::decisions_of(node.slot()));

  node.slot().state = pool::OutputState::free;
  static_cast<void>(node.made.pool.open_slot(node.output.slot));

  EXPECT_EQ(pool::verdict_of(node.slot()).judged, 0u);
  EXPECT_EQ(pool::Verdict::of(node.slot().previous_verdict).kept, 1u);
}

// A tree of five nodes whose figures come late, each by its own time: the root judges by what it has heard, and everybody hears all
// of its verdicts. What every node decided is what it comes to, and everybody finds the same.
TEST(Verdicts, AreTheSameEverywhereHoweverLateTheyCome) {
  constexpr int nodes = 5;
  constexpr std::uint64_t steps = 700;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::unique_ptr<Node>> all;
    for (int n = 0; n < nodes; ++n) all.push_back(std::make_unique<Node>(nodes, n));
    std::array<std::vector<bool>, nodes> keeps, kept;
    std::array<pool::Decisions, nodes> said{};
    std::array<std::deque<pool::Decisions>, nodes> verdicts;
    const auto subtree = [&](auto& self, int n) -> pool::Decisions {   // by what the children have said last
      pool::Decisions mine = pool::decisions_of(all[static_cast<std::size_t>(n)]->slot());
      for (const int child : {2 * n + 1, 2 * n + 2}) {
        if (child >= nodes) continue;
        if (random() % 2 == 0) said[static_cast<std::size_t>(child)] = self(self, child);
        mine.decided = std::min(mine.decided, said[static_cast<std::size_t>(child)].decided);
        mine.drops |= said[static_cast<std::size_t>(child)].drops;
      }
      return mine;
    };
    const auto is_done = [&](std::size_t n) { return pool::verdict_of(all[n]->slot()).judged == steps; };
    while (!is_done(0) || !is_done(1) || !is_done(2) || !is_done(3) || !is_done(4)) {
      for (std::size_t n = 0; n < nodes; ++n) {
        pool::OutputSlot& slot = all[n]->slot();
        const std::uint64_t judged = pool::verdict_of(slot).judged, next = keeps[n].size();
        if (next < steps && next < judged + 64 && random() % (n + 1) == 0) {
          all[n]->decide(next, random() % 8 != 0);
          keeps[n].push_back(pool::Decision::of(slot.decisions[next % 64]).what == pool::DropDecision::keep);
        }
        if (n != 0 && !verdicts[n].empty() && random() % 2 == 0) {
          pool::judge(slot, verdicts[n].front());
          verdicts[n].pop_front();
        }
        const std::uint64_t now = pool::verdict_of(slot).judged;
        for (std::uint64_t step = judged; step < now; ++step) kept[n].push_back(pool::record_of(slot, step).has_value());
        if (random() % 3 == 0) slot.steps_written = now - random() % (now - slot.steps_written.load() + 1);
      }
      const std::uint64_t judged = pool::verdict_of(all[0]->slot()).judged;
      const pool::Decisions heard = subtree(subtree, 0);
      pool::judge(all[0]->slot(), heard);
      for (std::uint64_t step = judged; step < pool::verdict_of(all[0]->slot()).judged; ++step) {
        kept[0].push_back(pool::record_of(all[0]->slot(), step).has_value());
      }
      for (std::size_t n = 1; n < nodes && pool::verdict_of(all[0]->slot()).judged != judged; ++n) verdicts[n].push_back(heard);
    }
    std::uint64_t dropped = 0;
    for (std::uint64_t step = 0; step < steps; ++step) {
      bool all_keep = true;
      for (const auto& of_node : keeps) all_keep = all_keep && of_node[step];
      for (const auto& of_node : kept) ASSERT_EQ(of_node[step], all_keep) << "step " << step << " of seed " << seed;
      dropped += all_keep ? 0 : 1;
    }
    EXPECT_GT(dropped, 0u);
    EXPECT_LT(dropped, steps);
    for (const auto& node : all) EXPECT_EQ(pool::verdict_of(node->slot()).kept, steps - dropped);
  }
}

}  // namespace
}  // namespace glean::capture
