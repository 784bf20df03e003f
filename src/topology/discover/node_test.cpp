// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "topology/discover/discover.hpp"

namespace glean::topology {
namespace {

TEST(DiscoverNode, FindsThisMachine) {
  const Node node = discover_node();

  EXPECT_FALSE(node.host_name.empty());
  EXPECT_GE(node.numa_nodes, 1);
  EXPECT_GT(node.memory_bytes, 64 * base::MiB);
  EXPECT_GT(node.memory_available_bytes, 0U);
  EXPECT_LE(node.memory_available_bytes, node.memory_bytes);
  EXPECT_EQ(node.page_bytes, static_cast<Bytes>(sysconf(_SC_PAGESIZE)));
}

TEST(DiscoverNode, HasOnlyTheProcessorsThatTheProcessMayUse) {
  const int core = discover_node().cores.back();
  std::vector<int> cores;

  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(core), &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
    cores = discover_node().cores;
  }).join();

  EXPECT_EQ(cores, std::vector<int>{core});
}

TEST(DiscoverNode, CountsTheNumaNodesOfTheKernel) {
  std::string root = testing::TempDir() + "glean-machine-XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  std::filesystem::create_directories(root + "/proc");
  std::ofstream(root + "/proc/meminfo") << "MemTotal: 1024 kB\nMemAvailable: 512 kB\n";
  for (const char* name : {"node0", "node1", "node10", "power", "node_list"}) {
    std::filesystem::create_directories(root + "/sys/devices/system/node/" + name);
  }

  const Node node = discover_node({root + "/proc", root + "/sys", root + "/none"});
  std::filesystem::remove_all(root);

  EXPECT_EQ(node.numa_nodes, 3);
  EXPECT_EQ(node.memory_available_bytes, 512 * base::KiB);
  EXPECT_EQ(node.shared_memory_available_bytes, 0U) << "there is no such directory";
}

#ifdef GLEAN_HAVE_HWLOC
TEST(DiscoverNode, BelievesHwlocAboutNumaNodes) {
  setenv("HWLOC_SYNTHETIC", "numa:4 core:2 pu:1", 1);

  const Node node = discover_node();
  unsetenv("HWLOC_SYNTHETIC");

  EXPECT_EQ(node.numa_nodes, 4);
}
#endif

}  // namespace
}  // namespace glean::topology
