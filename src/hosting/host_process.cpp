// SPDX-License-Identifier: BSD-3-Clause
#include "hosting/host_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "hosting/outside_job.hpp"

namespace glean::hosting {
namespace {

constexpr int socket_in_host = 3;
constexpr int look_ms = 100;
constexpr double farewell_seconds = 2;
constexpr std::size_t answer_max = 16 * base::MiB;
constexpr std::size_t line_max = 1000, last_max = 2000;
constexpr int reads_at_once = 16;   // of the output, before the deadline is looked at

// One thread, unless the user has said otherwise: the cores are the ranks'.
std::vector<std::string> environment_of_host() {
  std::vector<std::string> variables = environment_outside_job();
  for (const char* threads : {"OMP_NUM_THREADS=", "OPENBLAS_NUM_THREADS=", "MKL_NUM_THREADS="}) {
    const auto says_it = [&](const std::string& each) { return each.starts_with(threads); };
    if (std::none_of(variables.begin(), variables.end(), says_it)) variables.push_back(std::string(threads) + "1");
  }
  return variables;
}

}  // namespace

HostProcess::HostProcess(HostTerms terms) : terms_(std::move(terms)) { start(); }

HostProcess::~HostProcess() {
  if (socket_ >= 0) shutdown(socket_, SHUT_WR);
  const std::uint64_t begin = base::now_ns();
  while (process_ > 0 && base::seconds(base::now_ns() - begin) < farewell_seconds && !terms_.is_stopping()) {
    std::string nothing;
    if (!exchange(nothing, look_ms)) break;
  }
  kill_it();
  if (socket_ >= 0) close(socket_);
  if (output_ >= 0) close(output_);
}

void HostProcess::start() {
  int ends[2] = {-1, -1}, pipes[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 || pipe2(pipes, O_CLOEXEC) != 0) {
    const int error = errno;
    for (const int each : ends) {
      if (each >= 0) close(each);
    }
    throw HostLost(fmt::format("it cannot be started: {}", std::strerror(error)));
  }
  socket_ = ends[0];
  output_ = pipes[0];
  for (const int each : {socket_, output_}) fcntl(each, F_SETFL, fcntl(each, F_GETFL) | O_NONBLOCK);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  // Above the descriptors that it gets, whatever numbers this process has given them.
  const int its_socket = fcntl(ends[1], F_DUPFD_CLOEXEC, 10), its_output = fcntl(pipes[1], F_DUPFD_CLOEXEC, 10);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, its_output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, its_output, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&files, its_socket, socket_in_host);
  posix_spawn_file_actions_addclosefrom_np(&files, socket_in_host + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);   // what it starts is ended with it
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> variables = environment_of_host();
  const auto arguments = pointers_to(terms_.words), environment = pointers_to(variables);
  const int error = posix_spawnp(&process_, arguments.front(), &files, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  for (const int each : {its_socket, its_output, ends[1], pipes[1]}) close(each);
  if (error != 0) {
    process_ = 0;
    close(std::exchange(socket_, -1));
    close(std::exchange(output_, -1));
    throw HostLost(fmt::format("'{}' cannot be started: {}", terms_.words.front(), std::strerror(error)));
  }
  // Before it is told what to run. What it maps of the pool is not counted.
  const rlimit no_core{0, 0}, memory{terms_.memory_bytes, terms_.memory_bytes};
  prlimit(process_, RLIMIT_CORE, &no_core, nullptr);
  if (terms_.memory_bytes != 0) prlimit(process_, RLIMIT_DATA, &memory, nullptr);
}

bool HostProcess::has_answer() const {
  std::uint64_t length = 0;
  if (received_.size() < sizeof length) return false;
  std::memcpy(&length, received_.data(), sizeof length);
  return received_.size() - sizeof length >= length;
}

std::string HostProcess::ask(const std::string& message, double seconds) {
  if (process_ <= 0) throw HostLost("it has ended before");
  const std::uint64_t length = message.size();
  std::string unsent(reinterpret_cast<const char*>(&length), sizeof length);
  unsent += message;
  const std::uint64_t begin = base::now_ns();
  while (!has_answer()) {
    const bool goes_on = exchange(unsent, look_ms);
    if (has_answer()) break;
    if (!goes_on) lose(how_it_ended());
    if (terms_.is_stopping()) lose("the drain ends");
    if (received_.size() > answer_max) lose("it answers more than 16 MiB");
    if (base::seconds(base::now_ns() - begin) > seconds) lose(fmt::format("it has not done it within {:g} s, and was ended", seconds));
  }
  std::uint64_t answered = 0;
  std::memcpy(&answered, received_.data(), sizeof answered);
  std::string answer = received_.substr(sizeof answered, answered);
  received_.clear();
  listen();
  return answer;
}

void HostProcess::listen() {
  if (process_ <= 0) return;
  read_output();
  say_lines(false);
}

bool HostProcess::exchange(std::string& unsent, int wait_ms) {
  pollfd look[2] = {{socket_, static_cast<short>(POLLIN | (unsent.empty() ? 0 : POLLOUT)), 0}, {output_, POLLIN, 0}};
  if (poll(look, 2, wait_ms) <= 0) return true;
  if (look[1].revents != 0) {
    read_output();
    say_lines(false);
  }
  if ((look[0].revents & POLLOUT) != 0) {
    const ssize_t sent = send(socket_, unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent > 0) unsent.erase(0, static_cast<std::size_t>(sent));
    else if (errno != EAGAIN && errno != EINTR) return false;
  }
  if ((look[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) return true;
  char buffer[1 << 16];
  const ssize_t length = recv(socket_, buffer, sizeof buffer, 0);
  if (length > 0) received_.append(buffer, static_cast<std::size_t>(length));
  return length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR));
}

void HostProcess::read_output() {
  for (int i = 0; output_ >= 0 && i < reads_at_once; ++i) {
    char buffer[1 << 16];
    const ssize_t length = read(output_, buffer, sizeof buffer);
    if (length > 0) {
      line_.append(buffer, static_cast<std::size_t>(length));
      say_lines(false);
    } else if (length == 0) {
      close(std::exchange(output_, -1));
    } else {
      return;
    }
  }
}

// A line without an end is cut.
void HostProcess::say_lines(bool all) {
  std::size_t begin = 0;
  while (begin < line_.size()) {
    const std::size_t end = line_.find('\n', begin);
    if (end == line_.npos && line_.size() - begin < line_max && !all) break;
    const std::size_t length = std::min(end == line_.npos ? line_.size() - begin : end - begin, line_max);
    const std::string line = line_.substr(begin, length);
    last_ += line + '\n';
    if (terms_.said) terms_.said(line);
    begin = end == line_.npos ? begin + length : end + 1;
  }
  line_.erase(0, begin);
  if (last_.size() > 2 * last_max) last_.erase(0, last_.size() - last_max);
}

std::string HostProcess::how_it_ended() {
  const std::uint64_t begin = base::now_ns();
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0) {
    if (base::seconds(base::now_ns() - begin) > farewell_seconds) return "it does not talk any more, and was ended";
    usleep(1000);
  }
  kill(-process_, SIGKILL);   // what it has started, as long as its number is its own
  int status = 0;
  const bool is_known = waitpid(process_, &status, 0) == process_;   // else the program takes the status of children of others
  process_ = 0;
  if (!is_known) return "it has ended";
  if (WIFSIGNALED(status)) {
    const char* name = sigdescr_np(WTERMSIG(status));
    return fmt::format("it was ended by signal {} ({})", WTERMSIG(status), name == nullptr ? "unknown" : name);
  }
  return fmt::format("it has ended with code {}", WEXITSTATUS(status));
}

void HostProcess::kill_it() {
  if (process_ <= 0) return;
  kill(-process_, SIGKILL);
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
  process_ = 0;
}

void HostProcess::lose(const std::string& why) {
  kill_it();
  read_output();
  say_lines(true);
  if (last_.size() > last_max) last_.erase(0, last_.size() - last_max);
  while (!last_.empty() && last_.back() == '\n') last_.pop_back();
  throw HostLost(last_.empty() ? why : why + "; it said last:\n" + last_);
}

}  // namespace glean::hosting
