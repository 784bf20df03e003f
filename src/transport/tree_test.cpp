// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tree.hpp"

#include <gtest/gtest.h>

namespace glean::transport {
namespace {

// From each node to each other one, along neighbours only, and never more than once through a node.
void leads_everywhere(const Tree& tree) {
  for (int from = 0; from < tree.nodes(); ++from) {
    for (int to = 0; to < tree.nodes(); ++to) {
      int steps = 0;
      for (int at = from; at != to; ++steps) {
        const int next = tree.way_to(to, at);
        const auto neighbours = tree.neighbours_of(at);
        ASSERT_NE(std::find(neighbours.begin(), neighbours.end(), next), neighbours.end()) << from << " to " << to << " at " << at;
        ASSERT_LT(steps, tree.nodes());
        at = next;
      }
    }
  }
}

TEST(Tree, ParentsAndChildrenAgreeAndEachNodeIsReached) {
  for (int nodes = 1; nodes <= 12; ++nodes) {
    for (int stagers = 0; stagers < nodes; ++stagers) {
      const Tree tree(nodes, stagers);
      EXPECT_FALSE(tree.parent_of(tree.root()));
      int children = 0;
      for (int node = 0; node < nodes; ++node) {
        for (const int child : tree.children_of(node)) {
          EXPECT_EQ(tree.parent_of(child), node);
          ++children;
        }
      }
      EXPECT_EQ(children, nodes - 1) << nodes << " nodes, " << stagers << " stagers";
      leads_everywhere(tree);
    }
  }
}

TEST(Tree, ComputeNodesTalkToOneStagerEachAndStagersHaveAlikeMany) {
  const Tree tree(5 + 2, 2);
  EXPECT_EQ(tree.children_of(5), (std::vector{6, 0, 1, 2}));
  EXPECT_EQ(tree.children_of(6), (std::vector{3, 4}));
  EXPECT_EQ(tree.neighbours_of(0), std::vector{5});
  EXPECT_TRUE(tree.is_stager(5));
  EXPECT_FALSE(tree.is_stager(4));
}

TEST(Tree, MoreStagersThanComputeNodesLeaveSomeWithoutAny) {
  const Tree tree(1 + 3, 3);
  EXPECT_EQ(tree.neighbours_of(0), std::vector{1});
  EXPECT_EQ(tree.children_of(1), (std::vector{2, 3, 0}));
}

}  // namespace
}  // namespace glean::transport
