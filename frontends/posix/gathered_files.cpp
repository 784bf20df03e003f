// SPDX-License-Identifier: BSD-3-Clause
#include "gathered_files.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/run_notes.hpp"
#include "gather/gatherer.hpp"
#include "gather/left_files.hpp"
#include "path_resolution.hpp"
#include "session/agreement.hpp"
#include "session/own_calls.hpp"

namespace glean::posix {
namespace {

constexpr const char* root_variable = "GLEAN_RUN_FILES";
constexpr std::size_t root_most = 128;

// Never deleted: a thread may be in it.
std::atomic<gather::Placing*> placing = nullptr;
// Of one rank of the node. Never destroyed at an exit: a process that is forked has not its thread.
std::atomic<gather::Gatherer*> gatherer = nullptr;
gather::Gatherer::Totals gathered;   // when it has ended

// Descriptors by which this process has opened gathered files to write. Others are found closed by the gatherer.
constexpr int descriptors_known = 65536, bits = 64;
std::array<std::atomic<std::uint64_t>, descriptors_known / bits> opened_here;
// Whose they are: a child of vfork() closes its own, and has this memory.
std::atomic<pid_t> opening_process = 0;

std::uint64_t bit_of(int descriptor) { return std::uint64_t{1} << (descriptor % bits); }
bool is_known(int descriptor) { return descriptor >= 0 && descriptor < descriptors_known; }

// Of a process that outlives its job: its calls are the system's again.
bool has_ended(const gather::Placing& in) {
  struct stat status {};
  return fstatat(AT_FDCWD, in.files().root().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0;
}

void say(const gather::Placing& in, const char* path, const std::exception& failure) {
  base::log(has_ended(in) ? base::LogLevel::debug : base::LogLevel::error, "'{}': {}", path, failure.what());
}

std::optional<gather::RankFile> find_rule(const gather::Placing& in, int directory, const char* path) {
  if (path == nullptr || gather::NodeLock::is_taken_here() || !in.rules().may_match(path)) return std::nullopt;
  Path resolved;
  const std::size_t length = resolve(directory, path, LastLink::followed, resolved);
  if (length == 0) return std::nullopt;
  return in.rules().find({resolved.data(), length});
}

// A process that a rank has started finds the rank's files.
[[gnu::constructor]] void find_files_of_parent() {
  const char* root = std::getenv(root_variable);
  if (root == nullptr || *root == '\0') return;
  try {
    placing = new gather::Placing(gather::NodeFiles(root), false);
  } catch (const std::exception&) {
    // The job has ended.
  }
}

// On several nodes each has a container of its own.
std::vector<gather::RuleText> usable_rules(session::Core& core) {
  auto rules = gather::rules_of(core.settings());
  if (core.nodes().count() == 1) return rules;
  const auto lacks_node = [](const gather::RuleText& rule) { return rule.into.find("{node}") == std::string::npos; };
  for (const gather::RuleText& rule : rules) {
    if (!lacks_node(rule) || core.rank() != 0) continue;
    base::log(base::LogLevel::warning,
              "'{}' is written as it is: on several nodes its container needs {{node}} in its name: into = \"{}.{{node}}\"", rule.pattern,
              rule.into);
  }
  std::erase_if(rules, lacks_node);
  return rules;
}

void recover_left_files() {
  for (const std::string& root : gather::NodeFiles::roots()) {
    const auto left = gather::recover_files(root, gather::Remaining::gather, gather::Ended::killed);
    if (left.state == "in use") continue;
    for (const auto& container : left.containers) {
      if (container.files == 0 && container.unclosed.empty() && container.problem.empty()) continue;
      base::log(base::LogLevel::warning, "an earlier job has left {}", gather::describe(container));
    }
  }
}

std::string make_node_files(session::Core& core, const std::vector<gather::RuleText>& rules) {
  recover_left_files();
  gather::NodeSettings settings;
  settings.budget_bytes = core.gathered_bytes();
  const std::string& spill = core.settings().spill.directory;
  if (!spill.empty()) settings.spill_directory = std::filesystem::absolute(spill).string();
  settings.node = core.nodes().self();
  settings.ranks = core.nodes().ranks();
  if (const char* run = std::getenv(base::run_directory_variable)) settings.run_directory = run;
  settings.rules = rules;
  return gather::NodeFiles::make(settings).root();
}

}  // namespace

void begin_gathering(session::Core& core) {
  if (!core.settings().any_gathers()) return;
  if (!core.has_pool()) {
    if (core.rank() == 0) base::log(base::LogLevel::warning, "files of ranks are written as they are: the mode captures nothing");
    return;
  }
  const auto rules = usable_rules(core);
  if (rules.empty()) return;
  const session::Nodes& nodes = core.nodes();
  std::array<char, root_most> root{};
  if (nodes.is_aggregator()) {
    const auto error = session::caught([&] { make_node_files(core, rules).copy(root.data(), root.size() - 1); });
    if (error) base::log(base::LogLevel::warning, "files of ranks are written as they are: {}", error->what());
  }
  PMPI_Bcast(root.data(), static_cast<int>(root.size()), MPI_CHAR, 0, nodes.comm());
  const int self = getpid();
  std::vector<int> processes(static_cast<std::size_t>(nodes.ranks()));
  PMPI_Gather(&self, 1, MPI_INT, processes.data(), 1, MPI_INT, 0, nodes.comm());
  if (root[0] == '\0') return;
  const auto error = session::caught([&] {
    auto made = std::make_unique<gather::Placing>(gather::NodeFiles(root.data()), true);
    const std::vector<pid_t> ranks(processes.begin(), processes.end());
    if (nodes.is_aggregator()) {
      static std::once_flag once;
      std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { gatherer = nullptr; }); });
      gatherer = new gather::Gatherer(made->files(), ranks);
    }
    setenv(root_variable, root.data(), 1);
    placing = made.release();
  });
  if (error) base::log(base::LogLevel::warning, "files of ranks are written as they are: {}", error->what());
}

