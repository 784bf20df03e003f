// SPDX-License-Identifier: BSD-3-Clause
//
// What holds for every machine, on machines of all kinds that were chosen by chance.
#include "topology/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "base/error.hpp"

namespace glean::topology {
namespace {

using Random = std::mt19937_64;

int between(Random& random, int least, int most) { return std::uniform_int_distribution(least, most)(random); }

WayOut any_runs(Random& random, NodeId nodes) {
  WayOut way_out{.nodes_per_group = between(random, 1, static_cast<int>(nodes))};
  way_out.gateways = {{between(random, 0, static_cast<int>(way_out.nodes_per_group) - 1)}, {0}};
  return way_out;
}

Machine any_torus(Random& random) {
  Torus torus;
  WayOut way_out;
  for (int d = between(random, 1, 5); d > 0; --d) {
    const int box = between(random, 1, 3);
    way_out.group_extents.push_back(box);
    torus.extents.push_back(box * between(random, 1, 3));
    torus.wraps.push_back(between(random, 0, 1) == 1);
    torus.ties.push_back(between(random, 0, 1) == 1 ? 1 : -1);
    torus.route_order.push_back(static_cast<int>(torus.route_order.size()));
  }
  std::shuffle(torus.route_order.begin(), torus.route_order.end(), random);
  std::vector<int> gateway;
  for (const int box : way_out.group_extents) gateway.push_back(between(random, 0, box - 1));
  way_out.gateways = {gateway, std::vector<int>(gateway.size(), 0)};
  return {.network = torus, .way_out = way_out};
}

Machine torus_with_routers_only(Random& random) {
  Machine machine = any_torus(random);
  Torus& torus = std::get<Torus>(machine.network);
  torus.nodes = between(random, 1, static_cast<int>(machine.nodes()));
  machine.way_out = any_runs(random, torus.nodes);
  return machine;
}

Machine any_fat_tree(Random& random) {
  FatTree tree;
  int room = 1;
  for (int level = between(random, 1, 4); level > 0; --level) {
    tree.levels.push_back({.down = between(random, 1, 5), .up = level > 1 ? between(random, 1, 4) : 0});
    room *= tree.levels.back().down;
  }
  tree.nodes = between(random, 1, room);
  return {.network = tree, .way_out = any_runs(random, tree.nodes)};
}

Machine any_dragonfly(Random& random) {
  Dragonfly dragonfly{
      .groups = between(random, 1, 9), .routers_per_group = between(random, 1, 6), .nodes_per_router = between(random, 1, 3)};
  const int room = dragonfly.groups * dragonfly.routers_per_group * dragonfly.nodes_per_router;
  dragonfly.nodes = between(random, 0, room);
  return {.network = dragonfly, .way_out = any_runs(random, dragonfly.nodes > 0 ? dragonfly.nodes : room)};
}

// Calls `check` for many machines.
void for_tori(const std::function<void(const Machine&)>& check) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, "seed " + std::to_string(seed));
    Random random(seed);
    check(any_torus(random));
    check(torus_with_routers_only(random));
  }
}

void for_switched(const std::function<void(const Machine&)>& check) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, "seed " + std::to_string(seed));
    Random random(seed);
    check(any_fat_tree(random));
    check(any_dragonfly(random));
  }
}

void for_all(const std::function<void(const Machine&)>& check) {
  for_tori(check);
  for_switched(check);
}

TEST(AnyMachine, IsOne) {
  for_all([](const Machine& any) { EXPECT_EQ(problems_of(any), std::vector<std::string>{}); });
}

TEST(AnyMachine, FindsEveryNodeAtItsCoordinates) {
  for_all([](const Machine& any) {
    std::set<Coordinates> seen;
    for (NodeId node = 0; node < any.nodes(); ++node) {
      const Coordinates at = any.coordinates(node);
      EXPECT_EQ(any.node_at(at), node);
      EXPECT_TRUE(seen.insert(at).second);
    }
    Coordinates outside = any.coordinates(0);
    outside.front() = -1;
    EXPECT_FALSE(any.node_at(outside));
    EXPECT_FALSE(any.node_at({}));
  });
}

