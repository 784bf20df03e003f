// SPDX-License-Identifier: BSD-3-Clause
#include "plan/file_share.hpp"

#include <gtest/gtest.h>

#include <set>

#include "plan/random_case.hpp"

namespace glean::plan {
namespace {

using base::KiB;
using base::MiB;

TEST(FileWriters, AreAllNodesOfAPlainMachine) {
  const FileShare share{.machine = plain_machine(4), .nodes = 4, .window_bytes = 8 * KiB, .request_bytes = 4 * KiB};
  FileWriters writers(share, {.fixed_begin = 0, .fixed_end = 64 * KiB});
  std::vector<std::int64_t> of_requests;
  for (std::uint64_t request = 0; request < 16; ++request) of_requests.push_back(writers.node_of(request));
  EXPECT_EQ(of_requests, (std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}));
}

TEST(FileWriters, AreNoMoreThanMayWrite) {
  const FileShare group{.machine = plain_machine(8, 8), .nodes = 8, .aggregators = 3, .window_bytes = 4 * KiB, .request_bytes = 4 * KiB};
  const FileShare stagers = share_in_turn(4, 100, 4 * KiB, 2);
  const auto nodes_of = [](const FileShare& share, FileDomains extents) {
    FileWriters writers(share, std::move(extents));
    std::set<std::int64_t> nodes;
    for (std::uint64_t request = 0; request < 64; ++request) nodes.insert(writers.node_of(request));
    return nodes;
  };
  EXPECT_EQ(nodes_of(group, {.fixed_begin = 0, .fixed_end = 256 * KiB}).size(), 3U);
  const auto of_stagers = nodes_of(stagers, {.in_turn = true});
  EXPECT_EQ(of_stagers.size(), 2U);
  EXPECT_GE(*of_stagers.begin(), 100);
}

TEST(FileWriters, AreTheGatewaysThatAggregatorsAreReassignedTo) {
  // A group of eight nodes in a line, all of them assigned to node 0, though the last is another gateway.
  topology::Machine machine{.name = "line",
                            .network = topology::Torus{.extents = {8}, .wraps = {false}},
                            .way_out = {.group_extents = {8}, .gateways = {{0}, {7}}, .default_gateway = {0, 0, 0, 0, 0, 0, 0, 0}}};
  const auto nodes_with = [&](std::int64_t nodes) {
    FileWriters writers({.machine = machine, .nodes = nodes, .aggregators = 4, .window_bytes = 4 * KiB, .request_bytes = 4 * KiB},
                        {.fixed_begin = 0, .fixed_end = 64 * KiB});
    std::set<std::int64_t> nodes_that_write;
    for (std::uint64_t request = 0; request < 16; ++request) nodes_that_write.insert(writers.node_of(request));
    return nodes_that_write;
  };
  EXPECT_TRUE(nodes_with(8).contains(7)) << "writes on behalf of those that are near it";
  EXPECT_FALSE(nodes_with(6).contains(7)) << "has no ranks";
}

// Every rank that asks gets the same answer, and it is what the plan of the whole machine says.
TEST(FileWriters, AreThoseOfThePlanOfTheWholeMachine) {
  test::RandomCases cases(7);
  for (int n = 0; n < 200; ++n) {
    const auto given = cases.next();
    const std::int64_t nodes = 1 + n % given.machine.nodes();
    const topology::Placement placement{.ranks = nodes, .ranks_per_node = 1};
    const Choice choice = choose_share({.machine = given.machine, .nodes = nodes}, 64 * MiB, 3, given.limits);
    const Bytes window = choice.best().window_bytes;
    const FileShare share{.machine = given.machine, .nodes = nodes, .aggregators = choice.best().aggregators,
                          .window_bytes = window, .request_bytes = request_of_window(window, 1 * MiB)};
    ASSERT_EQ(share.window_bytes % share.request_bytes, 0U);
    FileDomains extents{.fixed_begin = 10 * KiB, .fixed_end = 64 * MiB};
    FileWriters writers(share, extents), again(share, extents);
    extents.window_bytes = window;
    const GroupPlan first = plan_group_with(choice, given.machine, placement, {.files = 1}, 0);
    extents.aggregators = first.domains.aggregators;
    for (std::uint64_t request = extents.fixed_end / share.request_bytes; request-- > 0;) {
      const std::int64_t domain = extents.owner(request * share.request_bytes / window);
      const GroupId group = group_of_domain(given.machine, placement, first, domain);
      const GroupPlan its = plan_group_with(choice, given.machine, placement, {.files = 1}, group);
      const auto writing = glean::plan::writers(given.machine, placement, its);
      ASSERT_EQ(writers.node_of(request), writing[static_cast<std::size_t>(domain - its.first_domain) % writing.size()].node);
      ASSERT_LT(writers.node_of(request), nodes);
      if (request % 7 == 0) {
        ASSERT_EQ(again.node_of(request), writers.node_of(request));
      }
      if (request > 64) request -= 13;
    }
  }
}

// Two of the three nodes of a part are in the second group: they are nodes 1 and 2 of the part.
TEST(FileWriters, OfSomeNodesOfTheMachineAreNumberedAmongThese) {
  topology::Machine machine = plain_machine(8);
  machine.way_out.nodes_per_group = 4;
  FileWriters writers({.machine = machine, .machine_nodes = {3, 5, 6}, .nodes = 3, .aggregators = 2, .window_bytes = 4 * KiB,
                       .request_bytes = 4 * KiB},
                      {.fixed_begin = 0, .fixed_end = 64 * KiB});
  std::set<std::int64_t> nodes;
  for (std::uint64_t request = 0; request < 16; ++request) nodes.insert(writers.node_of(request));
  EXPECT_EQ(nodes, (std::set<std::int64_t>{0, 1, 2}));
}

TEST(FileWriters, TakeWindowsInTurnWhereOnlySomeOfTheFileIsWritten) {
  const FileShare share{.machine = plain_machine(3), .nodes = 3, .window_bytes = 8 * KiB, .request_bytes = 4 * KiB};
  FileWriters writers(share, {.fixed_begin = 0, .fixed_end = 64 * KiB, .record_begin = 32 * KiB, .record_bytes = 8 * KiB, .in_turn = true});
  std::vector<std::int64_t> of_requests;
  for (std::uint64_t request = 0; request < 12; ++request) of_requests.push_back(writers.node_of(request));
  EXPECT_EQ(of_requests, (std::vector<std::int64_t>{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
}

TEST(RequestOfWindow, IsAPartOfTheWindowInWholePages) {
  EXPECT_EQ(request_of_window(8 * MiB, 8 * MiB), 8 * MiB);
  EXPECT_EQ(request_of_window(4 * KiB, 8 * MiB), 4 * KiB);
  EXPECT_EQ(request_of_window(16 * MiB, 8 * MiB), 8 * MiB);
  EXPECT_EQ(request_of_window(10 * MiB, 8 * MiB), 5 * MiB);
  EXPECT_EQ(request_of_window(12 * KiB, 8 * KiB), 4 * KiB);
}

}  // namespace
}  // namespace glean::plan