void end_gathering(session::Core& core) noexcept {
  if (!core.settings().any_gathers()) return;
  PMPI_Barrier(MPI_COMM_WORLD);   // from here on no rank closes a file that the end waits for
  leave_gathering();
  const std::array<std::uint64_t, 3> mine{gathered.files, gathered.bytes, gathered.containers};
  std::array<std::uint64_t, 3> all{};
  PMPI_Allreduce(mine.data(), all.data(), static_cast<int>(all.size()), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);   // all have ended it
  core.gathered() = {all[0], all[1], all[2]};
  placing = nullptr;
  unsetenv(root_variable);
}

void leave_gathering() noexcept {
  const std::unique_ptr<gather::Gatherer> ending(gatherer.exchange(nullptr));
  const gather::Placing* in = placing.load();
  if (!ending || in == nullptr) return;
  const auto error = session::caught([&] {
    const auto failed = ending->finish();
    gathered = ending->totals();
    for (const std::string& why : failed) {
      base::log(base::LogLevel::error, "{}", why);
      base::leave_note(base::unpublished_note, why + "\n");
    }
    const gather::NodeLock lock(in->files().root());
    static_cast<void>(in->files().remove_if_empty());
  });
  if (error) base::log(base::LogLevel::error, "files of ranks are left to `glean recover`: {}", error->what());
}

Led::Led(int directory, const char* path, gather::Intent intent) noexcept {
  gather::Placing* const in = placing.load(std::memory_order_acquire);
  if (in == nullptr) return;
  const int error = errno;
  try {
    if (const auto file = find_rule(*in, directory, path)) {
      lock_.emplace(in->files().root());
      if (auto led = in->lead(*file, intent, *lock_)) path_ = std::move(*led), is_led_ = true, writes_ = intent.writes;
    }
  } catch (const std::exception& failure) {
    say(*in, path, failure);
  }
  if (!is_led_) lock_.reset();
  errno = error;
}

Led::~Led() {
  if (!lock_) return;
  const int error = errno;   // of the call
  lock_.reset();
  errno = error;
}

