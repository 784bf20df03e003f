// SPDX-License-Identifier: BSD-3-Clause
#include "plan/gateway_load.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace glean::plan {
namespace {

using topology::Link;

// 0 1 2 3 4 in a line; gateways are 0 and 2, and nodes 1 and 3 have the wrong one by default.
topology::Machine line() {
  topology::Machine machine{.name = "line"};
  machine.network =
      topology::Torus{.extents = {5}, .wraps = {false}, .route_order = {0}, .ties = {1}, .link_bytes_per_second = 1e9};
  machine.way_out = {.group_extents = {5}, .gateways = {{0}, {2}}, .default_gateway = {0, 1, 1, 0, 0}};
  return machine;
}

TEST(GatewayLoad, CountsWhatEndsAndWhatPasses) {
  const auto machine = line();
  const std::vector<GatewayAssignment> assignments{default_gateways(machine, 0)};

  const auto load = count_load(machine, assignments, {.ranks_per_node = 4});

  EXPECT_EQ(load.gateways, (std::vector<GatewayLoad>{{.gateway = 0, .own = 12, .transit = 0}, {.gateway = 2, .own = 8, .transit = 8}}));
  EXPECT_EQ(load.links, (std::vector<LinkLoad>{{.link = Link{1, 0}, .messages = 8},
                                               {.link = Link{1, 2}, .messages = 4},
                                               {.link = Link{2, 1}, .messages = 8},
                                               {.link = Link{3, 2}, .messages = 8},
                                               {.link = Link{4, 3}, .messages = 4}}));
}

TEST(GatewayLoad, SaysWhatGatewaysWriteOnBehalfAndHold) {
  const auto machine = line();
  const std::vector<GatewayAssignment> assignments{assign_gateways(machine, 0)};
  EXPECT_EQ(assignments[0].weights, (std::vector<std::int64_t>{0, 1}));

  const auto load = count_load(machine, assignments, {.ranks_per_node = 4, .bytes_per_rank = 1000});

  const GatewayLoad second{.gateway = 2, .own = 12, .transit = 4, .on_behalf = 4, .held_bytes = 4000};
  EXPECT_EQ(load.gateways[1], second);
  EXPECT_EQ(load.gateways[1].through(), 16);
}

TEST(GatewayLoad, CutsWritesIntoMessages) {
  GatewayTraffic traffic{.ranks_per_node = 3, .bytes_per_rank = 1000, .message_bytes = 512};
  EXPECT_EQ(traffic.bytes_of_node(), 3000U);
  EXPECT_EQ(traffic.messages_of_node(), 6);
  traffic.write = GatewayTraffic::Write::of_node;
  EXPECT_EQ(traffic.messages_of_node(), 6);
  traffic.bytes_per_rank = 100;
  EXPECT_EQ(traffic.messages_of_node(), 1);
  traffic.message_bytes = 0;
  EXPECT_EQ(traffic.messages_of_node(), 1);
  traffic.write = GatewayTraffic::Write::of_rank;
  EXPECT_EQ(traffic.messages_of_node(), 3);
}

TEST(GatewayLoad, IsSpreadAsItIs) {
  const std::vector<GatewayLoad> gateways{{.gateway = 0, .own = 90}, {.gateway = 1, .own = 100, .transit = 10}};
  EXPECT_DOUBLE_EQ(spread(gateways).mean, 100);
  EXPECT_DOUBLE_EQ(spread(gateways).deviation, 0.1);
  EXPECT_EQ(spread({}).mean, 0);
  EXPECT_EQ(spread({}).deviation, 0);
}

}  // namespace
}  // namespace glean::plan