TEST(AnyMachine, RoutesAreConnectedAndAsLongAsSaid) {
  for_all([](const Machine& any) {
    Random random(7);
    for (int i = 0; i < 300; ++i) {
      const NodeId from = between(random, 0, static_cast<int>(any.nodes()) - 1);
      const NodeId to = between(random, 0, static_cast<int>(any.nodes()) - 1);

      const std::vector<Link> route = any.route(from, to);

      ASSERT_EQ(static_cast<int>(route.size()), any.hops(from, to)) << from << " to " << to;
      // The global link of a dragonfly depends on the destination.
      EXPECT_NEAR(any.hops(from, to), any.hops(to, from), std::holds_alternative<Dragonfly>(any.network) ? 2 : 0);
      std::int64_t at = from;
      std::set<std::int64_t> visited = {from};
      for (const Link& link : route) {
        EXPECT_EQ(link.from, at);
        at = link.to;
        EXPECT_TRUE(visited.insert(at).second) << "goes in a circle";
      }
      EXPECT_EQ(at, to);
      const std::vector<NodeId> passed = any.nodes_on_route(from, to);
      EXPECT_EQ(passed.front(), from);
      EXPECT_EQ(passed.back(), to);
    }
  });
}

TEST(AnyMachine, LinksEveryNodeToOneSwitch) {
  for_switched([](const Machine& any) {
    std::map<std::int64_t, std::set<std::int64_t>> switches;
    for (NodeId from = 0; from < any.nodes(); from += 3) {
      for (NodeId to = 0; to < any.nodes(); ++to) {
        for (const Link& link : any.route(from, to)) {
          EXPECT_GE(std::max(link.from, link.to), any.nodes()) << "nodes are linked to switches only";
          if (link.from < any.nodes()) switches[link.from].insert(link.to);
          if (link.to < any.nodes()) switches[link.to].insert(link.from);
        }
      }
    }
    for (const auto& [node, others] : switches) EXPECT_EQ(others.size(), 1U) << node;
  });
}

TEST(AnyMachine, NeighboursAreMutualAndAsNearAsAnyNode) {
  for_all([](const Machine& any) {
    for (NodeId node = 0; node < any.nodes(); ++node) {
      for (const NodeId neighbour : any.neighbours(node)) {
        const std::vector<NodeId> back = any.neighbours(neighbour);
        EXPECT_EQ(std::count(back.begin(), back.end(), node), 1);
        EXPECT_EQ(any.hops(node, neighbour), std::holds_alternative<Torus>(any.network) ? 1 : 2);
      }
    }
  });
}

TEST(AnyMachine, HasEveryNodeInOneGroup) {
  for_all([](const Machine& any) {
    std::set<NodeId> seen;
    for (GroupId group = 0; group < any.groups(); ++group) {
      EXPECT_GE(any.group_size(group), 1);
      for (NodeId index = 0; index < any.group_size(group); ++index) {
        const NodeId node = any.node_in_group(group, index);
        EXPECT_TRUE(seen.insert(node).second);
        EXPECT_EQ(any.group_of(node), group);
        EXPECT_EQ(any.index_in_group(node), index);
      }
    }
    EXPECT_EQ(static_cast<NodeId>(seen.size()), any.nodes());
    EXPECT_EQ(*seen.rbegin(), any.nodes() - 1);
  });
}

TEST(AnyMachine, HasItsGatewaysInsideOfTheirGroups) {
  for_all([](const Machine& any) {
    for (NodeId node = 0; node < any.nodes(); ++node) {
      const std::vector<NodeId> gateways = any.gateways(any.group_of(node));
      for (const NodeId gateway : gateways) EXPECT_EQ(any.group_of(gateway), any.group_of(node));
      ASSERT_TRUE(any.default_gateway(node));
      EXPECT_NE(std::count(gateways.begin(), gateways.end(), *any.default_gateway(node)), 0);
    }
  });
}

TEST(AnyMachine, HasPartsWhoseNodesKeepTheirPlaces) {
  for_switched([](const Machine& any) {
    const NodeId half = (any.nodes() + 1) / 2;

    const Machine part = partition(any, half);

    EXPECT_EQ(part.nodes(), half);
    for (NodeId node = 0; node < part.nodes(); ++node) {
      EXPECT_EQ(part.coordinates(node), any.coordinates(node));
      EXPECT_EQ(part.hops(0, node), any.hops(0, node));
    }
  });
}

TEST(Machine, WithoutAWordAboutGroupsHasANodeInEach) {
  const Machine machine{.network = FatTree{.nodes = 3, .levels = {{.down = 3}}}};

  EXPECT_EQ(machine.groups(), 3);
  EXPECT_EQ(machine.group_of(2), 2);
  EXPECT_TRUE(machine.gateways(0).empty());
  EXPECT_FALSE(machine.default_gateway(1));
}

