// SPDX-License-Identifier: BSD-3-Clause
#include "interposition.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "base/keys.hpp"
#include "base/log.hpp"
#include "files_of_stagers.hpp"
#include "markers.hpp"
#include "other_sessions.hpp"
#include "path_resolution.hpp"
#include "pool/published.hpp"
#include "session/agreement.hpp"
#include "session/byte_output.hpp"
#include "session/stems.hpp"

namespace glean::posix {
namespace {

constexpr int silent_seconds = 5;      // before people are told
constexpr double default_deadline_seconds = 300;

std::atomic<Interposition*> current = nullptr;
std::atomic<int> looking = 0;   // threads that use it
thread_local int looking_here = 0;   // this one: a signal handler that ends the program may interrupt it

// One line on standard error, without what a signal handler must not use.
class Line {
 public:
  Line& add(std::string_view text) {
    const std::size_t room = text_.size() - 1 - used_;
    const std::size_t count = text.size() < room ? text.size() : room;
    std::memcpy(text_.data() + used_, text.data(), count);
    used_ += count;
    return *this;
  }
  Line& add(int number) {
    if (number >= 10) add(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    return add(std::string_view(&digit, 1));
  }
  void write() {
    text_[used_++] = '\n';
    static_cast<void>(syscall(SYS_write, STDERR_FILENO, text_.data(), used_));
  }

 private:
  std::array<char, 1024> text_;
  std::size_t used_ = 0;
};

void tell(void* context, int seconds) {
  if (seconds % silent_seconds != 0) return;
  const auto& told = *static_cast<const Told*>(context);
  Line().add("glean: ").add(told.call).add(" of '").add(told.path).add("' waits until it is written, ")
      .add(seconds).add(" s so far").write();
}

using KeptName = session::ByteOutput::KeptName;

// Where a new file is that this program has open; null if there is none. A child of the program has no session.
std::unique_ptr<KeptName> find_open(const Interposition& interposition, std::string_view final_path, Wanted wanted) {
  session::Core* core = interposition.core.load();
  if (core == nullptr) return nullptr;
  std::unique_ptr<KeptName> kept;
  const auto is_ending = [&] { return current.load() != &interposition; };
  using session::ByteOutput;
  const auto content = wanted == Wanted::removed ? ByteOutput::Content::any : ByteOutput::Content::captured;
  const auto error = session::caught([&] { kept = ByteOutput::keep_open(*core, std::string(final_path), content, is_ending); });
  if (error) base::log(base::LogLevel::error, "'{}' is open and cannot be looked at: {}", final_path, error->what());
  return kept;
}

// Returns the name under which the file is, if it is not there yet under that of `path`.
std::unique_ptr<KeptName> wait(Interposition& interposition, const char* call, int directory, const char* path, Wanted wanted) {
  const auto [closed, open] = interposition.draining.outputs();
  if ((closed | open) == 0) return nullptr;
  if (wanted == Wanted::any_file) {
    if (closed != 0) wait_for(interposition, closed, {call, path});
    return nullptr;
  }
  Path resolved;
  const std::size_t length = resolve_wanted(directory, path, wanted, resolved);
  if (length == 0) return nullptr;
  using Names = pool::Draining::Names;
  const Names names = names_wanted(wanted);
  const std::string_view name(resolved.data(), length);
  const std::uint64_t mark = pool::path_mark(name);
  if (wanted == Wanted::removed) {   // it may be such a file, by either of its names
    const std::uint64_t directory = pool::path_mark(name.substr(0, std::max<std::size_t>(name.rfind('/'), 1)));
    interposition.draining.wait_until_opened(interposition.draining.of(open, directory, Names::directories_too), opening_seconds);
  }
  // All of them: one of that name that was removed may be closed, and one that was made anew be open.
  pool::Draining& draining = interposition.draining;
  if (const pool::OutputSet outputs = draining.of(closed, mark, names); outputs != 0) wait_for(interposition, outputs, {call, path});
  if (draining.of(open, mark, Names::files) == 0) return nullptr;
  auto kept = find_open(interposition, name, wanted);
  // Perhaps all have closed it meanwhile: then it is about to be there.
  const pool::OutputSet outputs = kept ? 0 : draining.of(draining.outputs().closed, mark, Names::files);
  if (outputs != 0) wait_for(interposition, outputs, {call, path});
  return kept;
}

// The pool that the parent has, if that is a rank: for a child that gets an environment from before MPI_Init, as Python keeps a copy of its
// own.
std::string pool_of_parent() {
  constexpr std::string_view directory = "/dev/shm";
  std::ifstream maps("/proc/" + std::to_string(getppid()) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find("/dev/shm/glean.");
    if (at != line.npos && !line.ends_with(" (deleted)")) return line.substr(at + directory.size());
  }
  return {};
}

int rank_of_parent(const pool::Pool& pool) {
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (pool.process_of_rank(rank) == getppid()) return rank;
  }
  return pool::no_rank;
}

// Where a rank could not tell its children.
std::string markers_of_configuration() {
  try {
    std::string listed;
    for (const std::string& pattern : base::load_configuration({}, base::process_environment()).settings.markers) {
      listed += (listed.empty() ? "" : ",") + pattern;
    }
    return listed;
  } catch (const std::exception&) {
    return {};   // the ranks have said what is wrong with it
  }
}

// A process that a rank has started finds the rank's pool. A pool that is gone has nothing that drains.
[[gnu::constructor]] void look_where_the_parent_does() {
  try {
    const char* text = std::getenv(pool::looking_variable);
    std::istringstream told(text == nullptr ? pool_of_parent() : text);
    std::string name;
    if (!(told >> name)) return;
    // Stays as long as the process.
    auto* pool = new pool::Pool(pool::Pool::attach(name, pool::Pool::Access::look));
    int rank = text == nullptr ? rank_of_parent(*pool) : pool::no_rank;
    double seconds = default_deadline_seconds;
    std::string markers;
    if (told >> rank >> seconds) std::getline(told >> std::ws, markers);
    if (text == nullptr) markers = markers_of_configuration();
    const bool known = rank >= 0 && rank < static_cast<int>(pool->header().ranks);
    current = new Interposition(*pool, known ? rank : pool::no_rank, seconds, markers, nullptr);
  } catch (const std::exception&) {
    // It is gone, or another user's.
  }
}

}  // namespace

void wait_for(const Interposition& interposition, pool::OutputSet outputs, Told told) {
  if (interposition.draining.wait_for(outputs, interposition.deadline_seconds, tell, &told)) return;
  Line line;
  line.add("glean: ").add(told.call).add(" of '").add(told.path);
  if (interposition.draining.needs_lost_nodes()) return line.add("' does not wait: other nodes cannot be reached any more").write();
  line.add("' does not wait any longer: nothing was written for ").add(static_cast<int>(interposition.deadline_seconds)).add(" s").write();
}

std::size_t resolve_wanted(int directory, const char* path, Wanted wanted, Path& resolved) {
  if (wanted == Wanted::directory_entries) return resolve_directory(directory, path, resolved);
  const bool follows = wanted == Wanted::file || wanted == Wanted::file_or_directory;
  return resolve(directory, path, follows ? LastLink::followed : LastLink::itself, resolved);
}

pool::Draining::Names names_wanted(Wanted wanted) {
  using Names = pool::Draining::Names;
  return wanted == Wanted::file || wanted == Wanted::link ? Names::files : Names::directories_too;
}

Interposition::Interposition(const pool::Pool& pool, int node_rank, double seconds, const std::string& patterns, session::Core* its_core)
    : draining(pool, node_rank), deadline_seconds(seconds), markers(patterns), core(its_core) {
  pool::hidden_job(pool.name()).copy(job.data(), job.size() - 1);
}

void begin_interposition(session::Core& core) {
  const pool::Pool& pool = core.pool();
  const int node_rank = core.nodes().rank();
  const double deadline_seconds = core.deadline_seconds();
  const std::string markers = base::find_key("markers")->print(core.settings());
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] {
      if (Interposition* of_parent = current.load()) of_parent->core = nullptr;
    });
  });
  // What there was before, of a parent or of an earlier session, may be in use by a thread: it is small, and stays.
  current = new Interposition(pool, node_rank, deadline_seconds, markers, &core);
  if (node_rank == 0 && core.files_of_stagers() != nullptr) remove_copies("");
  const std::string text = pool.name() + " " + std::to_string(node_rank) + " " + std::to_string(deadline_seconds) + " " + markers;
  setenv(pool::looking_variable, text.c_str(), 1);
}

