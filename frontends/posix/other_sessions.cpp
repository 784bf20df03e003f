// SPDX-License-Identifier: BSD-3-Clause
#include "other_sessions.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "path_resolution.hpp"

namespace glean::posix {
namespace {

constexpr const char* directory_of_pools = "/dev/shm";
constexpr time_t young_seconds = 10;   // a pool that is so old and that no process uses is not being made any more

struct OtherSession {
  OtherSession(const std::string& name, double deadline_seconds)
      : pool(pool::Pool::attach(name, pool::Pool::Access::look)), interposition(pool, pool::no_rank, deadline_seconds, {}, nullptr) {}
  pool::Pool pool;
  Interposition interposition;
};
using Sessions = std::vector<std::shared_ptr<OtherSession>>;

std::atomic<bool> may_be_others = false;
// Threads and signal handlers look at a list while another one is made: the old one goes when no thread looks.
std::atomic<const Sessions*> current_sessions = nullptr;
std::atomic<int> threads_looking = 0;

std::vector<std::string> names_of_pools() {
  std::vector<std::string> names;
  const std::string prefix = "glean." + std::to_string(getuid()) + ".";
  for (const auto& entry : std::filesystem::directory_iterator(directory_of_pools)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix)) names.push_back("/" + name);
  }
  return names;
}

std::shared_ptr<OtherSession> known(const Sessions* sessions, const std::string& name) {
  if (sessions == nullptr) return nullptr;
  for (const auto& session : *sessions) {
    if (session->pool.name() == name) return session;
  }
  return nullptr;
}

// Null: no process uses it.
std::shared_ptr<OtherSession> attached(const std::string& name, double deadline_seconds) {
  try {
    if (pool::Pool::process_using(name) == 0) return nullptr;
    return std::make_shared<OtherSession>(name, deadline_seconds);
  } catch (const std::exception&) {
    return nullptr;   // it has just gone, or is being made
  }
}

bool is_young(const std::string& name) {
  struct stat status {};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return stat((directory_of_pools + name).c_str(), &status) == 0 && now.tv_sec - status.st_ctim.tv_sec < young_seconds;
}

}  // namespace

void expect_other_sessions() noexcept { may_be_others.store(true); }

bool knows_other_sessions() noexcept { return current_sessions.load(std::memory_order_relaxed) != nullptr; }

void find_other_sessions() noexcept {
  if (!may_be_others.load(std::memory_order_relaxed)) return;
  static std::mutex finding;
  static timespec seen{};
  static std::vector<std::unique_ptr<const Sessions>> lists;
  const std::unique_lock lock(finding, std::try_to_lock);
  struct stat status {};
  if (!lock || stat(directory_of_pools, &status) != 0) return;
  if (status.st_mtim.tv_sec == seen.tv_sec && status.st_mtim.tv_nsec == seen.tv_nsec) return;
  const Looking own;
  if (own.interposition() == nullptr) return;
  try {
    auto now = std::make_unique<Sessions>();
    bool any_may_come = false;
    for (const std::string& name : names_of_pools()) {
      if (name == own.interposition()->draining.pool().name()) continue;
      auto session = known(current_sessions.load(), name);
      if (!session) session = attached(name, own.interposition()->deadline_seconds);
      if (session) now->push_back(std::move(session));
      else any_may_come = any_may_come || is_young(name);
    }
    current_sessions.store(now.get());
    lists.push_back(std::move(now));
    if (threads_looking.load() == 0) lists.erase(lists.begin(), lists.end() - 1);
    if (!any_may_come) seen = status.st_mtim;
  } catch (const std::exception&) {
    // Out of memory: the program will hear of it.
  }
}

void wait_for_other_sessions(const char* call, int directory, const char* path, Wanted wanted) noexcept {
  if (!knows_other_sessions() || path == nullptr) return;
  const int error = errno;
  threads_looking.fetch_add(1);
  Path resolved;
  std::size_t length = 0;
  for (const auto& session : *current_sessions.load()) {
    pool::Draining& draining = session->interposition.draining;
    const pool::OutputSet closed = draining.outputs().closed;
    if (closed == 0) continue;
    if (wanted == Wanted::any_file) {
      wait_for(session->interposition, closed, {call, path});
      continue;
    }
    if (length == 0) length = resolve_wanted(directory, path, wanted, resolved);
    if (length == 0) break;
    const pool::OutputSet outputs = draining.of(closed, pool::path_mark({resolved.data(), length}), names_wanted(wanted));
    if (outputs != 0) wait_for(session->interposition, outputs, {call, path});
  }
  threads_looking.fetch_sub(1);
  errno = error;
}

}  // namespace glean::posix
