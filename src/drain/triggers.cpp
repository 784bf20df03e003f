// SPDX-License-Identifier: BSD-3-Clause
#include "drain/triggers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "hosting/outside_job.hpp"
#include "pool/message_log.hpp"

namespace glean::drain {
namespace {

constexpr std::size_t running_max = 4, waiting_max = 256;
constexpr double end_seconds = 10;
constexpr auto look = std::chrono::milliseconds(50);

std::string why(const Fired& fired) {
  return fmt::format("'{}', step {}, node {}: {} = {} ({})", fired.output, fired.step, fired.node, fired.number, fired.value,
                     fired.trigger.condition);
}

}  // namespace

void Triggers::fire(Fired fired) {
  base::log(base::LogLevel::info, "a trigger: {}", why(fired));
  if (!fired.trigger.tell.empty() && !pool::tell(pool_, {fired.trigger.tell, fired.output, fired.step})) {
    base::log(base::LogLevel::warning, "a message to the program is lost, because there is no room for it: {}", why(fired));
  }
  if (fired.trigger.run.empty() && fired.trigger.mark.empty()) return;
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  if (fired_.size() >= waiting_max) {
    base::log(base::LogLevel::warning, "a trigger is left out, because {} wait already: {}", fired_.size(), why(fired));
    return;
  }
  fired_.push_back(std::move(fired));
  has_more_.notify_one();
  if (thread_.joinable()) return;
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

void Triggers::stop() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    thread = std::move(thread_);
  }
  has_more_.notify_one();
  if (thread.joinable()) thread.join();
}

void Triggers::run() {
  pthread_setname_np(pthread_self(), "glean-triggers");
  std::optional<std::uint64_t> stopping_since;
  for (;;) {
    std::optional<Fired> next;
    {
      std::unique_lock lock(mutex_);
      has_more_.wait_for(lock, look, [this] { return is_stopping_ || (!fired_.empty() && running_.size() < running_max); });
      if (is_stopping_ && !stopping_since) stopping_since = base::now_ns();
      const bool has_time = !stopping_since || base::seconds(base::now_ns() - *stopping_since) < end_seconds;
      if (is_stopping_ && (fired_.empty() || !has_time)) {
        if (!fired_.empty()) base::log(base::LogLevel::warning, "{} triggers are left out: the drain ends", fired_.size());
        break;
      }
      if (!fired_.empty() && running_.size() < running_max) {
        next = std::move(fired_.front());
        fired_.pop_front();
      }
    }
    if (next) perform(*next);
    else std::this_thread::sleep_for(look / 10);   // while it ends and all places are taken
    reap();
  }
  reap();
}

void Triggers::perform(const Fired& fired) {
  if (!fired.trigger.mark.empty()) mark(fired);
  if (!fired.trigger.run.empty()) start(fired);
}

// The system calls themselves: what the names in the C library lead to may wait for the drain.
void Triggers::mark(const Fired& fired) const {
  const std::string line = why(fired) + "\n";
  const int file = static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, fired.trigger.mark.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  const bool is_written = file >= 0 && syscall(SYS_write, file, line.data(), line.size()) == static_cast<long>(line.size());
  if (!is_written) base::log(base::LogLevel::warning, "the marker '{}' is not made: {}", fired.trigger.mark, std::strerror(errno));
  if (file >= 0) syscall(SYS_close, file);
}

void Triggers::start(const Fired& fired) {
  std::vector<std::string> words{"/bin/sh", "-c", fired.trigger.run}, variables = hosting::environment_outside_job();
  variables.push_back("GLEAN_TRIGGER_OUTPUT=" + fired.output);
  variables.push_back("GLEAN_TRIGGER_FILE=" + fired.file);
  variables.push_back(fmt::format("GLEAN_TRIGGER_STEP={}", fired.step));
  variables.push_back(fmt::format("GLEAN_TRIGGER_NODE={}", fired.node));
  variables.push_back("GLEAN_TRIGGER_NUMBER=" + fired.number);
  variables.push_back(fmt::format("GLEAN_TRIGGER_VALUE={}", fired.value));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t process = 0;
  const auto arguments = hosting::pointers_to(words), environment = hosting::pointers_to(variables);
  const int error = posix_spawn(&process, arguments.front(), &files, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) running_.push_back(process);
  else base::log(base::LogLevel::warning, "the command of a trigger cannot be started: {}: {}", std::strerror(error), why(fired));
}

void Triggers::reap() {
  std::erase_if(running_, [](pid_t process) {
    int status = 0;
    const pid_t ended = waitpid(process, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    if (ended == process && status != 0) {
      base::log(base::LogLevel::warning, "the command of a trigger has failed: {}",
                WIFEXITED(status) ? fmt::format("code {}", WEXITSTATUS(status)) : fmt::format("signal {}", WTERMSIG(status)));
    }
    return true;
  });
}

}  // namespace glean::drain
