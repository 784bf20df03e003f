// SPDX-License-Identifier: BSD-3-Clause
#include "session/byte_opening.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "drain/current_names.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "pool/name_log.hpp"
#include "pool/other_handles.hpp"
#include "pool/published.hpp"
#include "pool/ranks_of_output.hpp"
#include "pool/wait.hpp"
#include "session/agreement.hpp"
#include "session/output_name.hpp"
#include "staging/remote_files.hpp"
#include "store/description.hpp"

namespace glean::session {
namespace {

constexpr std::uint64_t opening_nap_ns = 50'000'000, lock_nap_ns = 50'000;

// One process of the node looks for an output and makes a new one at a time.
class OpeningLock {
 public:
  OpeningLock(pool::Pool& pool, double deadline_seconds) : word_(pool.header().opening) {
    const auto mine = static_cast<std::uint32_t>(getpid());
    std::uint32_t holder = 0;
    pool::Wait wait(word_, deadline_seconds, lock_nap_ns);
    const bool has_it = wait.until([&] {
      holder = 0;
      if (word_.compare_exchange_strong(holder, mine)) return true;
      return kill(static_cast<pid_t>(holder), 0) != 0 && errno == ESRCH && word_.compare_exchange_strong(holder, mine);
    });
    if (has_it) return;
    throw base::Error(base::Errc::timeout, fmt::format("process {} of this node has been opening a file for {}", holder, wait.text()),
                      "the storage may hang; raise pool.deadline if it is only slow");
  }
  ~OpeningLock() { word_.store(0); }
  OpeningLock(const OpeningLock&) = delete;
  OpeningLock& operator=(const OpeningLock&) = delete;

 private:
  pool::Atomic<std::uint32_t>& word_;
};

enum class Name { working, final_one };
void make_file(Core& core, const std::string& path, Name name, const base::Striping& settings, const StripingHints& of_program) {
  if (make_striped_file(core, path, settings, of_program)) return;
  // One that is under its final name may be made by the program just now; one that the MPI library was asked for may be there.
  const bool is_new = name == Name::working && striping_hints(settings, of_program).empty();
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (is_new ? O_EXCL : 0), 0666);
  if (descriptor < 0) throw base::system_error(errno, "cannot create '" + path + "'");
  ::close(descriptor);
}

// What was made before, and is still new, becomes the working file.
void take_back(const store::FileNames& names) {
  ByteOutput::forget_checksums(names.final_path);
  if (rename(names.final_path.c_str(), names.working_path.c_str()) == 0) return;
  throw base::system_error(errno, "cannot rename '" + names.final_path + "'");
}

bool all_are_in_use(const pool::Pool& pool) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    if (!is_open(pool.slot(index)) || is_closed_by_all(pool, index)) return false;
  }
  return true;
}

bool is_written_in_place(const store::FileNames& names) { return names.working_path == names.final_path; }

// A slot that could not be described.
void give_up(Core& core, pool::OutputKey key) {
  pool::forget_description(core.pool(), key);
  core.pool().slot(key.slot).state = pool::OutputState::free;
}

bool has_closed(const Core& core, pool::OutputKey key) {
  const auto progress = core.pool().rank_progress(key.slot, core.nodes().rank()).load(std::memory_order_acquire);
  return (progress & (pool::rank_closed | pool::rank_absent)) == pool::rank_closed;
}

