// SPDX-License-Identifier: BSD-3-Clause
#include "cli/private_stagers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "staging/address_file.hpp"
#include "wire/key.hpp"

namespace glean::cli {
namespace {

constexpr std::chrono::seconds start_time{30};
constexpr std::chrono::milliseconds look_again{20};
constexpr int restarts_max = 100;   // of all of them
constexpr const char* grace_seconds = "1000000";   // as long as it takes

// None is of the launcher, and what the command is preloaded with is not for them.
std::vector<std::string> environment_of_stagers(int stagers) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("OMPI_COMM_WORLD_SIZE=")) environment.emplace_back(text);
  }
  environment.push_back(fmt::format("OMPI_COMM_WORLD_SIZE={}", stagers));   // they share an address file, as under a launcher
  return environment;
}

// `output`: their standard output; negative: nothing reads it.
int start(std::vector<std::string> words, std::vector<std::string> environment, int output) {
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
  };
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output >= 0) posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  else posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);   // what goes wrong is said on standard error
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);   // an interrupt from the terminal is for the command
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = 0;
  const int error = posix_spawn(&process, "/proc/self/exe", &actions, &attributes, pointers(words).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw base::system_error(error, "cannot start a stager");
  return process;
}

// 0: it cannot be, and the command goes on without it.
int start_or_not(const std::vector<std::string>& words, const std::vector<std::string>& environment, int output) {
  try {
    return start(words, environment, output);
  } catch (const base::Error& error) {
    base::log(base::LogLevel::error, "{}", error.what());
    return 0;
  }
}

std::size_t count_in(const std::string& address_file) {
  try {
    return staging::read_address_file(address_file).size();
  } catch (const base::Error&) {
    return 0;   // not yet
  }
}

}  // namespace

PrivateStagers::PrivateStagers(int stagers, const std::string& directory, const std::string& view) {
  const std::string address_file = directory + "/stage.json", key_file = directory + "/stage.key";
  wire::make_key_file(key_file);
  unsetenv(wire::key_variable);   // it would win
  setenv("GLEAN_MODE", "staged", 1);
  setenv("GLEAN_STAGING_ADDRESS", address_file.c_str(), 1);
  setenv("GLEAN_STAGING_KEY", key_file.c_str(), 1);
  words_ = {"glean", "stage", "--directory", "/", "--programs", "--address-file", address_file, "--key", key_file,
            "--job-memory", "256MiB", "--grace", grace_seconds};
  if (!view.empty()) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw base::system_error(errno, "cannot start stagers");
    output_ = ends[0], their_output_ = ends[1];
    fcntl(their_output_, F_SETFL, 0);
    words_.insert(words_.end(), {"--view", view});
  }
  environment_ = environment_of_stagers(stagers);
  while (static_cast<int>(processes_.size()) < stagers) processes_.push_back(start(words_, environment_, their_output_));
  const auto deadline = std::chrono::steady_clock::now() + start_time;
  while (count_in(address_file) < processes_.size()) {
    const bool is_late = std::chrono::steady_clock::now() > deadline;
    const auto has_ended = [](int process) { return waitpid(process, nullptr, WNOHANG) != 0; };
    const bool any_ended = std::any_of(processes_.begin(), processes_.end(), has_ended);
    if (is_late || any_ended) throw base::Error(base::Errc::io, "the stagers of this command do not start", "see what they say above");
    std::this_thread::sleep_for(look_again);
  }
  watcher_ = std::thread([this] { watch(); });
}

// "JOB has a view: its URL is in FILE", which lives as long as the job.
void PrivateStagers::tell_views() {
  std::array<char, 4096> part{};
  for (ssize_t size = 0; output_ >= 0 && (size = read(output_, part.data(), part.size())) > 0;) {
    said_.append(part.data(), static_cast<std::size_t>(size));
  }
  for (std::size_t end = 0; (end = said_.find('\n')) != said_.npos; said_.erase(0, end + 1)) {
    const std::string_view line = std::string_view(said_).substr(0, end);
    constexpr std::string_view before_file = " has a view: its URL is in ";
    const std::size_t at = line.find(before_file);
    if (at == line.npos) continue;
    std::string url;
    std::ifstream file(std::string(line.substr(at + before_file.size())));
    if (std::getline(file, url)) std::cerr << fmt::format("glean: the view of {} at its stager: {}", line.substr(0, at), url) << std::endl;
  }
}

// A stager that ends before it is told to was killed, or is broken.
void PrivateStagers::watch() {
  int restarts = 0;
  std::unique_lock lock(mutex_);
  while (!ends_now_.wait_for(lock, look_again, [this] { return ends_; })) {
    tell_views();
    for (int& process : processes_) {
      int status = 0;
      if (process == 0 || waitpid(process, &status, WNOHANG) != process) continue;
      const std::string how = WIFSIGNALED(status) ? fmt::format("was killed by signal {}", WTERMSIG(status))
                                                  : fmt::format("has ended with exit code {}", WEXITSTATUS(status));
      const bool starts_again = ++restarts <= restarts_max;
      base::log(base::LogLevel::warning, "stager {} {}{}", process, how, starts_again ? ": it is started again" : "");
      process = starts_again ? start_or_not(words_, environment_, their_output_) : 0;
    }
  }
}

void PrivateStagers::stop_to_watch() {
  if (!watcher_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  ends_now_.notify_all();
  watcher_.join();
  std::erase(processes_, 0);
}

PrivateStagers::~PrivateStagers() {
  stop_to_watch();
  for (const int process : processes_) kill(process, SIGKILL);
  for (const int process : processes_) waitpid(process, nullptr, 0);
  for (const int end : {output_, their_output_}) {
    if (end >= 0) close(end);
  }
}

// Reads on what the stagers say of their views: one that waits for room in the pipe would not end.
int PrivateStagers::wait_for(int process) {
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(process, &status, output_ < 0 ? 0 : WNOHANG);
    if (ended == process || (ended < 0 && errno != EINTR)) return status;
    pollfd said{output_, POLLIN, 0};
    if (output_ >= 0) poll(&said, 1, static_cast<int>(look_again.count()));
    tell_views();
  }
}

bool PrivateStagers::finish() {
  stop_to_watch();
  bool is_all_done = true;
  for (const int process : processes_) kill(process, SIGTERM);
  for (const int process : processes_) {
    const int status = wait_for(process);
    is_all_done = is_all_done && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  processes_.clear();
  return is_all_done;
}

}  // namespace glean::cli
