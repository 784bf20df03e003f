// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/mounts.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace glean::topology {
namespace {

std::string found(const std::string& path) {
  std::istringstream table(
      "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
      "25 22 0:23 / /dev/shm rw,nosuid - tmpfs tmpfs rw\n"
      "36 22 0:50 / /scratch rw,relatime shared:4 master:5 - lustre 10.0.0.1@o2ib:/scratch rw,flock\n"
      "37 36 0:51 / /scratch/fast rw - xfs /dev/nvme0n1 rw\n"
      "38 36 0:52 / /scratch/fast rw - btrfs /dev/nvme1n1 rw\n"
      "39 22 0:53 / /my\\040data rw - nfs4 server:/export rw\n"
      "40 broken\n");
  return file_system_of(table, path);
}

TEST(FileSystemOf, IsThatOfTheLongestMountPoint) {
  EXPECT_EQ(found("/home/user"), "ext4");
  EXPECT_EQ(found("/dev/shm"), "tmpfs");
  EXPECT_EQ(found("/scratch/run/7"), "lustre");
}

TEST(FileSystemOf, ComparesWholeNames) { EXPECT_EQ(found("/scratches"), "ext4"); }

TEST(FileSystemOf, IsTheLastOneMountedOnTop) { EXPECT_EQ(found("/scratch/fast/a"), "btrfs"); }

TEST(FileSystemOf, UnderstandsSpacesInNames) { EXPECT_EQ(found("/my data/a"), "nfs4"); }

TEST(FileSystemOf, IsUnknownWithoutATable) {
  std::istringstream nothing;
  EXPECT_EQ(file_system_of(nothing, "/"), "unknown");
}

}  // namespace
}  // namespace glean::topology
