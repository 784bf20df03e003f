// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "gather/directory_names.hpp"
#include "gather/node_files.hpp"

namespace glean::gather {
namespace {

constexpr const char* removed_directory = "removed";
thread_local int locks_here = 0;

const char* directory_of(State state) {
  switch (state) {
    case State::open: return "open";
    case State::closed: return "closed";
    case State::packing: return "packing";
    case State::clean: return "clean";
  }
  return "";
}

}  // namespace

std::string encoded_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '/') text += "%2F";
    else if (c == '%') text += "%25";
    else text += c;
  }
  return text;
}

std::string decoded_name(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view code = text.substr(i, 3);
    if (code == "%2F") name += '/', i += 2;
    else if (code == "%25") name += '%', i += 2;
    else name += text[i];
  }
  return name;
}

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> names;
  DIR* const opened = opendir(directory.c_str());
  if (opened == nullptr) return names;
  while (const dirent* entry = readdir(opened)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(opened);
  std::sort(names.begin(), names.end());
  return names;
}

NodeLock::NodeLock(const std::string& root) : descriptor_(open((root + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (descriptor_ < 0) throw base::system_error(errno, "cannot lock '" + root + "'");
  take();
}

NodeLock::~NodeLock() {
  release();
  if (descriptor_ >= 0) close(descriptor_);
}

void NodeLock::take() noexcept {
  if (is_taken_) return;
  ++locks_here;   // first: a signal handler that comes now must not wait for this thread
  while (flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {}
  is_taken_ = true;
}

void NodeLock::release() noexcept {
  if (!is_taken_) return;
  flock(descriptor_, LOCK_UN);   // a process that was forked meanwhile has the descriptor, too
  is_taken_ = false;
  --locks_here;
}

bool NodeLock::is_taken_here() noexcept { return locks_here != 0; }

std::string Family::entry(State state, const std::string& name) const {
  return directory_ + "/" + directory_of(state) + "/" + encoded_name(name);
}

std::optional<Held> Family::find(State state, const std::string& name) const {
  Held held{state, entry(state, name), {}};
  struct stat status {};
  if (lstat(held.entry.c_str(), &status) != 0) return std::nullopt;
  held.data = held.entry;
  if (S_ISLNK(status.st_mode)) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = readlink(held.entry.c_str(), target.data(), target.size() - 1);
    if (length <= 0) return std::nullopt;
    held.data.assign(target.data(), static_cast<std::size_t>(length));
  }
  return held;
}

std::optional<Held> Family::find(const std::string& name) const {
  for (const State state : all_states) {
    auto held = find(state, name);
    if (held && !(state == State::packing && is_removed(name))) return held;
  }
  return std::nullopt;
}

std::vector<std::string> Family::names(State state) const {
  std::vector<std::string> names = entries_of(directory_ + "/" + directory_of(state));
  for (std::string& name : names) name = decoded_name(name);
  std::erase_if(names, [](const std::string& name) { return name.starts_with('/'); });
  return names;
}

void Family::remove_all() const {
  for (const State state : all_states) {
    for (const std::string& entry : entries_of(directory_ + "/" + directory_of(state))) {
      if (const auto held = find(state, decoded_name(entry))) remove(*held);
    }
  }
  for (const std::string& name : removed()) set_removed(name, false);
}

bool Family::move(const Held& held, State state, const std::string& name) const {
  const auto replaced = find(state, name);
  if (rename(held.entry.c_str(), entry(state, name).c_str()) != 0) return false;
  if (replaced && replaced->data != replaced->entry) unlink(replaced->data.c_str());
  return true;
}

void Family::remove(const Held& held) const {
  if (held.data != held.entry) unlink(held.data.c_str());
  unlink(held.entry.c_str());
}

std::vector<std::string> Family::removed() const {
  std::vector<std::string> names = entries_of(directory_ + "/" + removed_directory);
  for (std::string& name : names) name = decoded_name(name);
  return names;
}

bool Family::is_removed(const std::string& name) const {
  return faccessat(AT_FDCWD, (directory_ + "/" + removed_directory + "/" + encoded_name(name)).c_str(), F_OK, 0) == 0;
}

void Family::set_removed(const std::string& name, bool removed) const {
  const std::string path = directory_ + "/" + removed_directory + "/" + encoded_name(name);
  if (!removed) {
    unlink(path.c_str());
    return;
  }
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor >= 0) close(descriptor);
}

// The kernel gives a lease to read only where nothing has the file open to write, or mapped so: not a descriptor that was duplicated or
// handed on, either. Nothing opens it meanwhile, because of the lock, so the lease is never broken.
bool Family::settle(const std::string& name, Otherwise otherwise) const {
  const auto held = find(State::open, name);
  if (!held) return true;
  const int descriptor = open(held->data.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) remove(*held);   // the call that was to make it has failed
    return false;
  }
  const bool is_leased = fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0;
  const int error = errno;
  if (is_leased) fcntl(descriptor, F_SETLEASE, F_UNLCK);
  close(descriptor);
  if (!is_leased && (error == EAGAIN || otherwise == Otherwise::open)) return false;
  return move(*held, State::closed, name);
}

// What a killed process had begun to write beside `container` goes with the directory.
bool Family::remove_if_empty() const {
  const auto goes = [&](const char* name) { return rmdir((directory_ + "/" + name).c_str()) == 0 || errno == ENOENT; };
  bool is_empty = goes(removed_directory);
  for (const State state : all_states) is_empty &= goes(directory_of(state));
  if (!is_empty) {
    make_directories(directory_);
    return false;
  }
  std::error_code problem;
  std::filesystem::remove_all(directory_, problem);
  return !problem;
}

bool make_directories(const std::string& family) {
  if (mkdir(family.c_str(), 0700) != 0 && errno != EEXIST) return false;
  for (const State state : all_states) {
    if (mkdir((family + "/" + directory_of(state)).c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return mkdir((family + "/" + removed_directory).c_str(), 0700) == 0 || errno == EEXIST;
}

}  // namespace glean::gather