// This run has made the file, no process has written into it, and no handle has been opened on it since: as long as it is not complete, it
// is where it was while it was new.
bool is_still_new(Core& core, const std::string& final_path) {
  struct stat status {};
  if (!pool::forget_untouched(core.pool().header(), final_path)) return false;
  return lstat(final_path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
}

struct Claimed {
  pool::OutputKey key;
  bool takes_back = false;   // the file that is there
};

std::string unique_text() { return fmt::format("{}-{}", getpid(), base::now_ns()); }

bool appears_at_once(const Core& core, const std::string& path) {
  return core.settings().for_output(path).publish == base::Publish::in_place;
}

// What is there already and is kept may be where no other file can be made.
store::FileNames names_of(const Core& core, const std::string& path, ByteOutput::Existing existing) {
  const bool in_place = appears_at_once(core, path) || (existing == ByteOutput::Existing::keep && access(path.c_str(), F_OK) == 0);
  return store::choose_names(path, in_place ? base::Publish::in_place : base::Publish::rename, false, unique_text());
}

// A slot with the names of the output in it; nothing while an earlier one of that name drains. `chosen`: by another node; otherwise what
// the names are is found here.
std::optional<Claimed> try_claim(Core& core, store::OutputDescription& description, bool chosen, ByteOutput::Existing existing) {
  const OpeningLock lock(core.pool(), core.deadline_seconds());
  if (const auto earlier = find_output(core.pool(), description.names.final_path)) {
    if (earlier->is_closed || has_closed(core, earlier->key)) return std::nullopt;   // a rank that has not yet will: that is collective
    throw base::Error(base::Errc::invalid_state, "'" + description.display_path + "' is open already");
  }
  // Only now: an earlier output, of other ranks perhaps, may just have become that file.
  const bool exists = access(description.names.final_path.c_str(), F_OK) == 0;
  const bool may_take_back = !chosen && existing == ByteOutput::Existing::keep && !appears_at_once(core, description.display_path);
  const bool takes_back = may_take_back && exists && is_still_new(core, description.names.final_path);
  if (takes_back) {
    description.names = store::choose_names(description.display_path, base::Publish::rename, false, unique_text());
  } else if (!chosen && existing == ByteOutput::Existing::keep && exists != is_written_in_place(description.names)) {
    description.names = names_of(core, description.display_path, existing);
  }
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const auto key = core.pool().open_slot(index);
    if (!key) continue;
    pool::OutputSlot& slot = core.pool().slot(index);
    slot.is_bytes = 1;
    slot.is_made_by_stagers = description.is_made_by_ranks() ? 0 : 1;
    pool::mark_path(slot, description.names.final_path);
    try {
      core.recorder().describe(*key, description.encode_names(), pool::Recorder::More::follow);
    } catch (...) {
      give_up(core, *key);
      throw;
    }
    return Claimed{*key, takes_back};
  }
  if (!all_are_in_use(core.pool())) return std::nullopt;
  throw base::Error(base::Errc::invalid_state, fmt::format("{} files are open already", pool::output_slots), "close some first");
}

// What one node has written another one has to see, and neither may write back more than it has.
void require_one_view(const std::string& path) {
  struct statfs status {};
  const std::string directory = std::filesystem::absolute(path).parent_path();
  if (statfs(directory.c_str(), &status) != 0 || status.f_type != NFS_SUPER_MAGIC) return;
  throw base::Error(base::Errc::unsupported, "several nodes write it, and their caches of NFS do not agree");
}

store::OutputDescription description_of(Core& core, const std::string& path, ByteOutput::Where where = ByteOutput::Where::here) {
  store::OutputDescription description;
  description.display_path = path;
  description.is_bytes = true;
  description.checksums = core.settings().for_output(path).checksums;
  description.copies = store::Copies::of(core.settings().copies_of_output(path), core.settings().results_of_output(path));
  description.analysis = analysis::Request::of(core.settings().analysis_of_output(path));
  description.direct_io = core.settings().drain.direct_io;
  const pool::PoolHeader& header = core.pool().header();
  if (core.pool().is_staged()) {
    const int writers = core.settings().plan.writers;
    description.share = plan::share_in_turn(header.stagers, header.nodes - header.stagers, header.request_bytes,
                                            writers == 0 ? header.stagers : writers);
    if (where == ByteOutput::Where::at_stagers) description.share.publisher = description.share.first;
  }
  return description;
}

