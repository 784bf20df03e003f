// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "topology/machine.hpp"

namespace glean::topology {
namespace {

using Ranks = std::vector<std::int64_t>;

TEST(Placement, FillsOneNodeAfterTheOther) {
  const Placement placement{.ranks = 10, .ranks_per_node = 4};

  EXPECT_EQ(placement.nodes(), 3);
  EXPECT_EQ(placement.node_of(7), 1);
  EXPECT_EQ(placement.ranks_of(1), (Ranks{4, 5, 6, 7}));
  EXPECT_EQ(placement.ranks_of(2), (Ranks{8, 9})) << "the last node is not full";
}

TEST(Placement, GoesRound) {
  const Placement placement{.ranks = 8, .ranks_per_node = 3, .order = Placement::Order::round_robin};

  EXPECT_EQ(placement.nodes(), 3);
  EXPECT_EQ(placement.node_of(5), 2);
  EXPECT_EQ(placement.ranks_of(0), (Ranks{0, 3, 6}));
  EXPECT_EQ(placement.ranks_of(2), (Ranks{2, 5}));
  EXPECT_EQ(placement.ranks_of(3), Ranks{}) << "not in use";
}

TEST(Placement, BelievesAList) {
  const Placement placement{.ranks_per_node = 9, .listed = {2, 0, 2}};

  EXPECT_EQ(placement.nodes(), 3);
  EXPECT_EQ(placement.node_of(0), 2);
  EXPECT_EQ(placement.ranks_of(2), (Ranks{0, 2}));
  EXPECT_EQ(placement.ranks_of(1), Ranks{});
}

TEST(Placement, PutsEveryRankOnTheNodeThatHasIt) {
  for (const auto order : {Placement::Order::block, Placement::Order::round_robin}) {
    for (int ranks = 1; ranks < 40; ++ranks) {
      for (int per_node = 1; per_node < 9; ++per_node) {
        const Placement placement{.ranks = ranks, .ranks_per_node = per_node, .order = order};
        int seen = 0;
        for (NodeId node = 0; node < placement.nodes(); ++node) {
          const Ranks there = placement.ranks_of(node);
          EXPECT_FALSE(there.empty());
          EXPECT_LE(there.size(), static_cast<std::size_t>(per_node));
          for (const std::int64_t rank : there) EXPECT_EQ(placement.node_of(rank), node) << ranks << ' ' << per_node;
          seen += static_cast<int>(there.size());
        }
        EXPECT_EQ(seen, ranks);
      }
    }
  }
}

}  // namespace
}  // namespace glean::topology
