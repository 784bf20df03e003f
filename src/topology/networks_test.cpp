// SPDX-License-Identifier: BSD-3-Clause
//
// Routes, links and parts of the three kinds of network, against what was worked out by hand.
#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"
#include "topology/machine.hpp"

namespace glean::topology {
namespace {

std::vector<Coordinates> passed(const Machine& machine, const Coordinates& from, const Coordinates& to) {
  std::vector<Coordinates> positions;
  for (const NodeId node : machine.nodes_on_route(*machine.node_at(from), *machine.node_at(to))) {
    positions.push_back(machine.coordinates(node));
  }
  return positions;
}

using Positions = std::vector<Coordinates>;

TEST(Torus, NumbersTheLastDimensionFastest) {
  const Machine machine{.network = Torus{.extents = {2, 3, 4}}};

  EXPECT_EQ(machine.nodes(), 24);
  EXPECT_EQ(machine.coordinates(1), (Coordinates{0, 0, 1}));
  EXPECT_EQ(machine.node_at({1, 2, 3}), 23);
  EXPECT_EQ(machine.node_at({1, 3, 0}), std::nullopt);
}

TEST(Torus, RoutesInTheOrderOfItsDimensions) {
  EXPECT_EQ(passed({.network = Torus{.extents = {4, 4}}}, {0, 0}, {1, 1}), (Positions{{0, 0}, {1, 0}, {1, 1}}));
  EXPECT_EQ(passed({.network = Torus{.extents = {4, 4}, .route_order = {1, 0}}}, {0, 0}, {1, 1}), (Positions{{0, 0}, {0, 1}, {1, 1}}));
}

TEST(Torus, GoesTheShorterWayRoundAndAMeshDoesNot) {
  EXPECT_EQ(passed({.network = Torus{.extents = {5}}}, {0}, {3}), (Positions{{0}, {4}, {3}}));
  EXPECT_EQ(passed({.network = Torus{.extents = {5}, .wraps = {false}}}, {0}, {3}), (Positions{{0}, {1}, {2}, {3}}));
}

TEST(Torus, BreaksTiesAsItIsTold) {
  EXPECT_EQ(passed({.network = Torus{.extents = {4}}}, {1}, {3}), (Positions{{1}, {2}, {3}}));
  EXPECT_EQ(passed({.network = Torus{.extents = {4}, .ties = {-1}}}, {1}, {3}), (Positions{{1}, {0}, {3}}));
}

TEST(Torus, HasNeighboursOnEverySide) {
  EXPECT_EQ((Machine{.network = Torus{.extents = {3, 2}}}.neighbours(0)), (std::vector<NodeId>{4, 2, 1}));
  EXPECT_EQ((Machine{.network = Torus{.extents = {3, 2}, .wraps = {false, false}}}.neighbours(0)), (std::vector<NodeId>{2, 1}));
  EXPECT_EQ((Machine{.network = Torus{.extents = {1, 1}}}.neighbours(0)), std::vector<NodeId>{});
}

TEST(Torus, PassesRoutersThatHaveNoNode) {
  const Machine machine{.network = Torus{.extents = {4, 2}, .wraps = {true, false}, .nodes = 7}};

  EXPECT_EQ(machine.node_at({3, 1}), std::nullopt);
  EXPECT_EQ(machine.nodes_on_route(1, 6), (std::vector<NodeId>{1, 6})) << "over position 7, which is no node";
  EXPECT_EQ(machine.route(1, 6), (std::vector<Link>{{1, 7}, {7, 6}}));
  EXPECT_EQ(machine.neighbours(6), (std::vector<NodeId>{4, 0}));
}

TEST(Torus, KnowsTheRateOfEveryDimension) {
  const Machine alike{.network = Torus{.extents = {2, 2}, .link_bytes_per_second = 5}};
  const Machine machine{.network = Torus{.extents = {2, 2}, .dimension_bytes_per_second = {1, 2}}};

  EXPECT_EQ(alike.bytes_per_second({0, 2}), 5);
  EXPECT_EQ(machine.bytes_per_second({0, 2}), 1);
  EXPECT_EQ(machine.bytes_per_second({3, 2}), 2);
}

TEST(Torus, IsHandedOutInTheShapesThatItHas) {
  const Machine machine{
      .network = Torus{.extents = {8, 8}, .wraps = {true, true}, .partitions = {{.extents = {4, 8}}, {.extents = {8, 4}},
                       {.extents = {4, 4}, .wraps = {false, false}, .route_order = {1, 0}}}},
      .way_out = {.group_extents = {4, 2}}};

  const Machine half = partition(machine, 32);
  const Machine quarter = partition(half, 16);

  EXPECT_EQ(std::get<Torus>(half.network).extents, (std::vector<int>{4, 8})) << "the first one";
  EXPECT_EQ(half.groups(), 4);
  EXPECT_EQ(quarter, partition(machine, 16));
  EXPECT_EQ(quarter.hops(0, 3), 3) << "a mesh";
  EXPECT_EQ(partition(machine, 64), machine);
  try {
    static_cast<void>(partition(machine, 20));
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::invalid_argument);
    EXPECT_EQ(error.hint(), "it has some of 16 and of 32");
  }
  EXPECT_THROW(static_cast<void>(partition(machine, 65)), base::Error);
  EXPECT_THROW(static_cast<void>(partition(machine, 0)), base::Error);
}

// Two leaves with four nodes and two ways up each: switches 8 and 9, and above them 10 and 11.
const Machine two_levels{.network = FatTree{.nodes = 8, .levels = {{.down = 4, .up = 2, .link_bytes_per_second = 1},
                                                                   {.down = 2, .up = 0, .link_bytes_per_second = 3}}}};

TEST(FatTree, GoesUpByTheDestination) {
  EXPECT_EQ(two_levels.route(0, 3), (std::vector<Link>{{0, 8}, {8, 3}}));
  EXPECT_EQ(two_levels.route(0, 4), (std::vector<Link>{{0, 8}, {8, 10}, {10, 9}, {9, 4}}));
  EXPECT_EQ(two_levels.route(0, 5), (std::vector<Link>{{0, 8}, {8, 11}, {11, 9}, {9, 5}}));
  EXPECT_EQ(two_levels.nodes_on_route(0, 5), (std::vector<NodeId>{0, 5}));
  EXPECT_EQ(two_levels.neighbours(5), (std::vector<NodeId>{4, 6, 7}));
  EXPECT_EQ(two_levels.coordinates(6), (Coordinates{1, 2}));
}

TEST(FatTree, KnowsTheRateOfEveryLevel) {
  EXPECT_EQ(two_levels.bytes_per_second({0, 8}), 1);
  EXPECT_EQ(two_levels.bytes_per_second({9, 5}), 1);
  EXPECT_EQ(two_levels.bytes_per_second({8, 10}), 3);
  EXPECT_EQ(two_levels.bytes_per_second({11, 9}), 3);
}

// What d-mod-k is for: in a tree with as many links up as down, a shift of all nodes uses no link twice.
TEST(FatTree, ShiftsWithoutContentionWhereItHasFullBandwidth) {
  const Machine machine{.network = FatTree{.nodes = 64, .levels = {{.down = 4, .up = 4}, {.down = 4, .up = 4}, {.down = 4}}}};
  for (const NodeId shift : {1, 5, 17, 32}) {
    std::map<Link, int> flows;
    for (NodeId node = 0; node < 64; ++node) {
      for (const Link& link : machine.route(node, (node + shift) % 64)) ++flows[link];
    }
    for (const auto& [link, number] : flows) EXPECT_EQ(number, 1) << link.from << " to " << link.to << " by " << shift;
  }
}

// Three groups of four routers with two nodes each; two links between any two groups. Routers are 24 … 35.
const Machine small_dragonfly{.network = Dragonfly{.groups = 3, .routers_per_group = 4, .nodes_per_router = 2,
                              .node_bytes_per_second = 1, .local_bytes_per_second = 2, .global_bytes_per_second = 3}};

TEST(Dragonfly, GoesOverAtMostOneGlobalLink) {
  EXPECT_EQ(small_dragonfly.route(0, 1), (std::vector<Link>{{0, 24}, {24, 1}}));
  EXPECT_EQ(small_dragonfly.route(0, 7), (std::vector<Link>{{0, 24}, {24, 27}, {27, 7}}));
  // To group 1 lead its routers 0 and 1, to routers 0 and 1 there; to group 2 its routers 2 and 3.
  EXPECT_EQ(small_dragonfly.route(0, 8), (std::vector<Link>{{0, 24}, {24, 28}, {28, 8}}));
  EXPECT_EQ(small_dragonfly.route(7, 14), (std::vector<Link>{{7, 27}, {27, 25}, {25, 29}, {29, 31}, {31, 14}}));
  EXPECT_EQ(small_dragonfly.coordinates(14), (Coordinates{1, 3, 0}));
}

TEST(Dragonfly, KnowsTheRateOfEveryKindOfLink) {
  EXPECT_EQ(small_dragonfly.bytes_per_second({7, 27}), 1);
  EXPECT_EQ(small_dragonfly.bytes_per_second({27, 25}), 2);
  EXPECT_EQ(small_dragonfly.bytes_per_second({25, 29}), 3);
}

TEST(Dragonfly, HasAsManyGlobalLinksAsRoutersLeaveRoomFor) {
  std::map<std::int64_t, int> ends;
  for (NodeId from = 0; from < 24; ++from) {
    for (NodeId to = 0; to < 24; ++to) {
      for (const Link& link : small_dragonfly.route(from, to)) {
        if (small_dragonfly.bytes_per_second(link) == 3) ends[link.from] |= 1 << (link.to - 24);
      }
    }
  }
  EXPECT_EQ(ends.size(), 12U) << "every router has one";
  for (const auto& [router, others] : ends) EXPECT_EQ(__builtin_popcount(static_cast<unsigned>(others)), 1) << router;
}

}  // namespace
}  // namespace glean::topology
