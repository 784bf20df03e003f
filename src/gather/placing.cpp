// SPDX-License-Identifier: BSD-3-Clause
#include "gather/placing.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "gather/copying.hpp"
#include "gather/directory_names.hpp"

namespace glean::gather {
namespace {

constexpr useconds_t packing_nap_us = 5000;

bool is_there(const std::string& path) {
  struct stat status {};
  return fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool can_make_files_in(const std::string& directory) { return faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0; }

std::string parent_of(const std::string& path) { return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)); }

}  // namespace

std::optional<Placing::Contained> Placing::find_contained(const RankFile& file) {
  if (auto found = containers_.find(file.container); found.container) {
    if (const auto* inside = found.container->find(file.name)) return Contained{std::move(found.container), *inside};
  }
  if (file.containers_of_nodes.empty()) return std::nullopt;
  glob_t names{};
  std::optional<Contained> contained;
  if (glob(file.containers_of_nodes.c_str(), 0, nullptr, &names) == 0) {
    for (std::size_t i = 0; i < names.gl_pathc && !contained; ++i) {
      auto found = containers_.find(names.gl_pathv[i]);
      const auto* inside = found.container ? found.container->find(file.name) : nullptr;
      if (inside != nullptr) contained = Contained{std::move(found.container), *inside};
    }
  }
  globfree(&names);
  return contained;
}

bool Placing::is_contained(const RankFile& file, const std::optional<Family>& family) {
  return !(family && family->is_removed(file.name)) && find_contained(file).has_value();
}

bool Placing::has(const RankFile& file) {
  const auto family = files_.find_family(file.container);
  return (family && family->find(file.name)) || is_contained(file, family);
}

void Placing::wait_until_packed(NodeLock& lock) {
  lock.release();
  usleep(packing_nap_us);
  lock.take();
}

std::optional<std::string> Placing::lead(const RankFile& file, Intent intent, NodeLock& lock) {
  for (;;) {
    const auto family = files_.find_family(file.container);
    const auto held = family ? family->find(file.name) : std::nullopt;
    const bool changes = intent.writes && !(intent.creates && intent.needs_new);
    if (held && (!changes || held->state == State::open)) return held->data;
    if (held && held->state == State::packing) {
      if (intent.truncates && may_begin_) return begin_empty(file);   // what is on its way stays as it is
      wait_until_packed(lock);
      continue;
    }
    if (held) {
      if (!files_.open_again(*family, *held, file.name)) return std::nullopt;
      const auto moved = family->find(State::open, file.name);
      return moved ? std::optional(moved->data) : std::nullopt;
    }
    if (is_there(file.path)) return std::nullopt;
    const auto contained = family && family->is_removed(file.name) ? std::nullopt : find_contained(file);
    if (contained && intent.truncates && changes && may_begin_) return begin_empty(file);
    if (contained) {
      const State state = changes ? State::open : State::clean;
      std::string path = bring_out(file, *contained, state, lock);
      if (!path.empty()) return path;
      continue;
    }
    return intent.creates && may_begin_ ? begin(file) : std::nullopt;
  }
}

// The call makes the file: where its own directory would not have it, that says why.
std::optional<std::string> Placing::begin(const RankFile& file) {
  if (!can_make_files_in(parent_of(file.path))) return std::nullopt;
  const auto found = containers_.find(file.container);
  const char* why = found.is == KnownContainers::Is::something_else ? "is there, and is no container" :
                    found.container && !found.container->can_be_made_again() ? "has files of such names that it cannot be made again" :
                    !can_make_files_in(parent_of(file.container)) ? "cannot be made" : nullptr;
  if (why != nullptr) {
    base::log(base::LogLevel::warning, "'{}' is written as it is: '{}' {}", file.path, file.container, why);
    return std::nullopt;
  }
  try {
    std::optional<Bytes> expected = files_.longest(file.rule);
    if (found.container) expected = std::max(expected.value_or(0), found.container->longest());
    return files_.place(files_.family(file), State::open, file.name, expected);
  } catch (const base::Error& error) {
    base::log(base::LogLevel::warning, "'{}' is written as it is: {}", file.path, error.what());
    return std::nullopt;
  }
}

