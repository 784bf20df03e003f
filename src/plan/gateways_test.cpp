// SPDX-License-Identifier: BSD-3-Clause
#include "plan/gateways.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.hpp"
#include "plan/gateway_load.hpp"

namespace glean::plan {
namespace {

using topology::Dragonfly;
using topology::FatTree;
using topology::Machine;
using topology::NodeId;
using topology::Torus;

Machine mesh(std::vector<int> extents, std::vector<std::vector<int>> gateways, std::vector<int> default_gateway) {
  const auto dimensions = extents.size();
  std::vector<int> order(dimensions);
  std::iota(order.begin(), order.end(), 0);
  Machine machine{.name = "mesh"};
  machine.network = Torus{.extents = extents,
                          .wraps = std::vector<bool>(dimensions, false),
                          .route_order = order,
                          .ties = std::vector<int>(dimensions, 1),
                          .link_bytes_per_second = 1e9};
  machine.way_out = {.group_extents = std::move(extents), .gateways = std::move(gateways),
                     .default_gateway = std::move(default_gateway)};
  return machine;
}

// A midplane of BG/Q: 512 nodes, four groups of 128, two gateways each that are neighbours in the last dimension.
Machine midplane() {
  Machine machine{.name = "midplane"};
  machine.network = Torus{.extents = {4, 4, 4, 4, 2},
                          .wraps = std::vector<bool>(5, true),
                          .route_order = {0, 1, 2, 3, 4},
                          .ties = std::vector<int>(5, 1),
                          .link_bytes_per_second = 2e9};
  machine.way_out = {.group_extents = {2, 2, 4, 4, 2}, .gateways = {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 1}}};
  return machine;
}

std::vector<GatewayAssignment> of_all_groups(const Machine& machine, const GatewayLimits& limits = {}) {
  std::vector<GatewayAssignment> all;
  for (topology::GroupId group = 0; group < machine.groups(); ++group) all.push_back(assign_gateways(machine, group, limits));
  return all;
}

std::vector<GatewayAssignment> defaults_of_all_groups(const Machine& machine) {
  std::vector<GatewayAssignment> all;
  for (topology::GroupId group = 0; group < machine.groups(); ++group) all.push_back(default_gateways(machine, group));
  return all;
}

std::vector<int> gateway_of_each(const GatewayAssignment& assignment) {
  std::vector<int> gateways;
  for (const auto& node : assignment.nodes) gateways.push_back(node.gateway);
  return gateways;
}

TEST(Gateways, AreTheCloserOnesWhereTheLoadStaysEven) {
  // A line of eight with a gateway at each end; default: alternating.
  const auto machine = mesh({8}, {{0}, {7}}, {0, 1, 0, 1, 0, 1, 0, 1});

  const auto assignment = assign_gateways(machine, 0);

  EXPECT_EQ(gateway_of_each(assignment), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(assignment.weights, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(assignment.nodes[3], (GatewayAssignment::Node{.gateway = 0, .hops = 3, .reassigned = true}));
}

TEST(Gateways, TakeNoMoreThanTheAverageAndTheClosestNodesFirst) {
  // Five nodes have a closer gateway: four the first one, of which it takes three.
  const auto machine = mesh({10}, {{0}, {9}}, {0, 1, 1, 1, 1, 1, 1, 1, 0, 1});

  const auto assignment = assign_gateways(machine, 0);

  EXPECT_EQ(gateway_of_each(assignment), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(assignment.weights, (std::vector<std::int64_t>{3, 1}));
}

TEST(Gateways, AreNotReachedThroughAnotherGateway) {
  // Four nodes could have one that is closer, so each gateway takes two at most. The second one takes nodes 3 and 4; node 5 is
  // nearer to the first one than to its own, but the second one is on the way.
  const auto machine = mesh({12}, {{0}, {2}, {11}}, {0, 0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2});

  const auto assignment = assign_gateways(machine, 0);

  EXPECT_EQ(gateway_of_each(assignment), (std::vector<int>{0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2}));
}

TEST(Gateways, FollowTheOrderInWhichTheNetworkRoutes) {
  // Two rows of nine; gateways are 1, 2 and 8 of the upper row. Three nodes on the left have the one at the far right, and each
  // gateway takes one of them at most. From below the first one, the way to the second leads through the first if the row is
  // changed first.
  auto machine = mesh({2, 9}, {{0, 1}, {0, 2}, {0, 8}}, {2, 0, 1, 1, 1, 2, 2, 2, 2,
                                                         2, 2, 1, 1, 1, 2, 2, 2, 2});

  const auto row_first = assign_gateways(machine, 0);
  std::get<Torus>(machine.network).route_order = {1, 0};
  const auto column_first = assign_gateways(machine, 0);

  EXPECT_EQ(gateway_of_each(row_first), (std::vector<int>{0, 0, 1, 1, 1, 2, 2, 2, 2,
                                                          2, 2, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(gateway_of_each(column_first), (std::vector<int>{0, 0, 1, 1, 1, 2, 2, 2, 2,
                                                             2, 1, 1, 1, 1, 2, 2, 2, 2}));
}

TEST(Gateways, OfAMidplaneCarryNoneOfTheOthersMessages) {
  const auto machine = midplane();
  const GatewayTraffic traffic{.ranks_per_node = 1, .bytes_per_rank = 1 << 16};

  const auto before = count_load(machine, defaults_of_all_groups(machine), traffic);
  const auto after = count_load(machine, of_all_groups(machine), traffic);

  // By default each gateway has 64 nodes, half of them on the other's side: those of the first pass the second, one of which is
  // the second itself.
  ASSERT_EQ(before.gateways.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(before.gateways[i].own, 64);
    EXPECT_EQ(before.gateways[i].transit, i % 2 == 0 ? 32 : 31);
    EXPECT_EQ(after.gateways[i].own, 64);
    EXPECT_EQ(after.gateways[i].transit, 0);
  }
  EXPECT_NEAR(spread(before.gateways).mean / spread(after.gateways).mean, 1.492, 0.001);
  EXPECT_NEAR(spread(before.gateways).deviation, 0.5 / 95.5, 1e-12);
  EXPECT_EQ(spread(after.gateways).deviation, 0);
}

TEST(Gateways, TakeNoMoreThanTheirMemoryHolds) {
  const auto assignment = assign_gateways(midplane(), 0, {.new_nodes_max = 5});
  EXPECT_EQ(assignment.weights, (std::vector<std::int64_t>{5, 5}));

}

TEST(Gateways, AreNoFurtherThanTheLimit) {
  const auto assignment = assign_gateways(midplane(), 0, {.hops_max = 2});
  for (const auto& node : assignment.nodes) EXPECT_TRUE(!node.reassigned || node.hops <= 2);
  EXPECT_GT(assignment.weights[0], 0);
}

TEST(Gateways, StayWhereTheBusiestWouldBeBusier) {
  // Two nodes behind the second gateway could go to it, and it would leave through itself: seven messages instead of six.
  const auto machine = mesh({8}, {{0}, {1}}, {});
  EXPECT_EQ(assign_gateways(machine, 0), default_gateways(machine, 0));
}

TEST(Gateways, MustBeThere) {
  auto machine = midplane();
  machine.way_out.gateways.clear();
  try {
    (void)assign_gateways(machine, 0);
    FAIL() << "no gateways, and no error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::invalid_argument);
    EXPECT_STREQ(error.what(), "the I/O groups of machine 'midplane' have no gateways");
    EXPECT_FALSE(error.hint().empty());
  }
}

// -- Machines at random ------------------------------------------------------------------------------------------------------

using Random = std::mt19937;

int between(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

// Up to four different positions in a group of `nodes`, and a default for each node.
std::vector<NodeId> random_gateways(Random& random, Machine& machine, int nodes) {
  std::vector<NodeId> positions(static_cast<std::size_t>(nodes));
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::shuffle(positions, random);
  positions.resize(static_cast<std::size_t>(between(random, 1, std::min(4, nodes))));
  if (between(random, 0, 2) > 0) {   // otherwise equal runs
    for (int i = 0; i < nodes; ++i) {
      machine.way_out.default_gateway.push_back(between(random, 0, static_cast<int>(positions.size()) - 1));
    }
  }
  return positions;
}

void group_in_runs(Random& random, Machine& machine, int nodes_per_group) {
  machine.way_out.nodes_per_group = nodes_per_group;
  for (const NodeId position : random_gateways(random, machine, nodes_per_group)) {
    machine.way_out.gateways.push_back({static_cast<int>(position)});
  }
}

Machine random_torus(Random& random) {
  Machine machine{.name = "torus"};
  Torus torus{.link_bytes_per_second = 1e9};
  const int dimensions = between(random, 1, 4);
  int nodes = 1;
  for (int d = 0; d < dimensions; ++d) {
    machine.way_out.group_extents.push_back(between(random, 1, 4));
    nodes *= machine.way_out.group_extents.back();
    torus.extents.push_back(machine.way_out.group_extents.back() * between(random, 1, 3));
    torus.wraps.push_back(between(random, 0, 2) > 0);
    torus.ties.push_back(between(random, 0, 1) == 0 ? -1 : 1);
    torus.route_order.push_back(d);
  }
  std::ranges::shuffle(torus.route_order, random);
  machine.network = torus;
  if (between(random, 0, 3) == 0) {   // routes may leave such a group
    machine.way_out.group_extents.clear();
    group_in_runs(random, machine, nodes);
    return machine;
  }
  for (NodeId position : random_gateways(random, machine, nodes)) {
    std::vector<int> coordinates(machine.way_out.group_extents.size());
    for (std::size_t d = coordinates.size(); d-- > 0;) {
      coordinates[d] = static_cast<int>(position % machine.way_out.group_extents[d]);
      position /= machine.way_out.group_extents[d];
    }
    machine.way_out.gateways.push_back(coordinates);
  }
  return machine;
}

Machine random_fat_tree(Random& random) {
  Machine machine{.name = "fat tree"};
  const int leaves = between(random, 1, 6), nodes_per_leaf = between(random, 1, 8);
  machine.network = FatTree{.nodes = leaves * nodes_per_leaf,
                            .levels = {{.down = nodes_per_leaf, .up = between(random, 1, 4), .link_bytes_per_second = 1e9},
                                       {.down = leaves, .up = 0, .link_bytes_per_second = 2e9}}};
  group_in_runs(random, machine, nodes_per_leaf * (leaves % 2 == 0 ? 2 : 1));
  return machine;
}

Machine random_dragonfly(Random& random) {
  Machine machine{.name = "dragonfly"};
  const Dragonfly network{.groups = between(random, 1, 4), .routers_per_group = between(random, 1, 4),
                          .nodes_per_router = between(random, 1, 4),
                          .node_bytes_per_second = 1e9, .local_bytes_per_second = 1e9, .global_bytes_per_second = 1e9};
  machine.network = network;
  group_in_runs(random, machine, network.routers_per_group * network.nodes_per_router);
  return machine;
}

// A route that a tree may have: in the group, no gateway between its ends. Routes go on the same way from whatever they pass.
bool is_clean(const Machine& machine, const GatewayAssignment& assignment, NodeId node, NodeId gateway) {
  const auto route = machine.nodes_on_route(node, gateway);
  for (std::size_t i = 1; i + 1 < route.size(); ++i) {
    if (machine.group_of(route[i]) != assignment.group) return false;
    if (std::ranges::find(assignment.gateways, route[i]) != assignment.gateways.end()) return false;
  }
  return true;
}

std::int64_t busiest(const Machine& machine, const GatewayAssignment& assignment) {
  const auto load = count_load(machine, {&assignment, 1}, {});
  return std::ranges::max(load.gateways, {}, &GatewayLoad::through).through();
}

void expect_promises_hold(const Machine& machine, const GatewayAssignment& assignment) {
  const auto defaults = default_gateways(machine, assignment.group);
  EXPECT_LE(busiest(machine, assignment), busiest(machine, defaults));
  if (assignment == defaults) return;
  ASSERT_EQ(assignment.nodes.size(), static_cast<std::size_t>(machine.group_size(assignment.group)));
  const auto gateways = assignment.gateways.size();
  std::vector<std::int64_t> weights(gateways);
  std::int64_t closer_exists = 0;
  std::vector<std::vector<std::size_t>> closer_of(assignment.nodes.size());
  for (std::size_t i = 0; i < assignment.nodes.size(); ++i) {
    const NodeId node = machine.node_in_group(assignment.group, static_cast<NodeId>(i));
    const auto& assigned = assignment.nodes[i];
    ASSERT_GE(assigned.gateway, 0);
    ASSERT_LT(static_cast<std::size_t>(assigned.gateway), gateways);
    const NodeId gateway = assignment.gateways[static_cast<std::size_t>(assigned.gateway)];
    EXPECT_EQ(machine.group_of(gateway), assignment.group);
    EXPECT_EQ(assigned.hops, machine.hops(node, gateway));
    for (std::size_t g = 0; g < gateways; ++g) {
      const NodeId other = assignment.gateways[g];
      if (machine.hops(node, other) < defaults.nodes[i].hops && is_clean(machine, assignment, node, other)) {
        closer_of[i].push_back(g);
      }
      EXPECT_TRUE(node != other || assigned.gateway == static_cast<int>(g)) << "a gateway is not its own";
    }
    closer_exists += closer_of[i].empty() ? 0 : 1;
    if (!assigned.reassigned) {
      EXPECT_EQ(assigned, defaults.nodes[i]);
      continue;
    }
    ++weights[static_cast<std::size_t>(assigned.gateway)];
    EXPECT_LT(assigned.hops, defaults.nodes[i].hops);
    EXPECT_TRUE(is_clean(machine, assignment, node, gateway));
  }
  EXPECT_EQ(weights, assignment.weights);
  const auto average = static_cast<double>(closer_exists) / static_cast<double>(gateways);
  for (const auto weight : weights) EXPECT_LT(static_cast<double>(weight), average + 1);
  // No node is left behind but where the gateways that are closer have their share.
  for (std::size_t i = 0; i < assignment.nodes.size(); ++i) {
    if (assignment.nodes[i].reassigned) continue;
    for (const std::size_t g : closer_of[i]) EXPECT_GE(static_cast<double>(weights[g]), average);
  }
}

TEST(Gateways, KeepTheirPromisesOnAnyMachine) {
  std::int64_t reassigned = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto machine = seed % 3 == 0 ? random_fat_tree(random) : seed % 3 == 1 ? random_dragonfly(random) : random_torus(random);
    const auto assignments = of_all_groups(machine);
    for (const auto& assignment : assignments) {
      expect_promises_hold(machine, assignment);
      EXPECT_EQ(assignment, assign_gateways(machine, assignment.group));
      reassigned += std::accumulate(assignment.weights.begin(), assignment.weights.end(), std::int64_t{0});
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(reassigned, 1000);
}

TEST(Gateways, AreNeverPassedMoreOftenThanByDefault) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const auto machine = random_torus(random);
    const auto transit = [&](const std::vector<GatewayAssignment>& assignments) {
      std::int64_t sum = 0;
      for (const auto& gateway : count_load(machine, assignments, {}).gateways) sum += gateway.transit;
      return sum;
    };
    EXPECT_LE(transit(of_all_groups(machine)), transit(defaults_of_all_groups(machine))) << seed;
  }
}

}  // namespace
}  // namespace glean::plan