void end_interposition() noexcept {
  const Interposition* const ended = current.exchange(nullptr);
  unsetenv(pool::looking_variable);
  while (looking.load() != looking_here) usleep(1000);
  const session::Core* const core = ended == nullptr ? nullptr : ended->core.load();
  if (core != nullptr && core->files_of_stagers() != nullptr && core->nodes().rank() == 0) {
    remove_copies(ended->draining.pool().name().substr(1));
  }
}

Looking::Looking() noexcept {
  if (current.load(std::memory_order_relaxed) == nullptr) return;
  ++looking_here;
  looking.fetch_add(1);
  is_counted_ = true;
  interposition_ = current.load();
}

Looking::~Looking() {
  if (!is_counted_) return;
  looking.fetch_sub(1);
  --looking_here;
}

Look::Look(const char* call, int directory, const char* path, Wanted wanted) noexcept : path_(path) {
  if (current.load(std::memory_order_relaxed) == nullptr || path == nullptr) return;
  const int error = errno;
  if (knows_other_sessions()) wait_for_other_sessions(call, directory, path, wanted);
  looking_.emplace();
  if (Interposition* const in = looking_->interposition(); in != nullptr) kept_ = wait(*in, call, directory, path, wanted);
  if (kept_) path_ = kept_->working_path().c_str();
  else looking_.reset();
  errno = error;
}

