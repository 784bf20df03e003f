// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/switches.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace glean::topology {
namespace {

// As topology.conf(5) of Slurm has it.
constexpr const char* two_levels = R"(
# Leaves
SwitchName=s0 Nodes=tux[0-3]   # a comment
switchname=s1 nodes=tux[4-7] LinkSpeed=900
SwitchName=s2 \
  Nodes=tux[8-11]
SwitchName=top Switches=s[0-2]
)";

std::vector<int> widths(const SwitchTree& tree) {
  std::vector<int> down;
  for (const FatTree::Level& level : tree.network.levels) down.push_back(level.down);
  return down;
}

std::string refusal(const char* conf, const std::vector<std::string>& hosts) {
  try {
    static_cast<void>(tree_of_switches(conf, hosts));
    return "";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::invalid_config);
    return error.what();
  }
}

TEST(Switches, NumberTheHostsOfAJobByTheirPlaces) {
  const SwitchTree tree = tree_of_switches(two_levels, {"tux5", "tux0", "tux1", "tux7"});

  EXPECT_EQ(widths(tree), (std::vector<int>{2, 2}));
  EXPECT_EQ(tree.nodes, (std::vector<NodeId>{2, 0, 1, 3}));
  EXPECT_EQ(tree.network.nodes, 4);
}

TEST(Switches, LeavePlacesFreeWhereASwitchHasFewerHosts) {
  const SwitchTree tree = tree_of_switches(two_levels, {"tux0", "tux4", "tux5", "tux11"});

  EXPECT_EQ(widths(tree), (std::vector<int>{2, 3}));
  EXPECT_EQ(tree.nodes, (std::vector<NodeId>{0, 2, 3, 4}));
  const Machine machine{.network = tree.network};
  EXPECT_EQ(problems_of(machine), std::vector<std::string>{});
  EXPECT_EQ(machine.hops(2, 3), 2);
  EXPECT_EQ(machine.hops(0, 4), 4);
}

TEST(Switches, AboveAllHostsOfAJobAreLeftOut) {
  const SwitchTree tree = tree_of_switches(two_levels, {"tux8", "tux9"});

  EXPECT_EQ(widths(tree), std::vector<int>{2});
  EXPECT_EQ(tree.network.levels.back().up, 0);
}

TEST(Switches, OfDifferentHeightsHangTogether) {
  const SwitchTree tree = tree_of_switches("SwitchName=leaf Nodes=a[1-2]\nSwitchName=middle Switches=leaf\nSwitchName=other Nodes=c\n"
                                           "SwitchName=deep Nodes=d\nSwitchName=top Switches=middle,deeper Nodes=b\n"
                                           "SwitchName=deeper Switches=deep,deep2\nSwitchName=deep2 Nodes=e\n",
                                           {"a1", "a2", "b", "c", "d", "e"});

  EXPECT_EQ(widths(tree), (std::vector<int>{2, 2, 3, 2}));
  EXPECT_EQ(tree.nodes, (std::vector<NodeId>{12, 13, 20, 0, 16, 18}));
  const Machine machine{.network = tree.network};
  EXPECT_EQ(machine.hops(12, 13), 2);
  EXPECT_EQ(machine.hops(16, 18), 4);
  EXPECT_EQ(machine.hops(12, 20), 6);
  EXPECT_EQ(machine.hops(12, 0), 8);
}

TEST(Switches, ThatCannotBeAreRefusedByNameAndLine) {
  EXPECT_EQ(refusal(two_levels, {"tux0", "tux99"}), "topology.conf: no switch leads to node 'tux99'");
  EXPECT_EQ(refusal("\nNodes=a\n", {"a"}), "topology.conf:2: a line starts with SwitchName=");
  EXPECT_EQ(refusal("SwitchName=s Nodes=a[\n", {"a"}), "topology.conf:1: 'a[' is no list of names");
  EXPECT_EQ(refusal("BlockName=b Nodes=a\n", {"a"}), "topology.conf:1: 'BlockName=b' belongs to no tree of switches");
  EXPECT_EQ(refusal("SwitchName=s Nodes=a\nSwitchName=s Nodes=b\n", {"a"}), "topology.conf:2: switch 's' is there twice");
  EXPECT_EQ(refusal("SwitchName=r Switches=s\nSwitchName=s Switches=t\nSwitchName=t Switches=s\n", {"a"}),
            "topology.conf: switch 's' is below itself");
  EXPECT_NE(refusal("", {"a"}), "");
}

}  // namespace
}  // namespace glean::topology
