// SPDX-License-Identifier: BSD-3-Clause
#include "retiring.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/clock.hpp"
#include "interposition.hpp"
#include "path_resolution.hpp"
#include "pool/futex.hpp"
#include "pool/name_log.hpp"
#include "session/agreement.hpp"
#include "session/byte_opening.hpp"

namespace glean::posix {
namespace {

using pool::NameChange;
using pool::NameLog;
using Names = pool::Draining::Names;

constexpr std::uint64_t drain_lets_go_ns = 1'000'000'000, nodes_let_go_ns = 10'000'000'000;
constexpr unsigned letting_go_nap_us = 500;

// A name of the file system, as the slot of an output has it.
struct Name {
  Path path{};
  std::size_t length = 0;   // 0: there is no such directory
  [[nodiscard]] std::string_view text() const { return {path.data(), length}; }
  [[nodiscard]] std::uint64_t mark() const { return pool::path_mark(text()); }
};

void resolve_into(Name& name, int directory, const char* path) {
  name.length = resolve(directory, path, LastLink::itself, name.path);
  if (name.length >= name.path.size()) name.length = 0;
  name.path[name.length] = '\0';
}

// The program needs it no more, and it may be the last complete one: it has bytes, and no other name.
bool is_worth_keeping(const struct stat& status) { return S_ISREG(status.st_mode) && status.st_size > 0 && status.st_nlink == 1; }

long rename_file(const char* from, const char* to) { return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0); }

pool::OutputSet outputs_of(const pool::Fence& fence) {
  pool::OutputSet outputs = 0;
  for (std::uint32_t slot = 0; slot < pool::output_slots; ++slot) {
    if (fence[slot] != 0) outputs |= pool::OutputSet{1} << slot;
  }
  return outputs;
}

void say_that_it_stays(const char* path) {
  std::fprintf(stderr, "glean: '%s' stays: a file that was closed before could not be published\n", path);
}

// One change of the program's, while it looks into the pool.
class Change {
 public:
  Change(Interposition& interposition, Told told)
      : interposition_(interposition), told_(told), outputs_(interposition.draining.outputs()) {}

  [[nodiscard]] bool concerns_nothing() const {
    return outputs_.closed == 0 && !pool::any_is_kept(pool());
  }

  [[nodiscard]] bool removes(const Name& name) {
    if (of(outputs_.open, name) != 0) return false;   // Look finds the working file
    wait_until_opened(name);
    if (const auto kept = find(name, session::Unfinished::kept)) return remove_output(kept->key, name);
    if (const pool::OutputSet closed = of(outputs_.closed, name); closed != 0 && is_unpublished(name)) {
      if (remove_unpublished(name)) return true;
      wait(closed);
      if (const auto kept = find(name, session::Unfinished::kept)) return remove_output(kept->key, name);
    }
    struct stat status {};
    if (lstat(name.path.data(), &status) != 0 || !is_worth_keeping(status)) return false;
    return retire_or_wait(name, status, NameChange::Kind::removed, nullptr);
  }

