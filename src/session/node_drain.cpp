// SPDX-License-Identifier: BSD-3-Clause
#include "session/node_drain.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "base/units.hpp"
#include "pool/futex.hpp"
#include "pool/published.hpp"
#include "pool/wait.hpp"
#include "service/recovery.hpp"
#include "service/serve.hpp"
#include "view/live/live_view.hpp"
#include "session/agreement.hpp"
#include "session/byte_opening.hpp"

namespace glean::session {
namespace {

constexpr std::uint64_t helper_nap_ns = 20'000'000;
constexpr std::chrono::milliseconds look_again{100};
constexpr double start_seconds = 30, end_seconds = 30;
constexpr useconds_t starting_nap_us = 500;
constexpr double grace_seconds = 5;

bool can_be_run(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

// The command that was built or installed with the library that this code is in: it knows the pool's format.
std::string command_beside_library(const std::string& command) {
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&command_beside_library), &library) == 0 || library.dli_fname == nullptr) return "";
  const std::string directory = std::filesystem::path(library.dli_fname).parent_path().string();
  return (directory.empty() ? "." : directory) + "/../bin/" + command;
}

// As it was given if it has a slash; else from beside the library, from PATH, or from where it was to be installed.
std::string find_command(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  if (const std::string beside = command_beside_library(command); can_be_run(beside)) return beside;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const std::string directory(rest.substr(0, rest.find(':')));
    const std::string candidate = directory + "/" + command;
    if (can_be_run(candidate)) return candidate;
    rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
  }
  return std::string(GLEAN_INSTALLED_COMMANDS) + "/" + command;
}

// The command makes a process of its own for the draining and ends itself, so that the application has no child that it
// does not know of.
void start_helper(const std::string& command, const std::string& pool, const std::string& view, double seconds) {
  std::string looks_nowhere = std::string(pool::looking_variable) + "=";
  std::vector<char*> environment{looks_nowhere.data()};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(looks_nowhere)) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  const std::string program = find_command(command);
  std::string verb = "drain", name = pool, zeroth = "glean";
  std::string option = "--view=" + view;
  char* arguments[] = {zeroth.data(), verb.data(), name.data(), view.empty() ? nullptr : option.data(), nullptr};
  const std::string what = "cannot start the helper process '" + program + " drain'";
  const std::string hint = "drain.command says where the command `glean` is; drain.place = \"threads\" does without";
  pid_t child = 0;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawn(&child, program.c_str(), nullptr, &attributes, arguments, environment.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw base::Error(base::Errc::not_found, base::system_error(error, what).what(), hint);
  int status = 0;
  pid_t ended = 0;
  for (const std::uint64_t begin = base::now_ns(); ended != child; ended = waitpid(child, &status, WNOHANG)) {
    if (ended < 0 && errno != EINTR) return;   // the application lets its children go by themselves
    if (base::seconds(base::now_ns() - begin) > seconds) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      throw base::Error(base::Errc::timeout, what + ": the command has not ended within " + base::exact_seconds(seconds), hint);
    }
    if (ended == 0) usleep(starting_nap_us);
  }
  if (status != 0) throw base::Error(base::Errc::unsupported, what + ": it has failed", hint);
}

template <class Condition>
bool wait_for(pool::Pool& pool, double seconds, Condition holds) {
  return pool::Wait(pool.header().progress, seconds, helper_nap_ns).until(holds);
}

}  // namespace

NodeDrain::NodeDrain(pool::Pool& pool, const plan::NodePlan& plan, const base::DrainSettings& settings, double deadline_seconds,
                     const std::string& view)
    : pool_(pool), plan_(plan), command_(settings.command), view_(view) {
  if (settings.place == base::DrainPlace::threads) {
    start_threads();
    return;
  }
  const double seconds = std::min(start_seconds, deadline_seconds);
  if (pool.drainer() == 0) start_helper(settings.command, pool.name(), view, seconds);
  bool was_there = false;
  const auto has_begun = [&] {   // it may be gone again: then the watch goes on in its place
    const bool is_there = pool.drainer() != 0;
    was_there = was_there || is_there;
    return pool.header().drains != 0 || (was_there && !is_there);
  };
  if (!wait_for(pool, seconds, has_begun)) {
    throw base::Error(base::Errc::timeout, "the helper process did not begin to drain within " + base::exact_seconds(seconds),
                      "see glean-drain.*.log in the working directory");
  }
  start_to_watch();
}

void NodeDrain::start_threads() {
  if (!pool_.claim_drain()) throw base::Error(base::Errc::io, "another process drains the pool '" + pool_.name() + "'");
  try {
    drain::Engine::set_converter(find_command(command_));
    engine_ = std::make_unique<drain::Engine>(pool_, plan_, calls_);
    live_view_ = std::make_unique<view::LiveView>(*engine_, pool_, view_);
  } catch (...) {
    pool_.leave_drain();
    throw;
  }
  on_termination_.emplace([this] { end_without_ranks("told to end (SIGTERM)"); });
}

