// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of files that are captured: run with lib/libglean_preload.so preloaded. What programs read and write in them is
// compared with MPI's own in tests/transparent.
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "captured.hpp"

namespace {

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool appears(const std::string& path) {
  for (int i = 0; i < 60'000 && !is_there(path); ++i) usleep(1000);
  return is_there(path);
}

// By the drain threads of this process.
void wait_until_open(const std::string& path) {
  const auto is_open = [&] {
    const auto of_this_process = std::filesystem::directory_iterator("/proc/self/fd");
    return std::any_of(begin(of_this_process), end(of_this_process), [&](const auto& entry) {
      std::error_code gone;
      return std::filesystem::read_symlink(entry.path(), gone) == path;
    });
  };
  for (int i = 0; i < 60'000 && !is_open(); ++i) usleep(1000);
}

TEST_F(Captured, AppearsWhenItIsClosed) {
  MPI_File file = create();
  const char letter = static_cast<char>('a' + rank_);
  MPI_File_write_at_all(file, rank_, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_sync(file);

  const std::string letters = std::string("abcdefgh").substr(0, static_cast<std::size_t>(ranks_));
  EXPECT_EQ(content(), letters);
  EXPECT_EQ(seen_by_others(), std::nullopt);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);

  EXPECT_EQ(published(), letters);
}

// Run with GLEAN_CLOSE=durable.
TEST_F(Captured, IsThereWhenItIsClosedDurably) {
  const char* close = std::getenv("GLEAN_CLOSE");
  if (close == nullptr || std::string(close) != "durable") GTEST_SKIP() << "needs GLEAN_CLOSE=durable";
  for (const std::string text : {"first", "again"}) {
    MPI_File file = create();
    if (rank_ == ranks_ - 1) MPI_File_write_at(file, 0, text.data(), 5, MPI_CHAR, MPI_STATUS_IGNORE);
    EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);
    EXPECT_EQ(seen_by_others(), text);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // A handle of one rank alone, beside that of all.
  MPI_File of_all = create(), own = create(MPI_COMM_SELF);
  MPI_File_write_at(own, 5, "!", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT_EQ(MPI_File_close(&of_all), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&own), MPI_SUCCESS);
  EXPECT_EQ(published(), "again!");
}

TEST_F(Captured, ThatItCannotBePublishedIsAnErrorOfADurableClose) {
  const char* close = std::getenv("GLEAN_CLOSE");
  if (close == nullptr || std::string(close) != "durable") GTEST_SKIP() << "needs GLEAN_CLOSE=durable";
  MPI_File file = create();
  if (rank_ == 0) EXPECT_EQ(syscall(SYS_mkdirat, AT_FDCWD, path().c_str(), 0777), 0);   // as another program does
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_NE(error_class(MPI_File_close(&file)), MPI_SUCCESS);
}

TEST_F(Captured, AnOldFileStaysUntilOneThatWasCutToNothingIsComplete) {
  make("old");
  MPI_File file = create();
  EXPECT_EQ(MPI_File_set_size(file, 0), MPI_SUCCESS);
  if (rank_ == 0) MPI_File_write_at(file, 0, "newer", 5, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_sync(file);

  EXPECT_EQ(content(), "newer");
  EXPECT_EQ(seen_by_others(), "old");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);

  EXPECT_EQ(published(), "newer");
}

TEST_F(Captured, AnOldFileWhoseDirectoryIsRenamedIsStillThatFile) {
  make("old and long");
  MPI_File file = create();
  const std::string moved = directory_ + "-moved";
  if (rank_ == 0) {
    wait_until_open(std::filesystem::absolute(path()));
    EXPECT_EQ(std::rename(directory_.c_str(), moved.c_str()), 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(error_class(MPI_File_set_size(file, 0)), MPI_SUCCESS);
  if (rank_ == 0) EXPECT_EQ(MPI_File_write_at(file, 0, "new", 3, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);

  if (rank_ == 0) EXPECT_EQ(std::rename(moved.c_str(), directory_.c_str()), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(published(), "new");
}

TEST_F(Captured, AtomicModeOfARemovedFileIsAnErrorOnAllRanks) {
  make("old");
  MPI_File file = create();
  if (rank_ == 0) {
    wait_until_open(std::filesystem::absolute(path()));
    EXPECT_EQ(unlink(path().c_str()), 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(error_class(MPI_File_set_atomicity(file, 1)), MPI_ERR_NO_SUCH_FILE);
  EXPECT_EQ(MPI_File_write_shared(file, "kept", 4, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);
}

TEST_F(Captured, AFileThatHasGotTheNameOfAnOldOneStaysAsItIs) {
  make("old and long");
  MPI_File file = create();
  const std::string moved = directory_ + "/moved";
  if (rank_ == 0) {
    wait_until_open(std::filesystem::absolute(path()));
    EXPECT_EQ(std::rename(path().c_str(), moved.c_str()), 0);
    std::ofstream(path()) << "other";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(error_class(MPI_File_set_size(file, 8)), MPI_SUCCESS);
  EXPECT_EQ(error_class(MPI_File_preallocate(file, 10)), MPI_SUCCESS);
  if (rank_ == 0) EXPECT_EQ(MPI_File_write_at(file, 0, "new", 3, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);

  EXPECT_EQ(published(), "other");
  if (rank_ == 0) EXPECT_EQ(std::rename(moved.c_str(), path().c_str()), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(published(), std::string("new and \0\0", 10));
}

TEST_F(Captured, AnOldFileIsWrittenInPlace) {
  make("old and long");
  MPI_File file = create();
  if (rank_ == 0) MPI_File_write_at(file, 0, "new", 3, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_sync(file);

  EXPECT_EQ(content(), "new and long");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);

  EXPECT_EQ(published(), "new and long");
}

TEST_F(Captured, ChecksumsGoWhenTheFileChangesAndWhenItIsDeleted) {
  const std::string sums = directory_ + "/.file.glean-sums";
  MPI_File file = create();
  MPI_File_close(&file);
  EXPECT_TRUE(appears(sums));
  MPI_Barrier(MPI_COMM_WORLD);

  file = create();
  MPI_File_close(&file);
  EXPECT_EQ(published(), "");
  EXPECT_TRUE(appears(sums));
  MPI_Barrier(MPI_COMM_WORLD);

  file = create();
  MPI_File_write_at(file, 0, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT_FALSE(is_there(sums));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  EXPECT_EQ(published(), "x");
  EXPECT_TRUE(appears(sums));
  MPI_Barrier(MPI_COMM_WORLD);

  if (rank_ == 0) MPI_File_delete(path().c_str(), MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_FALSE(is_there(path()));
  EXPECT_FALSE(is_there(sums));

  // At once: the drain publishes both while the call looks at the file.
  MPI_Barrier(MPI_COMM_WORLD);
  file = create();
  MPI_File_write_at(file, rank_, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) MPI_File_delete(path().c_str(), MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_FALSE(is_there(path()));
  EXPECT_FALSE(is_there(sums));
}

TEST_F(Captured, ItsSizeIsThatOfAllRanks) {
  MPI_File file = create();
  MPI_Offset size = -1;
  MPI_File_write_at(file, 10 * rank_, "0123456789", 10, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);

  MPI_File_get_size(file, &size);
  EXPECT_EQ(size, 10 * ranks_);
  MPI_File_set_size(file, 100);
  MPI_File_get_size(file, &size);
  EXPECT_EQ(size, 100);
  MPI_File_set_size(file, 5);
  MPI_File_preallocate(file, 3);
  MPI_File_get_size(file, &size);
  EXPECT_EQ(size, 5);
  MPI_File_close(&file);

  EXPECT_EQ(published(), "01234");
}

TEST_F(Captured, AnotherHandleOfARankSeesIt) {
  MPI_File file = create();
  const char letter = static_cast<char>('a' + rank_);
  MPI_File_write_at_all(file, rank_, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File alone = open(MPI_MODE_RDWR, MPI_COMM_SELF);
  char seen = 0;
  MPI_File_read_at(alone, rank_, &seen, 1, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT_EQ(seen, letter);
  MPI_File_write_at(alone, ranks_ + rank_, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&alone);
  EXPECT_EQ(seen_by_others(), std::nullopt);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);

  const std::string letters = std::string("abcdefgh").substr(0, static_cast<std::size_t>(ranks_));
  EXPECT_EQ(published(), letters + letters);
}

TEST_F(Captured, EveryRankMakesTheSameFile) {
  for (int round = 0; round < 20; ++round) {
    MPI_File file = create(MPI_COMM_SELF);
    const std::vector<char> part(1000, static_cast<char>('a' + rank_ + round % 2));
    MPI_File_write_at(file, 1000 * rank_, part.data(), 1000, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);

    std::string expected;
    for (int rank = 0; rank < ranks_; ++rank) expected += std::string(1000, static_cast<char>('a' + rank + round % 2));
    EXPECT_TRUE(published() == expected) << "round " << round;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) MPI_File_delete(path().c_str(), MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Captured, ANonblockingWriteHasItsStatusAndNeedsItsBufferNoMore) {
  MPI_File file = create();
  MPI_Datatype pairs;
  MPI_Type_vector(3, 2, 4, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  std::vector<int> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 100 * rank_);
  MPI_Request request;
  MPI_Status status;
  int count = -1;
  MPI_File_iwrite_at(file, 48 * rank_, numbers.data(), 2, pairs, &request);
  std::fill(numbers.begin(), numbers.end(), -1);
  MPI_Type_free(&pairs);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT_EQ(count, 12);
  std::vector<int> found(12);
  MPI_File_read_at(file, 48 * rank_, found.data(), 12, MPI_INT, MPI_STATUS_IGNORE);
  EXPECT_EQ(found[0], 100 * rank_);
  EXPECT_EQ(found[2], 100 * rank_ + 4);
  MPI_File_close(&file);
}

TEST_F(Captured, IsReadAgainAndAgainBetweenSmallWrites) {
  MPI_File file = create();
  for (int i = 0; i < 200; ++i) {
    const MPI_Offset mine = (i % 7 * ranks_ + rank_) * 4;
    const int value = i * ranks_ + rank_;
    MPI_File_write_at(file, mine, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    int found = -1;
    MPI_File_read_at(file, mine, &found, 1, MPI_INT, MPI_STATUS_IGNORE);
    ASSERT_EQ(found, value);
  }
  MPI_File_close(&file);
  const std::string bytes = published();
  ASSERT_EQ(bytes.size(), 7U * 4U * static_cast<unsigned>(ranks_));
  for (int i = 193; i < 200; ++i) {
    for (int rank = 0; rank < ranks_; ++rank) {
      int found = -1;
      std::memcpy(&found, bytes.data() + (i % 7 * ranks_ + rank) * 4, 4);
      EXPECT_EQ(found, i * ranks_ + rank);
    }
  }
}

TEST_F(Captured, ThePointersGoOnInAtomicMode) {
  MPI_File file = create();
  MPI_File_set_view(file, 4 * rank_, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_write(file, "ab", 2, MPI_CHAR, MPI_STATUS_IGNORE);
  EXPECT_EQ(MPI_File_set_atomicity(file, 1), MPI_SUCCESS);
  int is_atomic = 0;
  MPI_File_get_atomicity(file, &is_atomic);
  EXPECT_EQ(is_atomic, 1);
  MPI_File_write(file, "cd", 2, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_Offset position = -1;
  MPI_File_get_position(file, &position);
  EXPECT_EQ(position, 4);
  MPI_File_close(&file);

  std::string expected;
  for (int rank = 0; rank < ranks_; ++rank) expected += "abcd";
  EXPECT_EQ(published(), expected);
}

TEST_F(Captured, AChildOfTheProgramDoesNotEndIt) {
  MPI_File file = create();
  MPI_File_write_at(file, rank_, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  const pid_t child = fork();
  if (child == 0) exit(0);   // what the program has registered for its end runs here, too
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  MPI_File_write_at(file, ranks_ + rank_, "y", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);

  EXPECT_EQ(published(), std::string(static_cast<std::size_t>(ranks_), 'x') + std::string(static_cast<std::size_t>(ranks_), 'y'));
}

TEST_F(Captured, MoreFilesThanThereIsRoomForPassThrough) {
  std::vector<MPI_File> files(80);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = path() + std::to_string(i);
    ASSERT_EQ(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &files[i]), MPI_SUCCESS);
    MPI_File_write_at(files[i], rank_, "z", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  }
  for (auto& file : files) EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);

  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = path() + std::to_string(i);
    MPI_Offset size = -1;
    ASSERT_EQ(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &files[i]), MPI_SUCCESS);
    MPI_File_get_size(files[i], &size);
    EXPECT_EQ(size, ranks_);
    MPI_File_close(&files[i]);
  }
}

void end_program(MPI_File*, int*, ...) { std::abort(); }

// The MPI library's handle serves one file after the other; the program must not see that.
TEST_F(Captured, AHandleThatServedAnotherFileIsAsNew) {
  MPI_Errhandler own = MPI_ERRHANDLER_NULL;
  MPI_File_create_errhandler(end_program, &own);
  MPI_File file = create();
  MPI_File_set_errhandler(file, own);
  MPI_File_close(&file);
  EXPECT_EQ(file, MPI_FILE_NULL);
  file = create();
  MPI_Errhandler of_file = MPI_ERRHANDLER_NULL;
  MPI_File_get_errhandler(file, &of_file);
  EXPECT_EQ(of_file, MPI_ERRORS_RETURN);
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 3, MPI_CHAR, &pair);
  MPI_Type_commit(&pair);
  MPI_File_set_view(file, 5, MPI_CHAR, pair, "native", MPI_INFO_NULL);
  MPI_Type_free(&pair);
  MPI_File_close(&file);

  file = create();
  MPI_Offset displacement = 0, at = 0;
  MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
  char representation[MPI_MAX_DATAREP_STRING] = {};
  MPI_File_get_view(file, &displacement, &etype, &filetype, representation);
  MPI_File_get_byte_offset(file, 7, &at);
  EXPECT_EQ(displacement, 0);
  EXPECT_EQ(at, 7);
  MPI_File_close(&file);
  MPI_Errhandler_free(&own);
}

// So does the communicator, where all ranks have the same to spare: of files that were closed in another order, of some ranks only, or too
// many to keep.
TEST_F(Captured, FilesOfManyCommunicatorsFollowEachOther) {
  MPI_Comm reversed = MPI_COMM_NULL, half = MPI_COMM_NULL, again = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, rank_, &half);
  MPI_Comm_dup(half, &again);
  const std::vector<MPI_Comm> comms{MPI_COMM_WORLD, reversed, half, again, MPI_COMM_SELF};
  const auto open_as = [&](const std::string& name, MPI_Comm comm) {
    MPI_File file = MPI_FILE_NULL;
    const std::string mine = ranks_of(comm) == ranks_ ? name : name + "." + std::to_string(ranks_of(comm) == 1 ? rank_ : rank_ % 2);
    EXPECT_EQ(MPI_File_open(comm, (directory_ + "/" + mine).c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_SUCCESS);
    return file;
  };
  for (int round = 0; round < 6; ++round) {
    std::vector<MPI_File> files;
    const auto comm_of = [&](std::size_t i) { return comms[(i + static_cast<std::size_t>(round)) % comms.size()]; };
    for (std::size_t i = 0; i < 20; ++i) files.push_back(open_as("many" + std::to_string(i), comm_of(i)));
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto comm = comm_of(i);
      const char letter = static_cast<char>('a' + rank_of(comm) + round);
      MPI_File_write_at_all(files[i], rank_of(comm), &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
      std::string all(static_cast<std::size_t>(ranks_of(comm)), ' ');
      MPI_File_read_at_all(files[i], 0, all.data(), ranks_of(comm), MPI_CHAR, MPI_STATUS_IGNORE);
      for (int rank = 0; rank < ranks_of(comm); ++rank) EXPECT_EQ(all[static_cast<std::size_t>(rank)], 'a' + rank + round);
    }
    for (std::size_t i = 0; i < files.size(); ++i) MPI_File_close(&files[(i * 7 + static_cast<std::size_t>(round)) % files.size()]);
  }
  for (MPI_Comm* comm : {&reversed, &half, &again}) MPI_Comm_free(comm);
}

}  // namespace