// The ranks of `comm`, by their place in it: what they are in `in`, or MPI_UNDEFINED.
std::vector<int> ranks_in(MPI_Comm comm, MPI_Comm in) {
  MPI_Group group = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  int size = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(in, &all);
  std::vector<int> mine(static_cast<std::size_t>(size)), ranks(mine.size());
  for (int rank = 0; rank < size; ++rank) mine[static_cast<std::size_t>(rank)] = rank;
  MPI_Group_translate_ranks(group, size, mine.data(), all, ranks.data());
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  return ranks;
}

bool are_all_in(MPI_Comm comm, MPI_Comm in) {
  const auto ranks = ranks_in(comm, in);
  return std::find(ranks.begin(), ranks.end(), MPI_UNDEFINED) == ranks.end();
}

Claimed claim(Core& core, store::OutputDescription& description, bool chosen, ByteOutput::Existing existing, const Members& members) {
  std::optional<Claimed> claimed;
  wait_until(core, [&] { return (claimed = try_claim(core, description, chosen, existing)).has_value(); },
             "the output '" + description.display_path + "' before this one");
  for (int rank = 0; rank < static_cast<int>(core.pool().header().ranks); ++rank) {
    const bool is_member = std::find(members.node_ranks.begin(), members.node_ranks.end(), rank) != members.node_ranks.end();
    if (!is_member) core.pool().rank_progress(claimed->key.slot, rank) = 1 | pool::rank_closed | pool::rank_absent;
  }
  return *claimed;
}

// Bytes that are there must not change before what was closed earlier is durable.
void follow_what_is_closed(const Core& core, pool::OutputKey key, const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || status.st_size == 0) return;
  const pool::Draining draining(core.pool(), core.nodes().rank());
  const auto before = draining.closed_before(status.st_dev);
  for (std::uint32_t slot = 0; slot < pool::output_slots; ++slot) {
    if (slot != key.slot) core.pool().slot(key.slot).follows[slot].store(before.fence[slot], std::memory_order_release);
  }
}

}  // namespace

bool is_open(const pool::OutputSlot& slot) { return slot.state.load(std::memory_order_acquire) == pool::OutputState::open; }

bool is_current(const pool::Pool& pool, pool::OutputKey key) {
  const pool::OutputSlot& slot = pool.slot(key.slot);
  return is_open(slot) && slot.generation.load(std::memory_order_acquire) == key.generation;
}

bool is_closed_by_all(const pool::Pool& pool, std::uint32_t index) { return pool::ranks_of_output(pool, index).all_closed; }

std::vector<pool::OutputKey> open_and_kept(const pool::Pool& pool) {
  std::vector<pool::OutputKey> keys;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    if (!is_open(slot) || slot.is_bytes == 0 || slot.error.load(std::memory_order_acquire) != 0 || is_closed_by_all(pool, index)) continue;
    const pool::OutputKey key{index, slot.generation.load(std::memory_order_acquire)};
    const auto description = pool::read_description(pool, key);
    if (!description.complete) continue;
    const bool is_promised = slot.synchronized_writes.load(std::memory_order_acquire) != 0;
    if (is_promised || is_written_in_place(store::OutputDescription::decode_names(description.bytes).names)) keys.push_back(key);
  }
  return keys;
}

bool is_working_file(const pool::OutputSlot& slot, const struct stat& status) {
  const auto inode = slot.working_inode.load(std::memory_order_acquire);
  return inode == 0 || (status.st_ino == inode && status.st_dev == slot.working_device.load(std::memory_order_relaxed));
}

bool is_working_file(const pool::OutputSlot& slot, const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && is_working_file(slot, status);
}

