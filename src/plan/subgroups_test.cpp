// SPDX-License-Identifier: BSD-3-Clause
#include "plan/subgroups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "plan/test_machines.hpp"
#include "plan/traffic.hpp"

namespace glean::plan {
namespace {

using topology::Placement;

GroupLoad even_load(const topology::Machine& machine, std::int64_t nodes) {
  return load_of(machine, {.ranks = nodes, .ranks_per_node = 1}, {.bytes_per_rank = 100}, 0);
}

TEST(Subgroups, AreBoxesOfNeighboursInAllDimensions) {
  const auto machine = test::blue_gene_p();
  const GroupLoad load = even_load(machine, 1024);
  ASSERT_EQ(load.nodes.size(), 64U);

  const Subgroups eight = divide(machine, load, 8);

  ASSERT_EQ(eight.aggregator.size(), 8U);
  for (int part = 0; part < 8; ++part) {
    EXPECT_EQ(eight.bytes[static_cast<std::size_t>(part)], 800U);
    for (std::size_t d = 0; d < 3; ++d) {
      std::set<int> places;
      for (std::size_t i = 0; i < load.nodes.size(); ++i) {
        if (eight.of_node[i] == part) places.insert(machine.coordinates(load.nodes[i].node)[d]);
      }
      EXPECT_EQ(places.size(), 2U) << "2 x 2 x 2 nodes, figure 5a";
      EXPECT_EQ(*places.rbegin() - *places.begin(), 1);
    }
  }
}

TEST(Subgroups, HaveTheirAggregatorInTheMiddleAndShortRoutes) {
  const auto machine = test::blue_gene_p();
  const GroupLoad load = even_load(machine, 1024);

  const Subgroups one = divide(machine, load, 1), four = divide(machine, load, 4);

  const auto worst = [&](const Subgroups& subgroups) {
    int hops = 0;
    for (std::size_t i = 0; i < load.nodes.size(); ++i) {
      const int aggregator = subgroups.aggregator[static_cast<std::size_t>(subgroups.of_node[i])];
      hops = std::max(hops, machine.hops(load.nodes[i].node, load.nodes[static_cast<std::size_t>(aggregator)].node));
    }
    return hops;
  };
  EXPECT_EQ(worst(one), 6);    // of 9 from corner to corner
  EXPECT_LE(worst(four), 4);
}

TEST(Subgroups, FollowTheGatewaysWhereThereAreEnough) {
  auto machine = test::blue_gene_q();
  for (int i = 0; i < 128; ++i) machine.way_out.default_gateway.push_back(i % 2);   // neighbours have different ones
  const GroupLoad load = even_load(machine, 512);

  const Subgroups subgroups = divide(machine, load, 8);

  std::vector<std::set<NodeId>> gateways(8);
  for (std::size_t i = 0; i < load.nodes.size(); ++i) {
    gateways.at(static_cast<std::size_t>(subgroups.of_node[i])).insert(load.nodes[i].gateway);
  }
  std::map<NodeId, int> parts_of;
  for (const auto& each : gateways) {
    ASSERT_EQ(each.size(), 1U);
    ++parts_of[*each.begin()];
  }
  for (const auto& [gateway, parts] : parts_of) {
    EXPECT_EQ(parts, 4);
    for (const int aggregator : subgroups.aggregator) EXPECT_NE(load.nodes[static_cast<std::size_t>(aggregator)].node, gateway);
  }
}

TEST(Subgroups, ShareUnevenBytesEvenly) {
  const auto machine = test::cluster(8, 8);
  GroupLoad load = even_load(machine, 8);
  for (std::size_t i = 0; i < 8; ++i) load.nodes[i].bytes = i < 2 ? 300 : 100;

  const Subgroups two = divide(machine, load, 2);

  EXPECT_EQ(two.bytes, (std::vector<Bytes>{600, 600}));
  EXPECT_EQ(two.of_node, (std::vector<int>{0, 0, 1, 1, 1, 1, 1, 1}));
}

TEST(Subgroups, MayBeAsManyAsThereAreNodes) {
  const auto machine = test::cluster(7, 7);
  const GroupLoad load = even_load(machine, 7);
  const Subgroups all = divide(machine, load, 7);
  EXPECT_EQ(std::set<int>(all.of_node.begin(), all.of_node.end()).size(), 7U);
}

// Three nodes in a row send 100 bytes each to the fourth: the last link has all of it.
TEST(Traffic, IsCountedOnTheBusiestLink) {
  topology::Machine machine;
  machine.network = topology::Torus{.extents = {4}, .wraps = {false}, .link_bytes_per_second = 10};
  EXPECT_DOUBLE_EQ(busiest_link_seconds(machine, {{0, 3, 100}, {1, 3, 100}, {2, 3, 100}}), 30);
  EXPECT_DOUBLE_EQ(busiest_link_seconds(machine, {{3, 3, 100}}), 0);
  EXPECT_DOUBLE_EQ(node_bytes_per_second(machine, 0), 10);
  EXPECT_DOUBLE_EQ(node_bytes_per_second(machine, 1), 20);
}

}  // namespace
}  // namespace glean::plan
