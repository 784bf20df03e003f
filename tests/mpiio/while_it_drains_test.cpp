// SPDX-License-Identifier: BSD-3-Clause
//
// What ranks can do while files drain that all have closed.
#include <gtest/gtest.h>
#include <mpi.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "captured.hpp"

namespace {

// Holds the threads of this process that drain, as a debugger does, as long as it lives.
class HeldDrain {
 public:
  HeldDrain() {
    std::vector<pid_t> threads;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::ifstream(task.path() / "comm") >> name;
      if (name == "glean-drain") threads.push_back(std::stoi(task.path().filename()));
    }
    if (threads.empty() || pipe2(is_held_, O_CLOEXEC) != 0 || pipe2(is_wanted_, O_CLOEXEC) != 0) return;
    child_ = fork();
    if (child_ == 0) hold(threads);
    close(is_held_[1]);   // of a child that is gone nothing is to be read
    if (child_ < 0) return;
    prctl(PR_SET_PTRACER, child_, 0, 0, 0);
    write(is_wanted_[1], "h", 1);
    char answer = 'n';
    holds_ = read(is_held_[0], &answer, 1) == 1 && answer == 'y';
  }
  ~HeldDrain() {
    for (const int descriptor : {is_wanted_[1], is_wanted_[0], is_held_[0]}) close(descriptor);
    if (child_ > 0) waitpid(child_, nullptr, 0);
  }
  HeldDrain(const HeldDrain&) = delete;
  HeldDrain& operator=(const HeldDrain&) = delete;
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  // In the child: what it traces goes on when it ends.
  [[noreturn]] void hold(const std::vector<pid_t>& threads) const {
    close(is_wanted_[1]);
    char wanted = 0;
    bool holds = read(is_wanted_[0], &wanted, 1) == 1;
    for (const pid_t thread : threads) holds = holds && hold_idle(thread);
    write(is_held_[1], holds ? "y" : "n", 1);
    while (read(is_wanted_[0], &wanted, 1) > 0) {}
    _exit(0);
  }

  // Where it waits for work: elsewhere it may have a lock.
  static bool hold_idle(pid_t thread) {
    for (;;) {
      if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0 || ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0) return false;
      if (waitpid(thread, nullptr, __WALL) != thread) return false;
      long call = -1;
      std::ifstream("/proc/" + std::to_string(thread) + "/syscall") >> call;
      if (call == SYS_futex) return true;
      if (ptrace(PTRACE_DETACH, thread, nullptr, nullptr) != 0) return false;
      usleep(1000);
    }
  }

  int is_held_[2] = {-1, -1}, is_wanted_[2] = {-1, -1};
  pid_t child_ = -1;
  bool holds_ = false;
};

// If it were not, the open would wait for the whole of `pool.deadline`, longer than ctest lets a test run.
TEST_F(Captured, AnotherFileOfTheDirectoryIsOpenedWhileOneDrains) {
  std::optional<HeldDrain> held;
  if (rank_ == 0) held.emplace();
  int holds = rank_ == 0 && held->holds() ? 1 : 0;
  MPI_Bcast(&holds, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (holds == 0) GTEST_SKIP() << "no process may stop another's threads here";

  const std::string first = path(), second = first + ".next";
  MPI_File file = MPI_FILE_NULL, next = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, first.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, rank_, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_File_open(MPI_COMM_WORLD, second.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &next);
  EXPECT_NE(syscall(SYS_faccessat, AT_FDCWD, first.c_str(), F_OK), 0);   // without waiting
  MPI_Barrier(MPI_COMM_WORLD);
  held.reset();
  MPI_File_close(&next);
  EXPECT_EQ(published(), std::string(static_cast<std::size_t>(ranks_), 'x'));
}

// The rank that opens it comes before it is in the file. Were its name not free to be looked up, the open would wait as long as above.
TEST_F(Captured, IsOpenedToReadWhileItDrains) {
  for (const bool in_place : {false, true}) {
    for (MPI_Comm readers : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
      if (in_place) make("old");
      else if (rank_ == 0) unlink(path().c_str());
      MPI_Barrier(MPI_COMM_WORLD);
      std::optional<HeldDrain> held;
      if (rank_ == 0) held.emplace();
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_File file = create();
      const std::string mine(100'000, static_cast<char>('a' + rank_));
      MPI_File_write_at(file, 100'000 * rank_, mine.data(), 100'000, MPI_CHAR, MPI_STATUS_IGNORE);
      MPI_File_close(&file);
      std::thread later([&] {
        usleep(100'000);
        held.reset();
      });
      file = open(MPI_MODE_RDONLY, readers);
      MPI_Offset size = 0;
      MPI_File_get_size(file, &size);
      EXPECT_EQ(size, 100'000 * ranks_);
      const int next = (rank_ + 1) % ranks_;
      std::string found(100'000, ' ');
      MPI_File_read_at(file, 100'000 * next, found.data(), 100'000, MPI_CHAR, MPI_STATUS_IGNORE);
      EXPECT_EQ(found, std::string(100'000, static_cast<char>('a' + next)));
      MPI_File_close(&file);
      later.join();
    }
  }
}

// Ranks that look wait until it has its final name, and those that open it must not hold that back meanwhile.
TEST_F(Captured, IsLookedAtBySomeBeforeAllOpenItToRead) {
  std::optional<HeldDrain> held;
  if (rank_ == 0) held.emplace();
  MPI_File file = create();
  MPI_File_write_at(file, rank_, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  std::thread later([&] {
    usleep(100'000);
    held.reset();
  });
  const std::string all(static_cast<std::size_t>(ranks_), 'x');
  if (rank_ != 0) EXPECT_EQ(content(), all);
  EXPECT_EQ(published(), all);
  later.join();
}

}  // namespace
