// SPDX-License-Identifier: BSD-3-Clause
#include "drain/copier.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"

extern char** environ;

namespace glean::drain {
namespace {

constexpr int look_ms = 200;
constexpr double still_seconds_max = 300;   // a command that neither computes nor moves bytes for as long is ended
constexpr std::size_t said_max = 64 * base::KiB;

// Of this process, if it is `glean`; empty if not.
std::string own_program() {
  char self[PATH_MAX] = {};
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  const std::string_view name(self, length < 0 ? 0 : static_cast<std::size_t>(length));
  return name.ends_with("/glean") ? std::string(name) : std::string();
}

std::mutex program_mutex;
std::string& program_of_session() {
  static auto* program = new std::string;   // threads of a drain may outlive what is static
  return *program;
}

// The file was made since then, by the clock of the file system.
bool is_new(const std::string& path, timespec since) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  constexpr time_t other_clock_seconds = 2;
  return status.st_ctim.tv_sec + other_clock_seconds >= since.tv_sec;
}

// What a process has done so far: it computes, or moves bytes. Empty when it is gone.
std::string work_of(pid_t process) {
  std::string text;
  for (const char* what : {"io", "schedstat"}) {
    const std::string path = fmt::format("/proc/{}/{}", process, what);
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    char buffer[512];
    const ssize_t length = read(file, buffer, sizeof buffer);
    close(file);
    if (length > 0) text.append(buffer, static_cast<std::size_t>(length));
  }
  return text;
}

// A process with a pipe from its standard output and error.
class Command {
 public:
  // Nothing that is interposed in this process is in that one, and no file of this one is open there.
  Command(const std::string& program, std::vector<std::string> words) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
      fail(errno);
      return;
    }
    output_ = ends[0];
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    std::vector<char*> arguments, environment;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (!std::string_view(*variable).starts_with("LD_PRELOAD=")) environment.push_back(*variable);
    }
    environment.push_back(nullptr);
    const int error = posix_spawn(&process_, program.c_str(), &files, &attributes, arguments.data(), environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    if (error != 0) fail(error);
  }
  ~Command() {
    if (output_ >= 0) close(output_);
    if (process_ > 0) end();
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // Takes what it says. False: it has ended, or has never begun.
  bool goes_on() {
    if (process_ <= 0) return false;
    pollfd look{output_, POLLIN, 0};
    if (poll(&look, 1, look_ms) <= 0) return true;
    char buffer[4096];
    const ssize_t length = read(output_, buffer, sizeof buffer);
    if (length < 0) return errno == EINTR;
    if (said_.size() < said_max) said_.append(buffer, static_cast<std::size_t>(length));
    return length > 0;
  }
  // Nothing: the program has taken the status of a child that it does not know.
  std::optional<bool> has_succeeded() {
    if (process_ <= 0) return false;
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(process_, &status, 0)) < 0 && errno == EINTR) continue;
    const bool is_known = ended == process_;
    process_ = 0;
    if (!is_known) return std::nullopt;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  void end() {
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
    process_ = 0;
  }
  [[nodiscard]] pid_t process() const { return process_; }
  [[nodiscard]] const std::string& said() const { return said_; }

 private:
  void fail(int error) {
    process_ = 0;
    said_ = fmt::format("it cannot be started: {}", std::strerror(error));
  }

  pid_t process_ = 0;
  int output_ = -1;
  std::string said_;
};

std::string with_final_name(std::string text, const store::FileNames& names) {
  for (std::size_t at = 0; (at = text.find(names.working_path, at)) != text.npos; at += names.final_path.size()) {
    text.replace(at, names.working_path.size(), names.final_path);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Empty: it has made the file. Of several records there are several, under other names; one that takes its place is looked at.
std::string failure_of(Command& command, const std::string& path, timespec begin, const store::FileNames& names, bool must_be_there) {
  const auto has_succeeded = command.has_succeeded();
  if (has_succeeded == true && (!must_be_there || is_new(path, begin))) return {};
  if (!has_succeeded && is_new(path, begin)) return {};
  if (has_succeeded == true) return "the command made no such file";
  std::string said = with_final_name(command.said(), names);
  return said.empty() ? "the command has failed, and has not said why" : said;
}

}  // namespace

void Copier::set_program(std::string program) {
  const std::lock_guard lock(program_mutex);
  program_of_session() = std::move(program);
}

std::string Copier::program() {
  if (std::string own = own_program(); !own.empty()) return own;
  const std::lock_guard lock(program_mutex);
  return program_of_session();
}

bool Copier::give(const Job& job, const store::Copies& copies, const store::FileNames& names) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  given_.push_back({job, copies, names});
  has_more_.notify_one();
  if (thread_.joinable()) return true;
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
  return true;
}

void Copier::stop() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  has_more_.notify_one();
  if (thread.joinable()) thread.join();
}

void Copier::run() {
  pthread_setname_np(pthread_self(), "glean-copier");
  std::unique_lock lock(mutex_);
  for (;;) {
    has_more_.wait(lock, [this] { return stopping_ || !given_.empty(); });
    if (given_.empty()) return;
    const Given given = std::move(given_.front());
    given_.pop_front();
    lock.unlock();
    std::vector<CopyTrace> made;
    for (const store::Copy& copy : given.copies.each) made.push_back(make(given, copy));
    done_(given.job, std::move(made));
    lock.lock();
  }
}

CopyTrace Copier::make(const Given& given, const store::Copy& copy) {
  CopyTrace made{.path = copy.path(given.names.final_path), .seconds = 0, .error = {}};
  const auto is_stopping = [&] {
    const std::lock_guard lock(mutex_);
    return stopping_;
  };
  if (is_stopping()) {
    made.error = "the drain has ended before";
    return made;
  }
  timespec begin_time{};
  clock_gettime(CLOCK_REALTIME, &begin_time);
  const std::uint64_t begin = base::now_ns();
  Command command(program(), given.copies.words(copy, given.names.working_path, made.path));
  std::string work;
  std::uint64_t worked_ns = begin;
  while (made.error.empty() && command.goes_on()) {
    std::string now = work_of(command.process());
    if (now.empty() || now != work) {
      work = std::move(now);
      worked_ns = base::now_ns();
      moves_();
    }
    if (is_stopping()) made.error = "the drain has ended before";
    else if (base::seconds(base::now_ns() - worked_ns) > still_seconds_max) made.error = "the command did nothing any more, and was ended";
  }
  made.seconds = base::seconds(base::now_ns() - begin);
  if (made.error.empty()) made.error = failure_of(command, made.path, begin_time, given.names, given.copies.instead);
  if (made.error.empty()) return made;
  const bool is_there = access(made.path.c_str(), F_OK) == 0;
  base::log(base::LogLevel::warning, "'{}' is not made{}: {}", made.path, is_there ? ", and the one that is there is older" : "",
            made.error);
  return made;
}

}  // namespace glean::drain
