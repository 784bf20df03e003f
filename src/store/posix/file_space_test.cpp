// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/file_space.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "store/posix/temporary_directory.hpp"

namespace glean::store {

namespace {

class FileSpace : public testing::Test {
 protected:
  void SetUp() override { ASSERT_GE(file_, 0); }
  ~FileSpace() override { close(file_); }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "file";
  const int file_ = open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
};

TEST_F(FileSpace, IsAsLongAsTheFileSystemTakesAndNoLonger) {
  const base::Bytes longest = longest_of_file_system(path_);
  EXPECT_GT(longest, always_possible);
  EXPECT_EQ(ftruncate(file_, static_cast<off_t>(longest)), 0);
  if (longest == longest_offset) return;
  EXPECT_EQ(ftruncate(file_, static_cast<off_t>(longest + 1)), -1);
  EXPECT_EQ(errno, EFBIG);
}

TEST_F(FileSpace, OfAFileThatCannotBeOpenedIsNotKnown) {
  EXPECT_EQ(longest_of_file_system(directory_ / "other"), longest_offset);
}

TEST_F(FileSpace, IsWhatTheProcessMayHave) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 12345, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(longest_of_process(), 12345U);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST_F(FileSpace, IsAllocatedWithoutMakingTheFileLonger) {
  const int error = allocate_storage(file_, 100'000);
  if (error == EOPNOTSUPP) GTEST_SKIP() << "not on this file system";
  ASSERT_EQ(error, 0);
  struct stat status {};
  ASSERT_EQ(fstat(file_, &status), 0);
  EXPECT_EQ(status.st_size, 0);
  EXPECT_GE(status.st_blocks * 512, 100'000);
}

TEST_F(FileSpace, ThatIsNotThereIsNotBegunToBeTaken) {
  EXPECT_EQ(allocate_storage(file_, base::Bytes{1} << 60), ENOSPC);
  struct stat status {};
  ASSERT_EQ(fstat(file_, &status), 0);
  EXPECT_EQ(status.st_blocks, 0);
}

}  // namespace

}  // namespace glean::store