TEST(Machine, AssignsEqualRunsToItsGatewaysUnlessToldOtherwise) {
  Machine machine{.network = FatTree{.nodes = 8, .levels = {{.down = 8}}}, .way_out = {.nodes_per_group = 4, .gateways = {{0}, {3}}}};
  EXPECT_EQ(machine.default_gateway(5), 4);
  EXPECT_EQ(machine.default_gateway(6), 7);

  machine.way_out.default_gateway = {1, 0, 1, 0};
  EXPECT_EQ(machine.default_gateway(5), 4);
  EXPECT_EQ(machine.default_gateway(6), 7);
  EXPECT_EQ(machine.default_gateway(4), 7);
}

TEST(Machine, HasGatewaysInASmallerLastGroupToo) {
  const Machine machine{.network = FatTree{.nodes = 5, .levels = {{.down = 8}}}, .way_out = {.nodes_per_group = 4, .gateways = {{1}, {3}}}};

  EXPECT_EQ(machine.gateways(0), (std::vector<NodeId>{1, 3}));
  EXPECT_EQ(machine.gateways(1), std::vector<NodeId>{4});
  EXPECT_EQ(machine.default_gateway(4), 4);
}

TEST(Machine, NamesEverythingThatCannotBe) {
  const auto says = [](const Machine& machine, const std::string& what) {
    const std::vector<std::string> problems = problems_of(machine);
    return std::any_of(problems.begin(), problems.end(), [&](const std::string& p) { return p.find(what) != std::string::npos; });
  };
  const Torus torus{.extents = {4, 4}};
  EXPECT_TRUE(says({.network = Torus{}}, "extents"));
  EXPECT_TRUE(says({.network = Torus{.extents = {4, 0}}}, "extents"));
  EXPECT_TRUE(says({.network = Torus{.extents = std::vector<int>(9, 1 << 20)}}, "extents"));
  EXPECT_TRUE(says({.network = Torus{.extents = {4}, .wraps = {true, true}}}, "wraps has 2 entries"));
  EXPECT_TRUE(says({.network = Torus{.extents = {4, 4}, .route_order = {1, 1}}}, "route_order"));
  EXPECT_TRUE(says({.network = Torus{.extents = {4}, .ties = {0}}}, "ties"));
  EXPECT_TRUE(says({.network = Torus{.extents = {4}, .nodes = 5}}, "5 nodes"));
  EXPECT_TRUE(says({.network = Torus{.extents = {4}, .partitions = {{.extents = {8}}}}}, "partition 8: is larger"));
  EXPECT_TRUE(says({.network = torus, .way_out = {.group_extents = {2, 3}}}, "2x3 do not divide 4x4"));
  EXPECT_TRUE(says({.network = torus, .way_out = {.group_extents = {2, 2}, .gateways = {{0, 2}}}}, "[0, 2] is outside"));
  EXPECT_TRUE(says({.network = torus, .way_out = {.nodes_per_group = 4, .gateways = {{4}}}}, "[4] is outside"));
  EXPECT_TRUE(says({.network = torus, .way_out = {.nodes_per_group = 1, .gateways = {{0}}, .default_gateway = {1}}}, "there are 1"));
  EXPECT_TRUE(says({.network = torus, .way_out = {.nodes_per_group = 8, .gateways = {{5}}, .default_gateway = {0}}}, "1 entries"));
  EXPECT_TRUE(says({.network = FatTree{.nodes = 9, .levels = {{.down = 8}}}}, "room for 8"));
  EXPECT_TRUE(says({.network = FatTree{.nodes = 9, .levels = {{.down = 8}, {.down = 2}}}}, "level 0"));
  EXPECT_TRUE(says({.network = FatTree{}}, "at least one level"));
  EXPECT_TRUE(says({.network = Dragonfly{.groups = 0}}, "positive"));
  EXPECT_TRUE(says({.network = Dragonfly{.nodes = 2}}, "2 nodes do not fit"));
  EXPECT_TRUE(says({.network = Dragonfly{}, .way_out = {.group_extents = {1}}}, "for a torus"));
  EXPECT_TRUE(says({.network = torus, .file_system = {.targets = 0}}, "target"));
  EXPECT_TRUE(says({.network = torus, .message_seconds = -1}, "time"));
  EXPECT_EQ(problems_of({.network = torus}), std::vector<std::string>{});
}

}  // namespace
}  // namespace glean::topology