// What is complete is completed, as `glean recover` would do it. After SIGTERM in a thread of its own; the others go on as they
// can until the process ends.
void NodeDrain::end_without_ranks(const char* why) {
  if (pool_.is_shared()) return leave_unfinished(why);   // what other nodes have is needed too
  const std::lock_guard lock(ending_);
  if (ended_without_ranks_.exchange(true)) return;
  const bool is_anything_left = any_is_open(pool_);
  const auto others_live = [&] {
    for (int rank = 1; rank < static_cast<int>(pool_.header().ranks); ++rank) {
      if (pool_.process_of_rank(rank) != 0) return true;
    }
    return false;
  };
  if (is_anything_left) base::log(base::LogLevel::warning, "{}: completing what all ranks have captured", why);
  // What ends them ends all ranks: a step that they are about to end counts.
  const bool alone = wait_for(pool_, grace_seconds, [&] { return !others_live(); });
  live_view_.reset();
  engine_->stop(drain::Engine::Unfinished::leave);
  // A rank that lives may be writing into a step that would be undone.
  if (alone) service::log(service::complete(pool_, calls_));
  else if (is_anything_left) base::log(base::LogLevel::warning, "other ranks live on: `glean recover` completes what is left");
}

void NodeDrain::leave_unfinished(const char* why) {
  if (is_helper()) return;   // it completes what all ranks have captured when they are gone
  const std::lock_guard lock(ending_);
  if (ended_without_ranks_.exchange(true)) return;
  if (any_is_open(pool_)) {
    base::log(base::LogLevel::warning, "{}: `{}glean recover` completes what all ranks have captured", why,
              pool_.is_shared() ? "mpirun --map-by ppr:1:node " : "");
  }
  live_view_.reset();
  engine_->stop(drain::Engine::Unfinished::leave);   // the storage may hang
}

NodeDrain::~NodeDrain() { stop_to_watch(); }

void NodeDrain::keep_alive() {
  const std::lock_guard lock(taking_over_);
  if (engine_ || pool_.drainer() != 0) return;
  if (pool_.is_shared()) {   // what it was exchanging with the others is gone with it
    if (!std::exchange(is_lost_, true)) base::log(base::LogLevel::error, "the writer of node {} is gone", pool_.header().node);
    return;
  }
  const auto error = caught([&] { start_threads(); });
  if (!error) {
    base::log(base::LogLevel::warning, "the helper process that drained is gone: this process goes on");
  } else if (!std::exchange(is_lost_, true)) {
    base::log(base::LogLevel::error, "the helper process that drained is gone, and this process cannot go on yet: {}", error->what());
  }
}

bool NodeDrain::adopt_now() {
  const std::lock_guard lock(taking_over_);
  if (engine_) engine_->adopt_now();
  return engine_ != nullptr;
}

bool NodeDrain::is_helper() const {
  const std::lock_guard lock(taking_over_);
  return engine_ == nullptr;
}

bool NodeDrain::leaves_the_pool() const {
  // A helper removes the pool itself, unless it has to leave something in it.
  return is_helper() ? pool_.header().session_state != pool::SessionState::closed || pool::any_is_kept(pool_)
                     : ended_without_ranks_.load() || keeps_some_;
}

void NodeDrain::start_to_watch() {
  const base::SignalsBlocked blocked;
  watcher_ = std::thread([this] { watch(); });
}

void NodeDrain::watch() {
  pthread_setname_np(pthread_self(), "glean-helper");
  std::unique_lock lock(taking_over_);
  while (!engine_ && !watched_enough_.wait_for(lock, look_again, [this] { return ends_; })) {
    lock.unlock();
    keep_alive();
    lock.lock();
  }
}

void NodeDrain::stop_to_watch() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(taking_over_);
    ends_ = true;
  }
  watched_enough_.notify_all();
  watcher_.join();
}

void NodeDrain::finish(drain::Engine::Unfinished unfinished) {
  stop_to_watch();
  const std::lock_guard lock(ending_);   // if the process is told to end just now, it ends in here
  pool_.header().session_state.store(pool::SessionState::closed, std::memory_order_release);
  if (engine_) {
    live_view_.reset();
    engine_->stop(unfinished);
    keeps_some_ = pool_.is_shared() ? service::tell_what_is_kept(pool_) : !service::try_what_is_kept(pool_, calls_);
    return;
  }
  pool::futex_signal(pool_.header().progress);
  if (!wait_for(pool_, end_seconds, [&] { return pool_.drainer() == 0; })) {
    base::log(base::LogLevel::warning, "the helper process {} does not end", pool_.drainer());
  }
  const auto error = caught([&] {
    if (const auto trace = service::trace_left_in(pool_)) of_helper_ = *trace;
  });
  if (error) base::log(base::LogLevel::warning, "{}", error->what());
}

drain::DrainTrace NodeDrain::trace() const { return engine_ ? engine_->trace() : of_helper_; }

}  // namespace glean::session
