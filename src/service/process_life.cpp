// SPDX-License-Identifier: BSD-3-Clause
#include "service/process_life.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace glean::service {
namespace {

// PF_EXITING and PF_SIGNALED (a signal ends it), of the flags in /proc/PID/stat.
constexpr unsigned long ending_flags = 0x4 | 0x400;

struct ThreadLife {
  bool is_there = false, is_zombie = false, is_ending = false;
};

// "ID (NAME) STATE PPID PGRP SESSION TTY TPGID FLAGS …"; the name may have anything in it.
ThreadLife life_in(const std::filesystem::path& directory) {
  std::ifstream in(directory / "stat");
  std::string text;
  if (!std::getline(in, text)) return {};
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  char state = 0;
  long skipped = 0;
  unsigned long flags = 0;
  rest >> state;
  for (int field = 0; field < 5; ++field) rest >> skipped;
  rest >> flags;
  const bool is_zombie = state == 'Z' || state == 'X';
  return {.is_there = true, .is_zombie = is_zombie, .is_ending = is_zombie || (flags & ending_flags) != 0};
}

// SIGKILL waits for the thread, or for the process.
bool is_killed(const std::filesystem::path& directory) {
  std::ifstream in(directory / "status");
  for (std::string word; in >> word;) {
    if (word != "SigPnd:" && word != "ShdPnd:") continue;
    std::uint64_t pending = 0;
    in >> std::hex >> pending;
    if ((pending >> (SIGKILL - 1) & 1) != 0) return true;
  }
  return false;
}

}  // namespace

ProcessLife life_of(int process) {
  if (process <= 0) return ProcessLife::going_on;
  const std::filesystem::path directory("/proc/" + std::to_string(process));
  bool any = false;
  std::error_code error;
  for (std::filesystem::directory_iterator thread(directory / "task", error), end; !error && thread != end; thread.increment(error)) {
    const ThreadLife life = life_in(thread->path());
    if (!life.is_there || life.is_zombie) continue;
    if (!life.is_ending && !is_killed(thread->path())) return ProcessLife::going_on;
    any = true;
  }
  return any ? ProcessLife::ending : ProcessLife::gone;
}

}  // namespace glean::service
