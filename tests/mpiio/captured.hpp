// SPDX-License-Identifier: BSD-3-Clause
//
// A directory of the ranks' own and a file in it: the programs run with lib/libglean_preload.so preloaded.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

inline int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

inline int ranks_of(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return ranks;
}

inline int error_class(int code) {
  int found = MPI_SUCCESS;
  MPI_Error_class(code, &found);
  return found;
}

class Captured : public testing::Test {
 protected:
  Captured() {
    char name[] = "captured-XXXXXX";
    if (rank_ == 0) directory_ = mkdtemp(name);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    directory_ = name;
  }
  ~Captured() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) std::system(("rm -r " + directory_).c_str());
  }

  [[nodiscard]] std::string path() const { return directory_ + "/file"; }
  [[nodiscard]] MPI_File open(int amode, MPI_Comm comm = MPI_COMM_WORLD) const {
    MPI_File file = MPI_FILE_NULL;
    EXPECT_EQ(MPI_File_open(comm, path().c_str(), amode, MPI_INFO_NULL, &file), MPI_SUCCESS);
    return file;
  }
  [[nodiscard]] MPI_File create(MPI_Comm comm = MPI_COMM_WORLD) const { return open(MPI_MODE_CREATE | MPI_MODE_RDWR, comm); }
  // By other means than MPI.
  [[nodiscard]] std::string content() const {
    std::ifstream in(path());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // By the system's own calls, which the session cannot know of: what a program finds that has no part in it.
  [[nodiscard]] std::optional<std::string> seen_by_others() const {
    const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path().c_str(), O_RDONLY));
    if (file < 0) return std::nullopt;
    std::string bytes(100, '\0');
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(read(file, bytes.data(), bytes.size()), 0)));
    close(file);
    return bytes;
  }
  // When it is complete.
  [[nodiscard]] std::string published() const {
    MPI_File file = open(MPI_MODE_RDONLY);
    MPI_Offset size = 0;
    MPI_File_get_size(file, &size);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    MPI_File_read_at(file, 0, bytes.data(), static_cast<int>(size), MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    return bytes;
  }
  void make(const std::string& bytes) const {
    if (rank_ == 0) std::ofstream(path()) << bytes;
    MPI_Barrier(MPI_COMM_WORLD);
  }

  int rank_ = rank_of(MPI_COMM_WORLD);
  int ranks_ = ranks_of(MPI_COMM_WORLD);
  std::string directory_;
};
