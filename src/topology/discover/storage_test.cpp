// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "topology/discover/discover.hpp"

namespace glean::topology {
namespace {

class DiscoverStorage : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "glean-storage-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

TEST_F(DiscoverStorage, FindsAWritableDirectory) {
  const Storage storage = discover_storage(directory_);

  EXPECT_EQ(storage.directory, std::filesystem::canonical(directory_));
  EXPECT_TRUE(storage.writable);
  EXPECT_GT(storage.available_bytes, 0U);
  EXPECT_GE(storage.block_bytes, 512U);
  EXPECT_NE(storage.file_system, "unknown");
}

TEST_F(DiscoverStorage, LeavesNothingBehind) {
  static_cast<void>(discover_storage(directory_));

  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(DiscoverStorage, SeesThatNothingCanBeWrittenThere) {
  const Storage storage = discover_storage("/proc");

  EXPECT_EQ(storage.file_system, "proc");
  EXPECT_FALSE(storage.writable);
  EXPECT_FALSE(storage.direct_io);
}

TEST_F(DiscoverStorage, ThrowsNotFoundWithoutTheDirectory) {
  std::ofstream(directory_ + "/file") << "no directory";
  for (const std::string& path : {directory_ + "/none", directory_ + "/file"}) {
    try {
      static_cast<void>(discover_storage(path));
      ADD_FAILURE() << path;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::Errc::not_found);
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
    }
  }
}

TEST(DiscoverIoUring, GivesAReasonExactlyWhenThereIsNone) {
  const Availability found = discover_io_uring();

  EXPECT_EQ(found.available, found.reason.empty()) << found.reason;
}

}  // namespace
}  // namespace glean::topology
