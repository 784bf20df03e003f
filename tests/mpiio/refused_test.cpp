// SPDX-License-Identifier: BSD-3-Clause
//
// What cannot be of a file that is captured, and what becomes of the rest of it.
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <limits>
#include <string>
#include <vector>

#include "captured.hpp"

namespace {

// As PnetCDF does between collective calls.
TEST_F(Captured, HasTheStorageThatIsAskedFor) {
  constexpr MPI_Offset megabyte = 1 << 20, most = MPI_Offset{1} << 60;
  MPI_File file = create();
  EXPECT_EQ(MPI_File_preallocate(file, megabyte), MPI_SUCCESS);
  struct stat status {};
  EXPECT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, megabyte);
  EXPECT_EQ(status.st_size, megabyte);
  EXPECT_EQ(error_class(MPI_File_preallocate(file, most)), MPI_ERR_NO_SPACE);   // on all ranks
  MPI_Offset size = 0;
  EXPECT_EQ(MPI_File_get_size(file, &size), MPI_SUCCESS);
  EXPECT_EQ(size, megabyte);
  MPI_File_write_at(file, rank_, "abcdefgh" + rank_, 1, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);

  const auto letters = static_cast<std::size_t>(ranks_);
  EXPECT_EQ(published().substr(0, letters), std::string("abcdefgh").substr(0, letters));
}

// Where the file system has a longest file, as ext4 has and tmpfs has not.
TEST_F(Captured, KeepsWhatIsBesideAWriteThatTheFileSystemRefuses) {
  MPI_File file = create();
  const char letter = static_cast<char>('a' + rank_);
  MPI_File_write_at(file, rank_, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  const MPI_Offset far = std::numeric_limits<MPI_Offset>::max() - 1;
  if (truncate(path().c_str(), far + 1) == 0) GTEST_SKIP() << "it takes all that an offset can say";
  MPI_Status status;
  int count = -1;
  EXPECT_EQ(error_class(MPI_File_write_at(file, far, &letter, 1, MPI_CHAR, &status)), MPI_ERR_IO);
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(error_class(MPI_File_iwrite_at(file, far, &letter, 1, MPI_CHAR, &request)), MPI_ERR_IO);
  EXPECT_EQ(MPI_File_write_at(file, ranks_ + rank_, &letter, 1, MPI_CHAR, &status), MPI_SUCCESS);
  MPI_Get_count(&status, MPI_CHAR, &count);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);

  const std::string letters = std::string("abcdefgh").substr(0, static_cast<std::size_t>(ranks_));
  EXPECT_EQ(published(), letters + letters);
}

// Whether it is an error is the MPI library's to say, but a request there must be.
TEST_F(Captured, AWriteThatCannotBeHasARequestThatEnds) {
  MPI_File file = create();
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_File_iwrite_at(file, -5, "x", 1, MPI_CHAR, &request) == MPI_SUCCESS) {
    EXPECT_NE(request, MPI_REQUEST_NULL);
    MPI_Status status;
    int count = -1;
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_CHAR, &count);
    EXPECT_EQ(count, 0);
  }
  EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);
}

TEST_F(Captured, WhatFailsInTheBackgroundIsToldToAllRanks) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  MPI_File file = create();
  setrlimit(RLIMIT_FSIZE, &small);   // what it was before the file was opened is not captured past
  const std::vector<char> bytes(100'000);
  MPI_File_write_at(file, 100'000 * rank_, bytes.data(), 100'000, MPI_CHAR, MPI_STATUS_IGNORE);

  EXPECT_NE(error_class(MPI_File_sync(file)), MPI_SUCCESS);
  EXPECT_NE(error_class(MPI_File_close(&file)), MPI_SUCCESS);
  EXPECT_EQ(file, MPI_FILE_NULL);

  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_NE(access(path().c_str(), F_OK), 0);
}

}  // namespace