std::optional<FoundOutput> find_output(const pool::Pool& pool, const std::string& final_path, Unfinished which) {
  std::optional<FoundOutput> closed;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    if (!is_open(slot) || pool::is_kept(slot) != (which == Unfinished::kept)) continue;
    const pool::OutputKey key{index, slot.generation.load(std::memory_order_acquire)};
    try {
      auto names = drain::current_names(pool, key);
      if (names.final_path.empty()) continue;   // the program has removed it
      const bool is_of_name = names.final_path == final_path;
      if (!is_of_name && (slot.is_bytes == 0 || !pool::leads_to_file_of(slot, final_path))) continue;   // nor another name of that file
      // In this order: it may just be made, and what is closed be published.
      const bool is_elsewhere = slot.is_made_by_stagers.load(std::memory_order_acquire) != 0;
      const bool may_be_any = is_elsewhere || slot.working_inode.load(std::memory_order_acquire) == 0;
      bool is_named = is_of_name && (may_be_any || is_working_file(slot, names.working_path));
      if (!is_named && pool::leads_to_file_of(slot, final_path)) {   // as others have it open, too (other_handles.cpp)
        is_named = true;
        names.working_path = final_path;
      }
      const bool is_closed = is_closed_by_all(pool, index);
      const bool is_current = is_open(slot) && slot.generation.load(std::memory_order_acquire) == key.generation;
      if (!is_current) continue;
      if (is_closed) closed = FoundOutput{key, names.working_path, true};
      else if (is_named) return FoundOutput{key, names.working_path, false};
    } catch (const base::Error&) {
      continue;   // it is being described, or has just been finished
    }
  }
  return closed;
}

bool any_is_open(const pool::Pool& pool) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    if (is_open(pool.slot(index)) && !pool::is_kept(pool.slot(index))) return true;
  }
  return false;
}

void wait_until(Core& core, const std::function<bool()>& holds, const std::string& what) {
  pool::PoolHeader& header = core.pool().header();
  pool::Wait wait(header.progress, core.deadline_seconds(), opening_nap_ns);
  wait.restart_with([&] { return header.written_bytes.load() + header.job_written_bytes.load(); }).meanwhile([&] {
    core.keep_draining();
    if (header.lost_nodes.load(std::memory_order_acquire) != 0) {
      throw base::Error(base::Errc::io, "other nodes cannot be reached any more, and " + what + " needs them");
    }
    if (core.root_is_gone() && core.pool().drainer() == 0) {
      throw base::Error(base::Errc::io, "the processes that drain " + what + " are gone");
    }
    pool::futex_signal(header.work);
  });
  if (wait.until(holds)) return;
  throw base::Error(base::Errc::timeout,
                    fmt::format("waited {} for {}, and nothing was written", base::exact_seconds(core.deadline_seconds()), what),
                    "the storage may hang; raise pool.deadline if it is only slow");
}

Members members_of(const Core& core, MPI_Comm comm) {
  const auto on_node = ranks_in(comm, core.nodes().comm());
  Members members;
  for (const int rank : on_node) {
    if (rank != MPI_UNDEFINED) members.node_ranks.push_back(rank);
  }
  const auto first = std::find_if(on_node.begin(), on_node.end(), [](int rank) { return rank != MPI_UNDEFINED; });
  members.first = static_cast<int>(first - on_node.begin());
  members.leads = first != on_node.end() && *first == core.nodes().rank();
  return members;
}

bool are_in_session(const Core& core, MPI_Comm comm) { return are_all_in(comm, core.comm()); }
bool are_on_this_node(const Core& core, MPI_Comm comm) { return are_all_in(comm, core.nodes().comm()); }

