// SPDX-License-Identifier: BSD-3-Clause
#include "topology/text.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace glean::topology {
namespace {

Machine everything() {
  return {.name = "all \"quoted\" and\nmore",
          .description = "every field has a value",
          .node = {.cores = 4, .numa_nodes = 2, .memory_bytes = 2 * base::GiB, .copy_bytes_per_second = 1e9 / 3,
                   .memory_bytes_per_second = 3e9, .receive_bytes_per_second = 135e6},
          .network = Torus{.extents = {4, 2},
                           .wraps = {true, false},
                           .route_order = {1, 0},
                           .ties = {-1, 1},
                           .dimension_bytes_per_second = {425e6, 6.7 * 1024 * 1024},
                           .partitions = {{.extents = {2, 2}, .wraps = {false, false}, .route_order = {0, 1}}, {.extents = {4, 2}}}},
          .way_out = {.group_extents = {2, 2},
                      .gateways = {{0, 0}, {1, 0}},
                      .default_gateway = {0, 1, 0, 1},
                      .gateway_bytes_per_second = 2e9,
                      .tree_bytes_per_second = 850e6,
                      .group_bytes_per_second = 4e9,
                      .message_seconds = 0.0001026,
                      .concurrent_messages = 4},
          .file_system = {.name = "gpfs",
                          .block_bytes = 8 * base::MiB,
                          .stripe_count = 4,
                          .stripe_bytes = base::MiB,
                          .targets = 128,
                          .bytes_per_second = 47e9,
                          .target_bytes_per_second = 47e9 / 128,
                          .request_seconds = 2e-5,
                          .create_seconds = 0.5,
                          .sustained_bytes_per_second = 15e9,
                          .lock_seconds = 0.0004,
                          .directory_create_seconds = 0.006},
          .staging = {.nodes = 100, .bytes_per_second = 670.0 * 1024 * 1024, .network_bytes_per_second = 55e9},
          .message_seconds = 3e-6,
          .offset_bytes = 400,
          .collective_aggregators = 8};
}

std::string problems_in(const std::string& text) {
  try {
    static_cast<void>(machine_from_toml(text, "m.toml"));
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::invalid_config);
    return error.what();
  }
  return "none";
}

TEST(MachineText, ReadsBackWhatWasWritten) {
  const Machine torus = everything();
  Machine tree = torus;
  tree.network = FatTree{.nodes = 5, .levels = {{.down = 4, .up = 2, .link_bytes_per_second = 1e9}, {.down = 2}}};
  tree.way_out = {.nodes_per_group = 4, .gateways = {{0}}};
  Machine dragonfly = tree;
  dragonfly.network = Dragonfly{.groups = 3, .routers_per_group = 4, .nodes_per_router = 2, .node_bytes_per_second = 1,
                                .local_bytes_per_second = 2, .global_bytes_per_second = 3.5, .nodes = 17};
  for (const Machine& machine : {torus, tree, dragonfly}) {
    const std::string text = to_toml(machine);
    EXPECT_EQ(machine_from_toml(text, "m.toml"), machine) << text;
    EXPECT_EQ(to_toml(machine_from_toml(text, "m.toml")), text);
  }
}

TEST(MachineText, IsWhatPeopleWouldWrite) {
  EXPECT_EQ(to_toml({.name = "two", .network = FatTree{.nodes = 2, .levels = {{.down = 2, .link_bytes_per_second = 12.5e9}}},
                     .file_system = {.name = "ext4", .block_bytes = 4096}}),
            "name = 'two'\n\n[node]\ncores = 1\nnuma_nodes = 1\n\n"
            "[network]\nkind = 'fat-tree'\nnodes = 2\n\n[[network.level]]\ndown = 2\nlink_rate = '12.5GB/s'\n\n"
            "[way_out]\n\n[file_system]\nname = 'ext4'\nblock = '4KiB'\ntargets = 1\n");
}

TEST(MachineText, NamesTheNearestKnownKeyAndAllProblemsAtOnce) {
  const std::string said = problems_in("naem = 'x'\n[network]\nkind = 'torus'\nextents = [2]\nlink_rat = '1GB/s'\n[way_uot]\n");

  EXPECT_NE(said.find("3 problems"), std::string::npos) << said;
  EXPECT_NE(said.find("m.toml:1: unknown key 'naem'; did you mean 'name'?"), std::string::npos) << said;
  EXPECT_NE(said.find("m.toml:5: unknown key 'network.link_rat'; did you mean 'network.link_rate'?"), std::string::npos) << said;
  EXPECT_NE(said.find("m.toml:6: unknown key 'way_uot'; did you mean 'way_out'?"), std::string::npos) << said;
}

TEST(MachineText, RefusesFiguresWithoutTheirUnit) {
  const std::string torus = "[network]\nkind = 'torus'\nextents = [2]\n";
  EXPECT_EQ(problems_in(torus + "link_rate = 425"),
            "machine: m.toml:4: network.link_rate takes a rate with its unit, such as \"425MB/s\"");
  EXPECT_NE(problems_in(torus + "link_rate = '425'").find("a rate with its unit"), std::string::npos);
  EXPECT_NE(problems_in(torus + "link_rate = '425MB'").find("a rate with its unit"), std::string::npos);
  EXPECT_NE(problems_in(torus + "dimension_rates = [1]").find("a list of rates"), std::string::npos);
  EXPECT_NE(problems_in(torus + "[file_system]\nblock = '4096'").find("bytes with their unit"), std::string::npos);
  EXPECT_NE(problems_in(torus + "[way_out]\nmessage_time = '1.5'").find("a time with its unit"), std::string::npos);
}

TEST(MachineText, RefusesWhatIsOfAnotherKind) {
  EXPECT_NE(problems_in("").find("a machine has a [network]"), std::string::npos);
  EXPECT_NE(problems_in("[network]\nextents = [2]").find("network.kind is missing"), std::string::npos);
  EXPECT_NE(problems_in("[network]\nkind = 'fattree'").find("did you mean 'fat-tree'?"), std::string::npos);
  EXPECT_NE(problems_in("network = 1").find("network takes a table, [network]"), std::string::npos);
  EXPECT_NE(problems_in("[network]\nkind = 'torus'\nextents = 4").find("takes whole numbers"), std::string::npos);
  EXPECT_NE(problems_in("[network]\nkind = 'torus'\nextents = [4.5]").find("takes whole numbers"), std::string::npos);
  EXPECT_NE(problems_in("[network]\nkind = 'torus'\nextents = [99999999999]").find("takes whole numbers"), std::string::npos);
  EXPECT_NE(problems_in("[network]\nkind = 'torus'\nextents = [4]\nwraps = [1]").find("takes true and false"), std::string::npos);
  EXPECT_NE(problems_in("[network]\nkind = 'fat-tree'\nlevel = 1").find("takes tables, [[network.level]]"), std::string::npos);
  EXPECT_NE(problems_in("name = ").find("m.toml:1: "), std::string::npos);
  EXPECT_NE(problems_in("[network]\nkind = 'torus'\nextents = [4, 0]").find("m.toml: extents have to be positive"), std::string::npos);
}

}  // namespace
}  // namespace glean::topology
