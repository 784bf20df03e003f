// SPDX-License-Identifier: BSD-3-Clause
//
// Files that are opened more than once, by other ranks, or again after they were made.
#include <gtest/gtest.h>
#include <mpi.h>

#include <optional>
#include <string>

#include "captured.hpp"

namespace {

// Ranks that do not have it open find it under its name, with all that was written before, and write into it.
TEST_F(Captured, AFileThatOthersOpenTooIsThereFromThenOn) {
  MPI_File file = MPI_FILE_NULL;
  if (rank_ == 0) {
    file = create(MPI_COMM_SELF);
    MPI_File_write_at(file, 0, "abcd", 4, MPI_CHAR, MPI_STATUS_IGNORE);
    EXPECT_EQ(seen_by_others(), std::nullopt);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 1) {
    file = open(MPI_MODE_RDWR, MPI_COMM_SELF);
    EXPECT_EQ(seen_by_others(), "abcd");
    MPI_File_write_at(file, 1, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) {
    MPI_File_write_at(file, 2, "yz", 2, MPI_CHAR, MPI_STATUS_IGNORE);
    EXPECT_EQ(seen_by_others(), "axyz");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ <= 1) MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(published(), "axyz");
}

// Such a file is as new for all as it was for one, unless it was read.
TEST_F(Captured, AFileThatOneRankHasMadeAndNotWrittenIsNewForAll) {
  const char letter = static_cast<char>('a' + rank_);
  const std::string letters = std::string("abcdefgh").substr(0, static_cast<std::size_t>(ranks_));
  for (const bool is_read : {false, true}) {
    if (rank_ == 0) {
      MPI_File made = create(MPI_COMM_SELF);
      MPI_File_preallocate(made, ranks_);
      MPI_File_close(&made);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_read) EXPECT_EQ(published(), std::string(static_cast<std::size_t>(ranks_), '\0'));
    MPI_File file = open(MPI_MODE_RDWR);
    MPI_File_write_at(file, rank_, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);   // a sync need not wait for that of another rank
    EXPECT_EQ(content(), letters);
    EXPECT_EQ(seen_by_others(), is_read ? std::optional(letters) : std::nullopt);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_close(&file);
    EXPECT_EQ(published(), letters);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) MPI_File_delete(path().c_str(), MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

}  // namespace
