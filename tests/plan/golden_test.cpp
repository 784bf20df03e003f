// SPDX-License-Identifier: BSD-3-Clause
//
// Plans as text. An engineer who changes the model or a machine reads the difference as carefully as code.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "plan/explain.hpp"
#include "topology/machine_files.hpp"

namespace glean::plan {
namespace {

using base::GiB;
using base::KiB;
using base::MiB;
using topology::Placement;

topology::Machine part_of(const char* name, const Placement& placement) {
  return topology::partition(topology::load_machine(name, {MACHINES}), placement.nodes());
}

void expect_golden(const std::string& name, const topology::Machine& machine, const Placement& placement, const Request& request,
                   const Limits& limits = {}) {
  const Plan made = plan(machine, placement, request, limits);
  const std::string text = summary(machine, placement, request, made) + "\n" + explain(made.choice);
  const std::filesystem::path path = std::filesystem::path(GOLDEN) / (name + ".txt");
  if (std::getenv("GLEAN_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  ASSERT_TRUE(file) << "no " << path;
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "GLEAN_WRITE_GOLDEN=1 writes " << path;
}

constexpr Placement rack{.ranks = 4096, .ranks_per_node = 4};

TEST(Golden, BlueGenePOneRackToStagers) {
  expect_golden("intrepid_rack_stagers", part_of("intrepid", rack), rack,
                {.bytes_per_rank = 64 * KiB, .sink = Sink::stagers});
}

TEST(Golden, BlueGenePOneRackToOneFile) {
  expect_golden("intrepid_rack_storage", part_of("intrepid", rack), rack,
                {.bytes_per_rank = MiB, .pattern = Pattern::flash, .variables = 24, .files = 1});
}

TEST(Golden, BlueGeneQ512Nodes) {
  const Placement placement{.ranks = 8192, .ranks_per_node = 16};
  expect_golden("mira_512", part_of("mira", placement), placement,
                {.bytes_per_rank = MiB, .pattern = Pattern::s3d, .variables = 16});
}

TEST(Golden, TwoNodesOfACluster) {
  const Placement placement{.ranks = 128, .ranks_per_node = 64};
  expect_golden("cluster_2", part_of("fat-tree", placement), placement, {.bytes_per_rank = 16 * MiB});
}

TEST(Golden, OneNode) {
  const Placement placement{.ranks = 8, .ranks_per_node = 64};
  expect_golden("cluster_1", part_of("fat-tree", placement), placement, {.bytes_per_rank = 64 * MiB});
}

TEST(Golden, RanksThatAreNotPlacedEvenly) {
  // As a batch system hands out what is free: three nodes of one pset, two of another, with one to four ranks.
  const Placement placement{.listed = {0, 0, 0, 0, 21, 21, 42, 70, 70, 70, 71}};
  const topology::Machine machine = topology::partition(topology::load_machine("intrepid", {MACHINES}), 128);
  expect_golden("ragged_placement", machine, placement, {.bytes_per_rank = 100 * MiB, .sink = Sink::stagers});
}

TEST(Golden, RanksWithNothingToWrite) {
  expect_golden("nothing_to_write", part_of("intrepid", rack), rack,
                {.bytes_per_rank = MiB, .exceptions = {{1024, 1536, 0}}, .sink = Sink::stagers});
}

TEST(Golden, OneRankWithEverything) {
  expect_golden("one_has_everything", part_of("intrepid", rack), rack,
                {.bytes_per_rank = 0, .exceptions = {{1000, 1, GiB}}, .files = 1});
}

// Positions in their group, with lines to the aggregators, and from these to the gateways.
TEST(Golden, AGroupAsAGraph) {
  const Placement placement{.ranks = 8, .ranks_per_node = 1};
  topology::Machine machine;
  machine.name = "eight";
  machine.network = topology::Torus{.extents = {2, 4}, .link_bytes_per_second = 1e9};
  machine.way_out.group_extents = {2, 4};
  machine.way_out.gateways = {{0, 0}};
  machine.way_out.gateway_bytes_per_second = 1e9;
  const Limits limits{.aggregators_min = 2, .aggregators_max = 2};
  const GroupPlan group = plan_group(machine, placement, {.bytes_per_rank = MiB, .sink = Sink::stagers}, limits, 0);

  const std::string dot = to_dot(machine, group);

  EXPECT_EQ(dot.substr(0, dot.find(';')), "digraph group_0 {\n  label=\"eight, I/O group 0\"");
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = dot.find(what); at != std::string::npos; at = dot.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("fillcolor=\"#"), 8);
  EXPECT_EQ(count("penwidth=3"), 2);
  EXPECT_EQ(count(" -> n"), 6);
  EXPECT_EQ(count(" -> g1 [label=\"4 MiB\"]"), 2);
  EXPECT_EQ(count("label=\"gateway 0\""), 1);
}

}  // namespace
}  // namespace glean::plan