Look::~Look() {
  if (!kept_) return;
  const int error = errno;   // of the call
  kept_.reset();
  looking_.reset();
  errno = error;
}

namespace {

// Those of `closed` which a file of this path says to be complete.
pool::OutputSet spoken_of(const Interposition& interposition, pool::OutputSet closed, int directory, const char* path) {
  if (!interposition.markers.any() && marked_by(path).empty()) return 0;
  Path resolved;
  const std::size_t length = resolve(directory, path, LastLink::itself, resolved);
  const std::string_view name(resolved.data(), length);
  if (length == 0) return 0;
  if (interposition.markers.match(name)) return closed;
  const std::string_view marked = marked_by(name);
  if (marked.empty()) return 0;
  return interposition.draining.of(closed, pool::path_mark(marked), pool::Draining::Names::directories_too) |
         session::with_stem(interposition.draining.pool(), closed, marked);
}

// Those of `closed` to which a symbolic link leads, or that are in the directory to which it leads.
pool::OutputSet led_to(const Interposition& interposition, pool::OutputSet closed, const char* text, int directory, const char* path) {
  Path target;
  const char* const slash = text[0] == '/' ? nullptr : std::strrchr(path, '/');
  const std::size_t parent = slash == nullptr ? 0 : static_cast<std::size_t>(slash + 1 - path), length = std::strlen(text);
  if (parent + length >= target.size()) return 0;
  std::memcpy(target.data(), path, parent);
  std::memcpy(target.data() + parent, text, length + 1);
  Path resolved;
  const std::size_t found = resolve(directory, target.data(), LastLink::followed, resolved);
  if (found == 0) return 0;
  return interposition.draining.of(closed, pool::path_mark({resolved.data(), found}), pool::Draining::Names::directories_too);
}

// False: one of them is not complete, and will not be.
bool come(const Interposition& interposition, pool::OutputSet outputs, Told told) {
  std::array<std::uint32_t, pool::output_slots> generations;
  const pool::Pool& pool = interposition.draining.pool();
  for (std::uint32_t slot = 0; slot < pool::output_slots; ++slot) generations[slot] = pool.slot(slot).generation.load();
  bool all_come = interposition.draining.wait_for(outputs, interposition.deadline_seconds, tell, &told);
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    const bool is_one = (outputs >> index & 1) != 0 && slot.generation.load(std::memory_order_acquire) == generations[index];
    if (is_one && slot.error.load(std::memory_order_acquire) != 0) all_come = false;
  }
  if (all_come) return true;
  Line().add("glean: ").add(told.call).add(" of '").add(told.path)
      .add("' fails: it would say that a file is complete, and that could not be completed").write();
  return false;
}

// `find` says for what it waits.
template <class Find>
bool wait_to_make(Told told, Find find) {
  if (told.path == nullptr) return true;
  const Looking here;
  const int error = errno;
  bool may = true;
  if (Interposition* interposition = here.interposition(); interposition != nullptr) {
    const pool::OutputSet closed = interposition->draining.outputs().closed;
    const pool::OutputSet outputs = closed == 0 ? 0 : find(*interposition, closed);
    if (outputs != 0) may = come(*interposition, outputs, told);
  }
  errno = may ? error : EIO;
  return may;
}

}  // namespace

bool may_make(const char* call, int directory, const char* path) noexcept {
  return wait_to_make({call, path},
                      [&](const Interposition& in, pool::OutputSet closed) { return spoken_of(in, closed, directory, path); });
}

bool may_link(const char* call, const char* text, int directory, const char* path) noexcept {
  if (text == nullptr) return true;
  return wait_to_make({call, path},
                      [&](const Interposition& in, pool::OutputSet closed) { return led_to(in, closed, text, directory, path); });
}

}  // namespace glean::posix