  [[nodiscard]] bool renames(const Name& from, const Name& to) {
    if (from.text() == to.text() || (of(outputs_.open, from) | of(outputs_.open, to)) != 0) return false;
    struct stat status {}, replaced {};
    const bool is_there = lstat(from.path.data(), &status) == 0;
    if (is_there && S_ISDIR(status.st_mode)) return false;
    const bool replaces = lstat(to.path.data(), &replaced) == 0;
    if (replaces && S_ISDIR(replaced.st_mode)) return false;
    wait_until_opened(to);
    if (const auto kept = find(from, session::Unfinished::kept)) return rename_unpublished(*kept, from, to);
    if (const pool::OutputSet closed = of(outputs_.closed, from); closed != 0 && (is_unpublished(from) || is_in_place(from))) {
      const auto found = find(from, session::Unfinished::on_its_way);
      if (found && rename_unpublished(*found, from, to)) return true;
      wait(closed);
      if (const auto kept = find(from, session::Unfinished::kept)) return rename_unpublished(*kept, from, to);
    }
    if (lstat(from.path.data(), &status) != 0) return false;   // the call says so
    const pool::OutputSet replaced_outputs = of(outputs_.closed, to);
    if (replaced_outputs != 0 && is_unpublished(to) && !remove_unpublished(to, Taken::yes)) wait(replaced_outputs);
    // Last: the storage may have refused it meanwhile.
    if (const auto kept = find(to, session::Unfinished::kept)) give_up_replaced(*kept, to);
    if (lstat(to.path.data(), &replaced) != 0 || !is_worth_keeping(replaced)) return false;
    if (status.st_ino == replaced.st_ino && status.st_dev == replaced.st_dev) return false;
    return retire_or_wait(to, replaced, NameChange::Kind::replaced, from.path.data());
  }

  void cut(const struct stat& status) {
    // The drain tells which files are written when it opens them, and may find this one by another name.
    interposition_.draining.wait_until_opened(outputs_.closed, opening_seconds);
    if (!pool::may_be_written_here(pool(), status.st_dev, status.st_ino)) return;
    if (const auto closed = before(status); !closed.is_empty()) wait(outputs_of(closed.fence));
  }

  // Until what was closed so far is durable, or has failed.
  void wait_for_all() { wait(outputs_.closed); }

 private:
  enum class Taken { no, yes };   // the name of an output, by another file
  [[nodiscard]] const pool::Pool& pool() const { return interposition_.draining.pool(); }
  [[nodiscard]] pool::OutputSet of(pool::OutputSet outputs, const Name& name) const {
    return interposition_.draining.of(outputs, name.mark(), Names::files);
  }
  // The drain finds what is written in place by its name, and only once.
  void wait_until_opened(const Name& name) { interposition_.draining.wait_until_opened(of(outputs_.closed, name), opening_seconds); }
  void wait(pool::OutputSet outputs) { wait_for(interposition_, outputs, told_); }
  [[nodiscard]] pool::Draining::ClosedBefore before(const struct stat& status) const {
    return interposition_.draining.closed_before(status.st_dev);
  }

  // Where it cannot be hidden (its name is too long, the log cannot be written) what was closed before is waited for.
  [[nodiscard]] bool retire_or_wait(const Name& name, const struct stat& status, NameChange::Kind kind, const char* from) {
    if (before(status).is_empty()) return false;
    {
      NameLog log(pool().name(), NameLog::Make::yes);
      if (retire(log, name, status, kind, from)) return true;
    }
    const auto closed = before(status);
    if (closed.is_empty()) return false;
    wait(outputs_of(closed.fence));
    const bool stays = kind == NameChange::Kind::removed && before(status).has_failed;
    if (stays) say_that_it_stays(name.path.data());
    return stays;
  }

  // The file gets a hidden name, which a record tells; `from`: and that file gets its name. False: the call is to be made as it is.
  [[nodiscard]] bool retire(NameLog& log, const Name& name, const struct stat& status, NameChange::Kind kind, const char* from) {
    const auto closed = before(status);   // anew: from here on no output ends
    if (closed.is_empty()) return false;
    if (closed.has_failed && kind == NameChange::Kind::removed) {
      say_that_it_stays(name.path.data());
      return true;
    }
    NameChange change{.kind = kind, .state = NameChange::State::waiting, .device = status.st_dev, .inode = status.st_ino,
                      .fence = closed.fence, .output = {}};
    std::memcpy(change.path.data(), name.path.data(), name.length + 1);
    const bool fits = log.is_there() && pool::hidden_path(name.text(), interposition_.job.data(), log.next_number(), change.hidden);
    const std::uint64_t number = log.count();
    if (!fits || !log.write(number, change)) return false;
    const auto undo = [&] {
      change.state = NameChange::State::free;
      static_cast<void>(log.write(number, change));
      return false;
    };
    if (from == nullptr) return rename_file(name.path.data(), change.hidden.data()) == 0 || undo();
    if (syscall(SYS_linkat, AT_FDCWD, name.path.data(), AT_FDCWD, change.hidden.data(), 0) != 0) return undo();
    if (rename_file(from, name.path.data()) == 0) return true;
    syscall(SYS_unlinkat, AT_FDCWD, change.hidden.data(), 0);
    return undo();
  }