// For calls that do not make one.
std::optional<std::string> Placing::begin_empty(const RankFile& file) {
  auto path = begin(file);
  const int made = path ? open(path->c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (made >= 0) close(made);
  return path;
}

// Empty: something has changed meanwhile.
std::string Placing::bring_out(const RankFile& file, const Contained& contained, State state, NodeLock& lock) {
  const Family family = files_.family(file);
  const std::string working = fmt::format("/{}.{}", getpid(), base::now_ns());   // no name has a slash in it as an entry
  const std::string entry = family.entry(state, working);
  const std::string data = files_.place(family, state, working, contained.file.bytes);
  lock.release();
  const bool is_copied = copy_out(contained.container->container(), contained.file, data, contained.container->status().st_mtim);
  lock.take();
  const auto brought = family.find(state, working);
  const bool is_wanted = is_copied && brought && !family.find(file.name) && !family.is_removed(file.name) && !is_there(file.path);
  if (!is_wanted) {
    if (brought) files_.remove(family, *brought);
    if (!is_copied) throw base::system_error(errno, fmt::format("cannot bring '{}' out of '{}'", file.name, file.container));
    return {};
  }
  if (!family.move(*brought, state, file.name)) {
    const int error = errno;
    files_.remove(family, *brought);
    throw base::system_error(error, fmt::format("cannot bring '{}' out of '{}'", file.name, file.container));
  }
  const auto held = family.find(state, file.name);
  return held ? held->data : std::string();
}

Placing::Done Placing::remove(const RankFile& file, NodeLock&) {
  const auto family = files_.find_family(file.container);
  const bool is_held = family && family->find(file.name).has_value();
  if (!is_held && (is_there(file.path) || !is_contained(file, family))) {
    if (is_there(file.path)) forget(file);   // what its container has of it, too
    return Done::nothing_here;
  }
  forget(file);
  return Done::done;
}

// Nothing of that name is on the node any more, nor to be found in the container.
void Placing::forget(const RankFile& file) {
  const auto family = files_.find_family(file.container);
  if (family) {
    for (const State state : {State::open, State::closed, State::clean}) {
      if (const auto held = family->find(state, file.name)) files_.remove(*family, *held);
    }
  }
  const bool is_packing = family && family->find(State::packing, file.name).has_value();
  if (is_packing || is_contained(file, family)) files_.family(file).set_removed(file.name, true);
}

std::optional<int> Placing::rename(const std::string& from, const std::optional<RankFile>& from_file, const std::string& to,
                                   const std::optional<RankFile>& to_file, NodeLock& lock) {
  const auto source = from_file ? lead(*from_file, {}, lock) : std::nullopt;
  if (from == to) return source ? std::optional(0) : std::nullopt;
  if (!source) {
    if (!to_file || !is_there(from)) return std::nullopt;
    forget(*to_file);   // a file of its own takes the name
    return std::nullopt;
  }
  const Family from_family = files_.family(*from_file);
  auto held = from_family.find(from_file->name);
  while (held && held->state == State::packing) {
    wait_until_packed(lock);
    held = from_family.find(from_file->name);
  }
  if (!held) return rename(from, from_file, to, to_file, lock);   // it is in the container now, and brought out
  if (!to_file || is_there(to)) {
    const int error = copy_to(held->data, to);
    if (error != 0) return error;
    if (to_file) forget(*to_file);
    forget(*from_file);
    return 0;
  }
  if (!can_make_files_in(parent_of(to))) return std::nullopt;
  const Family to_family = files_.family(*to_file);
  const State state = held->state == State::clean ? State::closed : held->state;
  for (const State other : {State::open, State::closed, State::clean}) {   // what it replaces
    if (const auto replaced = to_family.find(other, to_file->name)) files_.remove(to_family, *replaced);
  }
  if (::rename(held->entry.c_str(), to_family.entry(state, to_file->name).c_str()) != 0) return errno;
  forget(*from_file);
  return 0;
}

void Placing::settle(std::uint64_t device, std::uint64_t inode) const {
  for (const Family& family : files_.families()) {
    for (const std::string& name : family.names(State::open)) {
      struct stat status {};
      const std::string entry = family.entry(State::open, name);
      if (fstatat(AT_FDCWD, entry.c_str(), &status, 0) != 0 || status.st_ino != inode || status.st_dev != device) continue;
      static_cast<void>(files_.settle(family, name, Family::Otherwise::closed));
    }
  }
}

}  // namespace glean::gather
