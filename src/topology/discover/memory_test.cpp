// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of machines that were recorded: their files, shortened to the lines that matter.
#include "topology/discover/memory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace glean::topology {
namespace {

class DiscoverMemory : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "glean-machine-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    places_ = {root_ + "/proc", root_ + "/sys", root_ + "/shm"};
    write("proc/meminfo", "MemTotal:       25165824 kB\nMemFree:         1000000 kB\nMemAvailable:   20971520 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + name).parent_path());
    std::ofstream(root_ + "/" + name) << text;
  }

  std::string root_;
  Places places_;
};

TEST_F(DiscoverMemory, WithoutGroupsIsThatOfTheNode) {
  EXPECT_EQ(discover_memory(places_), (Memory{24 * base::GiB, 20 * base::GiB}));
}

TEST_F(DiscoverMemory, OfAUnifiedGroupIsItsLimitLessWhatCannotBeReclaimed) {
  write("proc/self/cgroup", "0::/slurm/job_7\n");
  write("sys/fs/cgroup/slurm/job_7/memory.max", "8589934592\n");
  write("sys/fs/cgroup/slurm/job_7/memory.current", "3221225472\n");
  write("sys/fs/cgroup/slurm/job_7/memory.stat", "anon 1073741824\ninactive_file 2147483648\nactive_file 0\n");

  EXPECT_EQ(discover_memory(places_), (Memory{8 * base::GiB, 7 * base::GiB}));
}

TEST_F(DiscoverMemory, FollowsTheSmallestLimitAboveTheGroup) {
  write("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  write("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
  write("sys/fs/cgroup/slurm/job_7/memory.max", "4294967296\n");
  write("sys/fs/cgroup/slurm/memory.max", "8589934592\n");

  EXPECT_EQ(discover_memory(places_), (Memory{4 * base::GiB, 4 * base::GiB}));
}

TEST_F(DiscoverMemory, OfAVersion1GroupIsItsLimit) {
  write("proc/self/cgroup", "12:cpuset:/\n4:memory:/docker/abc\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1610612736\n");
  write("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 536870912\n");

  EXPECT_EQ(discover_memory(places_), (Memory{2 * base::GiB, base::GiB}));
}

TEST_F(DiscoverMemory, TakesTheUnlimitedFigureOfVersion1AsNoLimit) {
  write("proc/self/cgroup", "4:memory:/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "9999999999\n");

  EXPECT_EQ(discover_memory(places_), (Memory{24 * base::GiB, 20 * base::GiB}));
}

TEST_F(DiscoverMemory, OfAGroupOverItsLimitIsNothing) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "1073741824\n");
  write("sys/fs/cgroup/memory.current", "1073750000\n");

  EXPECT_EQ(discover_memory(places_).available_bytes, 0U);
}

TEST_F(DiscoverMemory, ThrowsWithoutTheKernelsFile) {
  std::filesystem::remove(root_ + "/proc/meminfo");

  EXPECT_THROW(static_cast<void>(discover_memory(places_)), base::Error);
}

}  // namespace
}  // namespace glean::topology
