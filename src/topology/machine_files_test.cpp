// SPDX-License-Identifier: BSD-3-Clause
//
// The files in machines/, against what has been published about these machines.
#include "topology/machine_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/error.hpp"
#include "topology/text.hpp"

namespace glean::topology {
namespace {

TEST(MachineFiles, AreAllThereAndReadBackAsTheyAreWritten) {
  const std::vector<std::string> names = machine_names();
  for (const char* name : {"dragonfly", "fat-tree", "intrepid", "jaguar", "jugene", "mira", "theta"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  for (const std::string& name : names) {
    const Machine machine = load_machine(name);
    EXPECT_EQ(machine.name, name);
    EXPECT_NE(machine.description, "");
    EXPECT_EQ(machine_from_toml(to_toml(machine), name), machine);
  }
}

TEST(MachineFiles, HaveThePublishedNumbersOfNodesAndIoNodes) {
  const auto expect = [](const char* name, NodeId nodes, GroupId groups, NodeId nodes_per_group) {
    const Machine machine = load_machine(name);
    EXPECT_EQ(machine.nodes(), nodes) << name;
    EXPECT_EQ(machine.groups(), groups) << name;
    EXPECT_EQ(machine.group_size(0), nodes_per_group) << name;
  };
  expect("intrepid", 40 * 1024, 640, 64);
  expect("jugene", 72 * 1024, 72 * 8, 128);
  expect("mira", 49152, 384, 128);
}

TEST(MachineFiles, HandOutEveryPartitionTheyName) {
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name);
    const auto* torus = std::get_if<Torus>(&machine.network);
    if (!torus) continue;
    for (const TorusPart& shape : torus->partitions) {
      NodeId nodes = 1;
      for (const int extent : shape.extents) nodes *= extent;
      const Machine part = partition(machine, nodes);
      EXPECT_EQ(part.nodes(), nodes) << name;
      EXPECT_EQ(part.groups(), nodes / part.group_size(0)) << name;
    }
  }
}

TEST(MachineFiles, GiveJaguarATorusWithServiceNodes) {
  const Machine jaguar = load_machine("jaguar");

  EXPECT_EQ(jaguar.nodes(), 18688);
  EXPECT_EQ(jaguar.file_system.targets, 672);
  EXPECT_EQ(partition(jaguar, 1000).nodes(), 1000) << "any number of nodes";
}

// Slides on bridge nodes, "Network counter": a bridge node passes 1.4 times as many messages as are its own, because it is on
// the way to others.
TEST(MachineFiles, SendMessagesOverBridgeNodesOfMiraAsOftenAsMeasured) {
  const Machine mira = partition(load_machine("mira"), 2048);
  std::set<NodeId> bridges;
  for (GroupId group = 0; group < mira.groups(); ++group) {
    for (const NodeId bridge : mira.gateways(group)) bridges.insert(bridge);
  }
  std::map<NodeId, int> assigned;
  int passed = 0;
  for (NodeId node = 0; node < mira.nodes(); ++node) {
    const NodeId bridge = *mira.default_gateway(node);
    ++assigned[bridge];
    for (const NodeId on_route : mira.nodes_on_route(node, bridge)) {
      if (bridges.count(on_route) != 0) ++passed;
    }
  }

  EXPECT_EQ(bridges.size(), 32U);
  for (const auto& [bridge, nodes] : assigned) EXPECT_EQ(nodes, 64) << bridge;
  const double ratio = passed / static_cast<double>(mira.nodes());
  EXPECT_GE(ratio, 1.40);
  EXPECT_LE(ratio, 1.50);
}

class OwnMachineFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "glean-machines-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    std::ofstream(directory_ + "/mira.toml") << "name = 'mine'\n[network]\nkind = 'fat-tree'\nnodes = 1\n[[network.level]]\n";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

TEST_F(OwnMachineFiles, AreFoundByPathAndInTheDirectoryThatTheVariableNames) {
  EXPECT_EQ(load_machine(directory_ + "/mira.toml").name, "mine");
  EXPECT_EQ(load_machine("mira").name, "mira");
  setenv("GLEAN_MACHINES", directory_.c_str(), 1);
  EXPECT_EQ(load_machine("mira").name, "mine");
  EXPECT_EQ(load_machine("jugene").name, "jugene") << "the others are still there";
  unsetenv("GLEAN_MACHINES");
}

TEST_F(OwnMachineFiles, ThatAreNotThereAreNamedWithTheNearest) {
  const auto says = [](const std::string& name, const std::vector<std::string>& directories) {
    try {
      static_cast<void>(load_machine(name, directories));
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::Errc::not_found);
      return error.what() + ("|" + error.hint());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(says("mria", {directory_}), "there is no machine 'mria'; did you mean 'mira'?|known are mira; a file is named by a path");
  EXPECT_NE(says("mira", {directory_ + "/none"}).find("GLEAN_MACHINES"), std::string::npos);
  EXPECT_NE(says(directory_ + "/none.toml", {}).find("none.toml"), std::string::npos);
}

}  // namespace
}  // namespace glean::topology