  // -- outputs that are closed and not published: only a rank may change what the pool says of them, and on one node only. On several nodes
  // those that the storage has refused, with which nothing goes on before they are recovered: then the nodes tell each other

  [[nodiscard]] std::optional<session::FoundOutput> find(const Name& name, session::Unfinished which) const {
    std::optional<session::FoundOutput> found;
    const bool has_session = interposition_.core.load() != nullptr;
    const bool is_for_all_nodes = pool().is_shared() && which != session::Unfinished::kept;
    if (!has_session || is_for_all_nodes || session::OneAtATime::is_taken_here()) return found;
    static_cast<void>(session::caught([&] { found = session::find_output(pool(), std::string(name.text()), which); }));
    return found && found->is_closed ? found : std::nullopt;
  }
  [[nodiscard]] std::optional<session::FoundOutput> find_closed(const Name& name) const {
    return find(name, session::Unfinished::on_its_way);
  }
  // The drain has given it its name already, and just keeps it.
  [[nodiscard]] bool has_its_name(const session::FoundOutput& output, const Name& name) const {
    const pool::OutputSlot& slot = pool().slot(output.key.slot);
    const std::uint64_t inode = slot.working_inode.load(std::memory_order_acquire);
    struct stat status {};
    return inode != 0 && lstat(name.path.data(), &status) == 0 && status.st_ino == inode &&
           status.st_dev == slot.working_device.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool is_unpublished(const Name& name) const {
    const auto found = find_closed(name);
    return !found || (found->working_path != name.text() && !has_its_name(*found, name));
  }
  [[nodiscard]] bool is_in_place(const Name& name) const {
    const auto found = find_closed(name);
    return found && found->working_path == name.text();
  }
  [[nodiscard]] bool is_current(pool::OutputKey key) const {
    const pool::OutputSlot& slot = pool().slot(key.slot);
    return slot.state.load(std::memory_order_acquire) == pool::OutputState::open && slot.generation.load() == key.generation;
  }
  // The change of an output's name, in the log and in its slot. With the log locked.
  [[nodiscard]] bool note(NameLog& log, pool::OutputKey key, std::string_view path, std::string_view working_path) {
    NameChange change{.kind = NameChange::Kind::renamed, .state = NameChange::State::waiting, .output = key};
    path.copy(change.path.data(), change.path.size() - 1);
    working_path.copy(change.hidden.data(), change.hidden.size() - 1);
    if (!log.write(log.count(), change)) return false;
    pool::OutputSlot& slot = pool().slot(key.slot);
    slot.is_renamed.store(path.empty() ? pool::is_removed_output : 1, std::memory_order_release);
    if (path.empty()) slot.path_mark.store(0, std::memory_order_release);
    else pool::mark_path(slot, path);
    pool::futex_signal(pool().header().work);
    return true;
  }
  // What it would have replaced goes with it.
  [[nodiscard]] bool remove_unpublished(const Name& name, Taken taken = Taken::no) {
    const auto found = find_closed(name);
    if (!found || found->working_path == name.text()) return false;
    NameLog log(pool().name(), NameLog::Make::yes);
    if (!log.is_there() || !is_current(found->key) || has_its_name(*found, name)) return false;
    struct stat status {};
    // It was removed while it was open, or has another name already, under which it stays.
    if (lstat(found->working_path.c_str(), &status) != 0 || status.st_nlink > 1) return false;
    if (!give_up(log, found->key, name, taken)) return false;
    remove_replaced(log, name);
    return true;
  }
  // One that the storage has refused.
  [[nodiscard]] bool remove_output(pool::OutputKey key, const Name& name) {
    NameLog log(pool().name(), NameLog::Make::yes);
    return log.is_there() && give_up(log, key, name);
  }
  void give_up_replaced(const session::FoundOutput& output, const Name& name) {
    NameLog log(pool().name(), NameLog::Make::yes);
    if (log.is_there() && is_current(output.key)) static_cast<void>(give_up(log, output.key, name, Taken::yes));
  }
  // An output is not published; but as long as others that were closed are not durable it may be the last that is complete.
  [[nodiscard]] bool give_up(NameLog& log, pool::OutputKey key, const Name& name, Taken taken = Taken::no) {
    pool::OutputSlot& slot = pool().slot(key.slot);
    const auto others = interposition_.draining.closed_before(slot.working_device.load(), key.slot);
    if (others.has_failed && taken == Taken::no) {
      say_that_it_stays(name.path.data());
      return true;
    }
    if (others.is_empty()) return note(log, key, {}, {});
    if (pool().is_shared() && !others.has_failed) return true;   // it stays where it was, and is completed
    NameChange change{.kind = NameChange::Kind::removed, .state = NameChange::State::waiting, .fence = others.fence, .output = key};
    std::memcpy(change.path.data(), name.path.data(), name.length + 1);
    if (!pool::hidden_path(name.text(), interposition_.job.data(), log.next_number(), change.hidden)) return false;
    // Where others have failed it stays under the hidden name.
    if (!others.has_failed && !log.write(log.count(), change)) return false;
    if (!note(log, key, change.hidden.data(), {})) return false;
    slot.path_mark.store(0, std::memory_order_release);
    return true;
  }
  void remove_replaced(NameLog& log, const Name& name) {
    struct stat status {};
    if (lstat(name.path.data(), &status) != 0) return;
    if (is_worth_keeping(status) && retire(log, name, status, NameChange::Kind::removed, nullptr)) return;
    syscall(SYS_unlinkat, AT_FDCWD, name.path.data(), 0);
  }
  [[nodiscard]] bool rename_unpublished(const session::FoundOutput& output, const Name& from, const Name& to) {
    if (!can_move(output.working_path, to) || has_links(output.working_path)) return false;
    const std::array<std::optional<session::FoundOutput>, 2> replaced = {find_closed(to), find(to, session::Unfinished::kept)};
    const bool in_place = output.working_path == from.text();
    NameLog log(pool().name(), NameLog::Make::yes);
    if (!log.is_there() || !is_current(output.key) || (!in_place && has_its_name(output, from))) return false;
    for (const auto& other : replaced) {
      if (!other || !is_current(other->key) || has_its_name(*other, to)) continue;
      static_cast<void>(give_up(log, other->key, to, Taken::yes));
    }
    if (!note(log, output.key, to.text(), in_place ? to.text() : std::string_view{})) return false;
    if (!in_place) {
      remove_replaced(log, from);
      return true;
    }
    struct stat status {};
    const bool replaces = lstat(to.path.data(), &status) == 0 && is_worth_keeping(status);
    if (!replaces || !retire(log, to, status, NameChange::Kind::replaced, from.path.data())) rename_file(from.path.data(), to.path.data());
    return true;
  }
  [[nodiscard]] static bool has_links(const std::string& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 && status.st_nlink > 1;
  }
  // The drain will be able to do so.
  [[nodiscard]] static bool can_move(const std::string& working_path, const Name& to) {
    const std::string directory(to.text().substr(0, std::max<std::size_t>(to.text().rfind('/'), 1)));
    struct stat file {}, target {};
    return lstat(working_path.c_str(), &file) == 0 && stat(directory.c_str(), &target) == 0 && file.st_dev == target.st_dev &&
           faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  }

  Interposition& interposition_;
  Told told_;
  pool::Draining::Outputs outputs_;
};

// Calls what(change) where there is a pool and something in it is on its way; errno stays as it was.
template <class What>
bool with_change(const char* call, const char* path, What what) {
  if (path == nullptr) return false;
  const Looking looking;
  if (looking.interposition() == nullptr) return false;
  const int error = errno;
  Change change(*looking.interposition(), {call, path});
  const bool result = !change.concerns_nothing() && what(change);
  errno = error;
  return result;
}

// What is in a directory that the program has emptied.
struct Left {
  bool only_hidden = false;   // nothing that the program has not removed; perhaps nothing at all
  bool any_removed = false;   // files that wait for others to be durable
};

Left left_in(int directory, const char* path) {
  Left left;
  const int descriptor = static_cast<int>(syscall(SYS_openat, directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (descriptor < 0) return left;
  left.only_hidden = true;
  alignas(dirent64) std::array<char, 8192> entries;
  for (long bytes; left.only_hidden && (bytes = syscall(SYS_getdents64, descriptor, entries.data(), entries.size())) > 0;) {
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      const std::string_view name = entry->d_name;
      const bool is_working_file = name.starts_with('.') && name.find(".glean-") != name.npos && name.ends_with(".part");
      left.any_removed = left.any_removed || is_hidden(entry->d_name);
      left.only_hidden = left.only_hidden && (is_working_file || is_hidden(entry->d_name) || name == "." || name == "..");
      at += entry->d_reclen;
    }
  }
  syscall(SYS_close, descriptor);
  return left;
}

// The drain lets files go just after what they wait for is durable. Another node hears of that later, and has files of its own that it lets
// go then; those of a job that was killed stay.
void wait_until_let_go(const pool::Pool& pool, int directory, const char* path) {
  const std::uint64_t limit = base::now_ns() + (pool.is_shared() ? nodes_let_go_ns : drain_lets_go_ns);
  for (Left left = left_in(directory, path); left.only_hidden && left.any_removed && base::now_ns() < limit;) {
    usleep(letting_go_nap_us);
    left = left_in(directory, path);
  }
}

}  // namespace

bool removes_now(const char* call, int directory, const char* path) noexcept {
  return with_change(call, path, [&](Change& change) {
    Name name;
    resolve_into(name, directory, path);
    return name.length != 0 && change.removes(name);
  });
}

bool renames_now(const char* call, int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return to != nullptr && with_change(call, from, [&](Change& change) {
    Name first, second;
    resolve_into(first, from_directory, from);
    resolve_into(second, to_directory, to);
    return first.length != 0 && second.length != 0 && change.renames(first, second);
  });
}

void wait_to_cut(const char* call, int directory, const char* path) noexcept {
  static_cast<void>(with_change(call, path, [&](Change& change) {
    struct stat status {};
    if (fstatat(directory, path, &status, 0) == 0 && S_ISREG(status.st_mode)) change.cut(status);
    return true;
  }));
}

bool cuts(int open_flags) { return (open_flags & O_TRUNC) != 0; }

bool cuts(const char* fopen_mode) { return fopen_mode != nullptr && fopen_mode[0] == 'w'; }

bool loses_hidden_files(const char* call, int directory, const char* path) noexcept {
  if (path == nullptr || !left_in(directory, path).only_hidden) return false;
  const Looking looking;
  if (looking.interposition() == nullptr) return false;
  const int error = errno;
  Change change(*looking.interposition(), {call, path});
  change.wait_for_all();
  wait_until_let_go(looking.interposition()->draining.pool(), directory, path);
  errno = error;
  return true;
}

bool is_hidden(const char* name) noexcept { return name[0] == '.' && pool::parse_hidden(name).has_value(); }

}  // namespace glean::posix
