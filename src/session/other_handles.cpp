// SPDX-License-Identifier: BSD-3-Clause
//
// A captured file that is opened once more, by ranks of other communicators or under another name, and cannot be written through the same
// output: the MPI library gets a handle on it. All that was captured before is in the file then, and what is captured after is in it when
// its call returns: so the writes of both keep the order in which the program makes them. The drain writes the bytes that were captured
// and no others, so none of the other handle's are lost. It would be missing things if the file vanished under it, so it has its final
// name from then on, as one that is written in place.
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "pool/description.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/other_handles.hpp"
#include "pool/published.hpp"
#include "session/byte_opening.hpp"
#include "store/description.hpp"

namespace glean::session {
namespace {

// What is of a collective call to which not all ranks have come cannot be in the file yet. A program that has ordered its open behind
// such a call lets the others come; one that has not may let them wait for this rank.
constexpr std::uint64_t others_may_take_ns = 1'000'000'000;
constexpr int turns_between_looks = 16;

class Sharing {
 public:
  Sharing(Core& core, const FoundOutput& found, const std::string& path)
      : core_(core), pool_(core.pool()), key_(found.key), slot_(pool_.slot(found.key.slot)), found_(found), path_(path) {}

  // Where it is; nothing: it is closed by all meanwhile, and is found as such.
  std::optional<std::string> share() {
    wait([&] { return slot_.working_inode.load(std::memory_order_acquire) != 0; }, "'" + path_ + "' to be opened by the drain");
    const bool is_new = !pool::have_others(slot_);
    if (!is_there()) return where_it_stays();
    pool::tell_of_others(slot_);
    if (pool_.is_shared()) tell_all_nodes();
    write_captured();
    if (!is_there()) return where_it_stays();
    const auto names = store::OutputDescription::decode_names(pool::read_description(pool_, key_).bytes).names;
    if (names.working_path == names.final_path) return found_.working_path;
    if (!publish_name(names)) return where_it_stays();
    if (is_new) base::log(base::LogLevel::info, "'{}' is opened once more while it is open: it is written in place from now on", path_);
    return names.final_path;
  }

 private:
  [[nodiscard]] bool is_there() const { return is_current(pool_, key_) && slot_.error.load(std::memory_order_acquire) == 0; }

  // One that is closed by all may be published now, or at any moment.
  [[nodiscard]] std::optional<std::string> where_it_stays() const {
    if (!is_current(pool_, key_) || is_closed_by_all(pool_, key_.slot)) return std::nullopt;
    return found_.working_path;
  }

  template <class Holds>
  void wait(Holds holds, const std::string& what) {
    if (holds()) return;
    tell_drain(core_);
    wait_until(core_, [&] { return !is_there() || holds(); }, what);
  }

  void tell_all_nodes() {
    wait([&] { return (slot_.other_handles.load() & pool::all_nodes_know) != 0; }, "other nodes to hear that '" + path_ + "' is opened");
    // What they had captured before they heard is of this tick at most.
    pool::raise_tick(pool_, std::min(pool::tick_of(slot_) + 1, pool::WriteStamp::last_order));
  }

  void write_captured() {
    const std::uint32_t own = pool_.rank_progress(key_.slot, core_.nodes().rank()).load(std::memory_order_acquire);
    const std::uint32_t collective_count = (own & pool::rank_closed) == 0 ? core_.pace().wait_for_ranks(key_.slot) : wait_for_its_ranks();
    const std::lock_guard lock(core_.one_at_a_time());
    write_up_to(core_, key_, collective_count, path_);
    keep_nothing(core_, key_, path_);
  }

  // This rank is none of them. It waits until all have come as far as the first, or for a moment; to the count that is returned.
  std::uint32_t wait_for_its_ranks() const {
    std::uint32_t latest = 0;
    for (int rank = 0; rank < static_cast<int>(pool_.header().ranks); ++rank) {
      const bool is_open = (pool_.rank_progress(key_.slot, rank).load(std::memory_order_acquire) & pool::rank_closed) == 0;
      if (is_open) latest = std::max(latest, pool_.collective_count(key_.slot, rank).load(std::memory_order_acquire));
    }
    const std::uint64_t begin = base::now_ns();
    for (int turn = 1;; ++turn) {
      const std::uint32_t least = pool::least_collective_count(pool_, key_.slot);
      if (least >= latest || !is_there() || base::now_ns() - begin > others_may_take_ns) return least;
      sched_yield();
      if (turn % turns_between_looks != 0) continue;
      int found = 0;   // messages of this rank that others need to come go on
      PMPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
    }
  }

  // False: it has been published or given up, or cannot be renamed.
  bool publish_name(const store::FileNames& names) {
    const std::lock_guard lock(core_.one_at_a_time());
    const std::uint64_t limit = base::now_ns() + static_cast<std::uint64_t>(core_.deadline_seconds() * 1e9);
    while (!pool::keep_name(pool_, key_, core_.nodes().rank())) {
      if (!is_there() || is_closed_by_all(pool_, key_.slot) || base::now_ns() > limit) return false;
      sched_yield();
    }
    const ByteOutput::KeptName kept(core_, key_, names.working_path);
    const int error = give_final_name(slot_, names);
    if (error == 0) return true;
    if (error != ENOENT) {   // the program has removed it
      base::log(base::LogLevel::warning, "'{}' is opened once more while it is open, and cannot get its name: {}", path_,
                std::strerror(error));
    }
    return false;
  }

  Core& core_;
  pool::Pool& pool_;
  pool::OutputKey key_;
  pool::OutputSlot& slot_;
  const FoundOutput& found_;
  const std::string& path_;
};

}  // namespace

int give_final_name(const pool::OutputSlot& slot, const store::FileNames& names) {
  const auto is_given = [&] { return pool::leads_to_file_of(slot, names.final_path); };
  if (is_given()) return 0;
  if (!is_working_file(slot, names.working_path)) return is_given() ? 0 : ENOENT;   // another node may just have done it
  struct stat replaced {};
  if (stat(names.final_path.c_str(), &replaced) == 0) chmod(names.working_path.c_str(), replaced.st_mode & 07777);
  ByteOutput::forget_checksums(names.final_path);
  const int error = rename(names.working_path.c_str(), names.final_path.c_str()) == 0 ? 0 : errno;
  return error == 0 || is_given() ? 0 : error;
}

std::optional<std::string> ByteOutput::share_with_others(Core& core, const std::string& path) {
  if (!any_is_open(core.pool())) return std::nullopt;
  const auto found = find_output(core.pool(), store::resolved_path(path));
  if (!found || found->is_closed) return std::nullopt;
  return Sharing(core, *found, path).share();
}

}  // namespace glean::session
