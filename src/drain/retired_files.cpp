// SPDX-License-Identifier: BSD-3-Clause
#include "drain/retired_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "pool/futex.hpp"
#include "pool/published.hpp"

namespace glean::drain {
namespace {

using pool::NameChange;

bool is_file(const char* path, std::uint64_t device, std::uint64_t inode) {
  struct stat status {};
  return lstat(path, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

// Whether the file has its name now; it may have had it all the time.
bool give_name_back(const std::string& hidden, const std::string& path, store::SystemCalls& calls) {
  struct stat status {};
  if (lstat(hidden.c_str(), &status) != 0) return false;
  if (is_file(path.c_str(), status.st_dev, status.st_ino)) {
    calls.unlink(hidden.c_str());
    return true;
  }
  if (renameat2(AT_FDCWD, hidden.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (link(hidden.c_str(), path.c_str()) != 0) return false;   // a file system without that flag
  calls.unlink(hidden.c_str());
  return true;
}

// The output is to appear at `path`, or nowhere.
void rename_output(const pool::Pool& pool, pool::NameLog& log, pool::OutputKey output, const char* path) {
  NameChange change{.kind = NameChange::Kind::renamed, .state = NameChange::State::waiting, .output = output};
  std::string_view(path).copy(change.path.data(), change.path.size() - 1);
  if (!log.write(log.count(), change)) return;
  pool::OutputSlot& slot = pool.slot(output.slot);
  slot.is_renamed.store(*path == '\0' ? pool::is_removed_output : 1, std::memory_order_release);
  if (*path != '\0') pool::mark_path(slot, path);
  pool::futex_signal(pool.header().work);
}

// Another output is to appear there, or another file is there: as with files, that one has taken its place.
bool is_name_of_another(const pool::Pool& pool, const NameChange& change) {
  struct stat status {};
  if (lstat(change.path.data(), &status) == 0) return true;
  const std::uint64_t mark = pool::path_mark(change.path.data());
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    const bool is_other = index != change.output.slot && slot.state.load(std::memory_order_acquire) == pool::OutputState::open;
    if (is_other && slot.path_mark.load(std::memory_order_acquire) == mark) return true;
  }
  return false;
}

bool is_unpublished(const NameChange& change) { return change.output.generation != 0; }

// It is published, under its hidden name.
void note_file(NameChange& change) {
  struct stat status {};
  if (lstat(change.hidden.data(), &status) == 0) {
    change.device = status.st_dev;
    change.inode = status.st_ino;
  }
  change.output = {};
}

void restore(const pool::Pool& pool, pool::NameLog& log, NameChange& change, store::SystemCalls& calls, Retired& retired) {
  change.state = NameChange::State::free;
  if (is_unpublished(change)) {
    if (is_name_of_another(pool, change)) {
      change.state = NameChange::State::stays;
      retired.hidden.emplace_back(change.hidden.data());
      return;
    }
    retired.restored.emplace_back(change.path.data());
    return rename_output(pool, log, change.output, change.path.data());
  }
  if (!is_file(change.hidden.data(), change.device, change.inode)) return;   // the program did not come to it, or removed it
  if (give_name_back(change.hidden.data(), change.path.data(), calls)) {
    retired.restored.emplace_back(change.path.data());
    base::log(base::LogLevel::warning, "'{}', which the program has removed, is there again: what was closed before is not published",
              change.path.data());
  } else {
    change.state = NameChange::State::stays;
    retired.hidden.emplace_back(change.hidden.data());
    base::log(base::LogLevel::warning, "'{}', which the program has removed, is kept as '{}': what was closed before is not published, "
              "and another file has its name", change.path.data(), change.hidden.data());
  }
}

void let_go(const pool::Pool& pool, pool::NameLog& log, NameChange& change, store::SystemCalls& calls, Retired& retired) {
  change.state = NameChange::State::free;
  if (is_unpublished(change)) return rename_output(pool, log, change.output, "");
  if (!is_file(change.hidden.data(), change.device, change.inode)) return;
  calls.unlink(change.hidden.data());
  ++retired.let_go;
}

// Calls what(change) for each that waits, which says whether it has changed it; the log begins anew when nothing waits any more.
template <class What>
void for_each_waiting(pool::NameLog& log, What what) {
  NameChange change;
  bool any_waits = false;
  for (std::uint64_t number = 0; number < log.count(); ++number) {
    if (!log.read(number, change) || change.state != NameChange::State::waiting) continue;
    if (what(change)) static_cast<void>(log.write(number, change));
    any_waits = any_waits || change.state == NameChange::State::waiting;
  }
  if (!any_waits) log.clear();
}

bool is_retired(const NameChange& change) { return change.kind != NameChange::Kind::renamed; }

}  // namespace

Retired settle_names(const pool::Pool& pool, store::SystemCalls& calls, pool::OutputKey output, Ending ending) noexcept {
  Retired retired;
  try {
    pool::NameLog log(pool.name(), pool::NameLog::Make::no);
    if (!log.is_there()) return retired;
    for_each_waiting(log, [&](NameChange& change) {
      if (!is_retired(change)) {
        const bool is_over = change.output == output && ending != Ending::kept;
        if (is_over) change.state = NameChange::State::free;
        return is_over;
      }
      if (is_unpublished(change) && change.output == output && ending != Ending::kept) {
        if (ending == Ending::durable) note_file(change);
        else change.state = NameChange::State::free;
        return true;
      }
      std::uint32_t& generation = change.fence[output.slot];
      if (generation != output.generation) return false;
      if (ending != Ending::durable) {
        restore(pool, log, change, calls, retired);
      } else {
        generation = 0;
        if (pool::is_empty(change.fence)) let_go(pool, log, change, calls, retired);
      }
      return true;
    });
  } catch (const std::exception& error) {
    base::log(base::LogLevel::error, "the log of names: {}", error.what());
  }
  return retired;
}

Retired restore_all(const pool::Pool& pool, store::SystemCalls& calls) noexcept {
  Retired retired;
  try {
    pool::NameLog log(pool.name(), pool::NameLog::Make::no);
    if (!log.is_there()) return retired;
    for_each_waiting(log, [&](NameChange& change) {
      if (is_retired(change)) restore(pool, log, change, calls, retired);
      else change.state = NameChange::State::free;
      return true;
    });
  } catch (const std::exception& error) {
    base::log(base::LogLevel::error, "the log of names: {}", error.what());
  }
  return retired;
}

bool room_may_come(const pool::Pool& pool, pool::OutputKey output) noexcept {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {   // outputs that the program has removed, and that are about to go
    const pool::OutputSlot& slot = pool.slot(index);
    const bool is_going = slot.is_renamed == pool::is_removed_output && slot.state == pool::OutputState::open && !pool::is_kept(slot);
    if (index != output.slot && is_going) return true;
  }
  pool::NameLog log(pool.name(), pool::NameLog::Make::no);
  NameChange change;
  for (std::uint64_t number = 0; number < log.count(); ++number) {
    if (!log.read(number, change) || change.state != NameChange::State::waiting || !is_retired(change)) continue;
    const bool is_own = change.output == output || change.fence[output.slot] == output.generation;
    if (!is_own && !pool::is_empty(change.fence)) return true;
  }
  return false;
}

Retired restore_in(const std::string& directory, store::SystemCalls& calls, OfHosts hosts) {
  Retired retired;
  const std::string any_job = pool::hidden_job("/glean.");
  const std::string host = any_job.substr(any_job.find('.'));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string file = entry.path().filename().string();
    const auto hidden = pool::parse_hidden(file);
    if (!hidden) continue;
    // UID.PID.TIME.HOST
    std::size_t end = 0;
    for (int dots = 0; dots < 3 && end != std::string_view::npos; ++dots) end = hidden->job.find('.', end == 0 ? 0 : end + 1);
    if (end == std::string_view::npos) continue;
    const bool is_of_this_host = hidden->job.substr(end) == host;
    if (!is_of_this_host && hosts == OfHosts::this_one) continue;
    const std::string pool = "/dev/shm/glean." + std::string(hidden->job.substr(0, end));
    if (is_of_this_host && access(pool.c_str(), F_OK) == 0) continue;   // that is for the process that settles the pool
    const std::string path = (entry.path().parent_path() / std::string(hidden->name)).string();
    if (give_name_back(entry.path().string(), path, calls)) retired.restored.push_back(path);
    else retired.hidden.push_back(entry.path().string());
  }
  if (error) throw base::system_error(error.value(), "cannot look into '" + directory + "'");
  return retired;
}

}  // namespace glean::drain
