// SPDX-License-Identifier: BSD-3-Clause
#include "gather/gathering.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/natural_order.hpp"
#include "gather/directory_names.hpp"
#include "store/container/container.hpp"
#include "store/container/pack.hpp"

namespace glean::gather {
namespace {

// What this container is made of: it does not change while it is.
struct Parts {
  std::vector<Held> held;
  std::vector<std::string> names, removed;
};

Parts take(const NodeFiles& files, const Family& family) {
  const NodeLock lock(files.root());
  for (const std::string& name : family.names(State::packing)) {   // of one that has failed
    const auto held = family.find(State::packing, name);
    if (held && family.is_removed(name)) files.remove(family, *held);
  }
  for (const std::string& name : family.names(State::closed)) {
    const auto held = family.find(State::closed, name);
    if (held && family.move(*held, State::packing, name)) family.set_removed(name, false);
  }
  Parts parts;
  for (const std::string& name : family.names(State::packing)) {
    if (const auto held = family.find(State::packing, name)) parts.held.push_back(*held), parts.names.push_back(name);
  }
  parts.removed = family.removed();
  return parts;
}

// The kernel gives a lease to write only where no other descriptor and no mapping of the file is left. Where the file system has no leases,
// the file counts as not read.
bool is_read(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_leased = fcntl(descriptor, F_SETLEASE, F_WRLCK) == 0;
  const bool is_open_elsewhere = !is_leased && errno == EAGAIN;
  if (is_leased) fcntl(descriptor, F_SETLEASE, F_UNLCK);
  close(descriptor);
  return is_open_elsewhere;
}

// What reads a file sees what is written to it later, as long as it stays the same one.
void let_go(const NodeFiles& files, const Family& family, const Parts& parts) {
  const NodeLock lock(files.root());
  for (std::size_t i = 0; i < parts.held.size(); ++i) {
    const std::string& name = parts.names[i];
    const bool has_newer = family.find(State::open, name) || family.find(State::closed, name) || family.is_removed(name);
    if (has_newer || !is_read(parts.held[i].data) || !family.move(parts.held[i], State::clean, name)) family.remove(parts.held[i]);
  }
  files.forget_used_bytes();
  for (const std::string& name : parts.removed) family.set_removed(name, false);
}

void give_back(const NodeFiles& files, const Family& family, const Parts& parts) {
  const NodeLock lock(files.root());
  for (std::size_t i = 0; i < parts.held.size(); ++i) {
    const std::string& name = parts.names[i];
    const bool has_newer = family.find(State::open, name) || family.find(State::closed, name) || family.is_removed(name);
    if (!has_newer) family.move(parts.held[i], State::closed, name);
  }
}

// Throws where it cannot be said: what is in the container would be lost.
bool exists(const std::string& path) {
  struct stat status {};
  if (fstatat(AT_FDCWD, path.c_str(), &status, 0) == 0) return true;
  if (errno == ENOENT) return false;
  throw base::system_error(errno, fmt::format("cannot look at '{}'", path));
}

// While it lives no other job of this user makes the next version of the container on this host: each would lose the other one's files.
// A record lock ends with its process, and no process that is forked has it.
class ContainerLock {
 public:
  explicit ContainerLock(const std::string& container)
      : path_(fmt::format("/dev/shm/glean-container.{}.{:016x}", getuid(), hash_of(container))) {
    do {
      if (descriptor_ >= 0) close(descriptor_);
      descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
      if (descriptor_ < 0) throw base::system_error(errno, fmt::format("cannot lock '{}' for '{}'", path_, container));
      struct flock whole {};
      whole.l_type = F_WRLCK;
      whole.l_whence = SEEK_SET;
      while (fcntl(descriptor_, F_SETLKW, &whole) != 0 && errno == EINTR) {}
    } while (!is_still_there());
  }
  ~ContainerLock() {
    unlink(path_.c_str());
    close(descriptor_);
  }
  ContainerLock(const ContainerLock&) = delete;
  ContainerLock& operator=(const ContainerLock&) = delete;

 private:
  // The one that had it before has removed it.
  [[nodiscard]] bool is_still_there() const {
    struct stat mine {}, there {};
    return fstat(descriptor_, &mine) == 0 && fstatat(AT_FDCWD, path_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
  }

  std::string path_;
  int descriptor_ = -1;
};

// The new version is one file.
void remove_other_files(store::SystemCalls& calls, const store::Container& container) {
  for (const store::PhysicalFile& file : container.physical_files()) {
    if (file.header.file != 0) calls.unlink(file.path.c_str());
  }
}

}  // namespace

Gathered gather(const NodeFiles& files, const Family& family) {
  const ContainerLock lock(family.container());
  const Parts parts = take(files, family);
  Gathered gathered{parts.held.size(), 0, 0};
  if (parts.held.empty() && parts.removed.empty()) return gathered;   // opened again meanwhile
  try {
    store::SystemCalls calls;
    std::optional<store::Container> before;
    if (exists(family.container())) before.emplace(calls, family.container());
    std::vector<store::PackSource> sources;
    for (std::size_t i = 0; i < parts.held.size(); ++i) {
      struct stat status {};
      if (fstatat(AT_FDCWD, parts.held[i].data.c_str(), &status, 0) == 0) gathered.bytes += static_cast<Bytes>(status.st_size);
      files.note_length(family.rule(), static_cast<Bytes>(status.st_size));
      sources.push_back({parts.held[i].data, parts.names[i]});
    }
    std::set<std::string> known(parts.names.begin(), parts.names.end());
    known.insert(parts.removed.begin(), parts.removed.end());
    if (before) {
      for (const store::LogicalFile& file : before->files()) {
        if (!known.contains(file.name)) sources.push_back({{}, file.name, &*before, file});
      }
    }
    std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return base::natural_compare(a.name, b.name) < 0; });
    gathered.in_container = sources.size();
    if (!sources.empty()) {
      const std::uint64_t id = base::now_ns() ^ (static_cast<std::uint64_t>(getpid()) << 40);
      store::PackOptions options;
      options.id = id;
      store::pack(calls, family.container(), sources, options, [](Bytes) {});
    } else if (before) {
      if (const int error = calls.unlink(family.container().c_str()); error < 0) {
        throw base::system_error(-error, fmt::format("cannot remove '{}'", family.container()));
      }
    }
    if (before) remove_other_files(calls, *before);
  } catch (...) {
    give_back(files, family, parts);
    throw;
  }
  let_go(files, family, parts);
  return gathered;
}

}  // namespace glean::gather