void Led::opened(int descriptor) noexcept {
  if (!writes_ || !is_known(descriptor)) return;
  opening_process = getpid();
  opened_here[static_cast<std::size_t>(descriptor / bits)].fetch_or(bit_of(descriptor));
}

void Led::opened(FILE* stream) noexcept {
  if (writes_ && stream != nullptr) opened(fileno(stream));
}

bool is_gathering() noexcept { return placing.load(std::memory_order_relaxed) != nullptr; }

std::vector<gather::ListedName> gathered_names(int directory, const char* path) noexcept {
  gather::Placing* const in = placing.load(std::memory_order_acquire);
  if (in == nullptr || path == nullptr || gather::NodeLock::is_taken_here()) return {};
  const int error = errno;
  std::vector<gather::ListedName> names;
  try {
    Path resolved;
    const std::size_t length = resolve_directory(directory, path, resolved);
    if (length != 0) names = in->names_in({resolved.data(), length});
  } catch (const std::exception& failure) {
    say(*in, path, failure);
  }
  errno = error;
  return names;
}

bool is_gathered(int directory, const char* path) noexcept {
  gather::Placing* const in = placing.load(std::memory_order_acquire);
  if (in == nullptr) return false;
  const int error = errno;
  bool has = false;
  try {
    if (const auto file = find_rule(*in, directory, path)) {
      const gather::NodeLock lock(in->files().root());
      has = in->has(*file);
    }
  } catch (const std::exception& failure) {
    say(*in, path, failure);
  }
  errno = error;
  return has;
}

bool removes_gathered(int directory, const char* path) noexcept {
  gather::Placing* const in = placing.load(std::memory_order_acquire);
  if (in == nullptr) return false;
  const int error = errno;
  bool is_done = false;
  try {
    if (const auto file = find_rule(*in, directory, path)) {
      gather::NodeLock lock(in->files().root());
      is_done = in->remove(*file, lock) == gather::Placing::Done::done;
    }
  } catch (const std::exception& failure) {
    say(*in, path, failure);
  }
  errno = error;
  return is_done;
}

bool renames_gathered(int from_directory, const char* from, int to_directory, const char* to, int& error) noexcept {
  gather::Placing* const in = placing.load(std::memory_order_acquire);
  if (in == nullptr) return false;
  const int before = errno;
  bool is_done = false;
  try {
    const auto from_file = find_rule(*in, from_directory, from), to_file = find_rule(*in, to_directory, to);
    Path from_path, to_path;
    const bool concerns = from_file || to_file;
    const std::size_t from_length = concerns ? resolve(from_directory, from, LastLink::itself, from_path) : 0;
    const std::size_t to_length = concerns ? resolve(to_directory, to, LastLink::itself, to_path) : 0;
    if (from_length != 0 && to_length != 0) {
      gather::NodeLock lock(in->files().root());
      const auto done = in->rename({from_path.data(), from_length}, from_file, {to_path.data(), to_length}, to_file, lock);
      is_done = done.has_value();
      error = done.value_or(0);
    }
  } catch (const std::exception& failure) {
    say(*in, from, failure);
  }
  errno = before;
  return is_done;
}

Closing::Closing(int descriptor) noexcept {
  if (placing.load(std::memory_order_relaxed) == nullptr || !is_known(descriptor)) return;
  auto& word = opened_here[static_cast<std::size_t>(descriptor / bits)];
  if ((word.load(std::memory_order_relaxed) & bit_of(descriptor)) == 0 || opening_process != getpid()) return;
  word.fetch_and(~bit_of(descriptor));
  struct stat status {};
  const int error = errno;
  if (fstat(descriptor, &status) == 0) file_.emplace(status.st_dev, status.st_ino);
  errno = error;
}

void Closing::done() noexcept {
  const gather::Placing* const in = file_ ? placing.load(std::memory_order_acquire) : nullptr;
  if (in == nullptr || gather::NodeLock::is_taken_here()) return;
  const int error = errno;
  try {
    const gather::NodeLock lock(in->files().root());
    in->settle(file_->first, file_->second);
  } catch (const std::exception&) {
    // The gatherer finds it.
  }
  errno = error;
}

}  // namespace glean::posix