void make_output(Core& core, const Members& members, const std::string& path, ByteOutput::Existing existing,
                 const StripingHints& of_program, Proposed& made) {
  const std::lock_guard lock(core.one_at_a_time());
  if (core.pool().is_shared()) require_one_view(path);
  const base::OutputSettings settings = core.settings().for_output(path);
  if (settings.full == base::WhenFull::drop) core.notice(Core::Notice::no_dropping_of_bytes);
  store::OutputDescription description = description_of(core, path);
  description.names = names_of(core, path, existing);
  const std::string& working = description.names.working_path;
  if (working.size() >= made.working_path.size()) throw base::Error(base::Errc::invalid_argument, "the name of '" + path + "' is too long");
  const auto [key, takes_back] = claim(core, description, false, existing, members);
  made.is_in_place = is_written_in_place(description.names);
  if (made.is_in_place) follow_what_is_closed(core, key, description.names.final_path);
  try {
    struct stat status {};
    if (made.is_in_place && appears_at_once(core, path)) {
      core.warn_once("publish = \"in-place\": files have their final names from the moment when they are opened, and what a kill leaves "
                     "there may be half-written");
      make_file(core, working, Name::final_one, settings.striping, of_program);
    } else if (takes_back) {
      take_back(description.names);
    } else if (!made.is_in_place) {
      make_file(core, working, Name::working, settings.striping, of_program);
      store::hand_on_permissions(description.names);
    }
    if (stat(working.c_str(), &status) != 0) throw base::system_error(errno, "cannot open '" + path + "'");
    made.size = static_cast<base::Bytes>(status.st_size);
    core.pool().slot(key.slot).writes.size = made.size;
    core.recorder().describe(key, description.encode_layout(), pool::Recorder::More::none);
  } catch (...) {
    give_up(core, key);
    if (takes_back) rename(working.c_str(), description.names.final_path.c_str());
    else if (!made.is_in_place) unlink(working.c_str());
    throw;
  }
  core.recorder().ring_the_drain();
  made.slot = key.slot;
  made.generation = key.generation;
  working.copy(made.working_path.data(), working.size());
  description.names.final_path.copy(made.final_path.data(), made.final_path.size() - 1);
}

void make_output_at_stagers(Core& core, const Members& members, const std::string& path, Proposed& made) {
  const std::lock_guard lock(core.one_at_a_time());
  store::OutputDescription description = description_of(core, path, ByteOutput::Where::at_stagers);
  description.names = names_at_stagers(path, base::Publish::rename, unique_text());
  const auto& [working, final_path] = description.names;
  if (working.size() >= made.working_path.size()) throw base::Error(base::Errc::invalid_argument, "the name of '" + path + "' is too long");
  const pool::OutputKey key = claim(core, description, true, ByteOutput::Existing::replace, members).key;
  try {
    const auto there = core.files_of_stagers()->status(final_path, core.deadline_seconds());
    made.replaces = there.kind != staging::FileStatus::Kind::none;
    made.size = there.bytes;
    core.recorder().describe(key, description.encode_layout(), pool::Recorder::More::none);
  } catch (...) {
    give_up(core, key);
    throw;
  }
  core.recorder().ring_the_drain();
  made.is_at_stagers = true;
  made.slot = key.slot;
  made.generation = key.generation;
  working.copy(made.working_path.data(), working.size());
  final_path.copy(made.final_path.data(), made.final_path.size() - 1);
}

pool::OutputKey join_output(Core& core, const Members& members, const std::string& path, const Proposed& made) {
  const std::lock_guard lock(core.one_at_a_time());
  store::OutputDescription description =
      description_of(core, path, made.is_at_stagers ? ByteOutput::Where::at_stagers : ByteOutput::Where::here);
  description.names = {made.working_path.data(), made.final_path.data()};
  const pool::OutputKey key = claim(core, description, true, ByteOutput::Existing::keep, members).key;
  try {
    core.pool().slot(key.slot).writes.size = made.is_at_stagers ? 0 : made.size;
    core.recorder().describe(key, description.encode_layout(), pool::Recorder::More::none);
  } catch (...) {
    give_up(core, key);
    throw;
  }
  core.recorder().ring_the_drain();
  return key;
}

MadeOutput open_output(Core& core, MPI_Comm comm, const std::string& path, ByteOutput::Existing existing,
                       const StripingHints& of_program, ByteOutput::Where where) {
  if (core.is_shared()) return open_on_all_nodes(core, comm, path, existing, of_program, where);
  const auto made = on_root<pool::OutputKey>(comm, [&](pool::OutputKey& key) {
    Proposed proposed;
    make_output(core, members_of(core, comm), path, existing, of_program, proposed);
    key = {static_cast<std::uint32_t>(proposed.slot), static_cast<std::uint32_t>(proposed.generation)};
  });
  const auto names = store::OutputDescription::decode_names(pool::read_description(core.pool(), made).bytes).names;
  return {made, is_written_in_place(names), names.working_path, {}};
}

}  // namespace glean::session
