// SPDX-License-Identifier: BSD-3-Clause
//
// Recorded machines: src/topology/discover/recorded.
#include "topology/discover/machine.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "topology/discover/interconnect.hpp"

namespace glean::topology {
namespace {

Places places_of(const std::string& machine) {
  const std::string root = std::string(GLEAN_RECORDED_MACHINES) + "/" + machine;
  return {.proc = root + "/proc", .sys = root + "/sys", .shared_memory = root, .slurm = root + "/slurm"};
}

base::Environment environment_of(const std::string& machine) {
  base::Environment environment;
  std::ifstream file(std::string(GLEAN_RECORDED_MACHINES) + "/" + machine + "/environment");
  for (std::string line; std::getline(file, line);) {
    const std::size_t equals = line.find('=');
    environment.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return environment;
}

RunningMachine discover_recorded(const std::string& machine) {
  return discover_machine(testing::TempDir(), environment_of(machine), places_of(machine));
}

TEST(DiscoverMachine, FindsAJobOfSlurmOnTwoSwitches) {
  const RunningMachine found = discover_recorded("slurm-lustre");

  const Machine& machine = found.machine;
  EXPECT_EQ(problems_of(machine), std::vector<std::string>{});
  EXPECT_EQ(found.notes, std::vector<std::string>{});
  EXPECT_EQ(machine.name, "job 3141");
  EXPECT_EQ(machine.nodes(), 4);
  EXPECT_EQ(machine.groups(), 4) << "every node is its own";
  EXPECT_EQ(machine.hops(0, 1), 2);
  EXPECT_EQ(machine.hops(0, 2), 4);
  EXPECT_EQ(machine.bytes_per_second(machine.route(0, 2)[0]), 12.5e9);
  EXPECT_EQ(machine.bytes_per_second(machine.route(0, 2)[1]), 25e9) << "enough for the two nodes below";
  EXPECT_EQ(machine.way_out.group_bytes_per_second, 12.5e9);
  EXPECT_EQ(machine.node.numa_nodes, 4);
  EXPECT_EQ(machine.node.memory_bytes, Bytes{263784788} * 1024);
  EXPECT_EQ(machine.file_system.name, "lustre");
  EXPECT_EQ(machine.file_system.targets, 56);
  EXPECT_EQ(found.here, 2);
  EXPECT_EQ(found.placement, (Placement{.ranks = 32, .ranks_per_node = 8}));
}

TEST(DiscoverMachine, FindsTheConfigurationOfSlurmThatTheEnvironmentNames) {
  base::Environment environment = environment_of("slurm-lustre");
  Places places = places_of("slurm-lustre");
  environment["SLURM_CONF"] = places.slurm + "/slurm.conf";
  places.slurm = "/nowhere";

  EXPECT_EQ(discover_machine(testing::TempDir(), environment, places).machine.hops(0, 2), 4);
}

TEST(DiscoverMachine, PutsNodesOnOneSwitchWhereNothingIsKnown) {
  base::Environment environment = environment_of("slurm-lustre");
  Places places = places_of("slurm-lustre");
  places.slurm = "/nowhere";

  const RunningMachine without_tree = discover_machine(testing::TempDir(), environment, places);
  environment["SLURM_STEP_NODELIST"] = "other[1-4]";
  const RunningMachine in_no_tree = discover_machine(testing::TempDir(), environment, places_of("slurm-lustre"));

  EXPECT_EQ(without_tree.machine.hops(0, 3), 2);
  EXPECT_EQ(without_tree.notes, std::vector<std::string>{});
  EXPECT_EQ(in_no_tree.machine.hops(0, 3), 2);
  ASSERT_EQ(in_no_tree.notes.size(), 1U);
  EXPECT_NE(in_no_tree.notes.front().find("no switch leads to node 'other1'"), std::string::npos);
}

TEST(DiscoverMachine, FindsRanksOfOpenMpiOnOneNode) {
  const RunningMachine found = discover_recorded("open-mpi");

  EXPECT_EQ(problems_of(found.machine), std::vector<std::string>{});
  EXPECT_EQ(found.machine.nodes(), 1);
  EXPECT_EQ(found.placement, (Placement{.ranks = 2, .ranks_per_node = 2}));
  EXPECT_EQ(found.machine.file_system.name, "ext4");
  EXPECT_EQ(found.here, 0);
}

TEST(DiscoverMachine, FindsThisMachine) {
  const RunningMachine found = discover_machine(testing::TempDir());

  EXPECT_EQ(problems_of(found.machine), std::vector<std::string>{});
  EXPECT_GE(found.machine.node.cores, 1);
  EXPECT_THROW(static_cast<void>(discover_machine("/does/not/exist")), base::Error);
}

TEST(DiscoverPort, TakesTheFastestThatIsUp) {
  EXPECT_EQ(discover_port(places_of("slurm-lustre")), (Port{"mlx5_0", 12.5e9, true})) << "mlx5_1 is down";
  EXPECT_EQ(discover_port(places_of("open-mpi")), Port{});
}

TEST(DiscoverPort, TakesEthernetWhereThereIsNothingElse) {
  const auto root = std::filesystem::path(testing::TempDir()) / "glean-ports";
  for (const auto& [name, state, speed] : {std::tuple{"lo", "unknown", "0"}, {"eth0", "up", "1000"}, {"eth1", "up", "25000"},
                                           {"eth2", "down", "-1"}, {"eth3", "up", "-1"}}) {
    std::filesystem::create_directories(root / "class/net" / name);
    std::ofstream(root / "class/net" / name / "operstate") << state << '\n';
    std::ofstream(root / "class/net" / name / "speed") << speed << '\n';
  }

  const Port port = discover_port({.sys = root});
  std::filesystem::remove_all(root);

  EXPECT_EQ(port, (Port{"eth1", 25e9 / 8}));
}

}  // namespace
}  // namespace glean::topology
