// SPDX-License-Identifier: BSD-3-Clause
//
// An output that the storage refuses, or that is not to be written yet or at all: what was closed before it is not durable, the
// storage has no room, the program has removed it.
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "drain/output_drain.hpp"
#include "drain/retired_files.hpp"
#include "pool/futex.hpp"
#include "pool/postponed.hpp"
#include "pool/published.hpp"
#include "store/parts/part_index.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::drain {
namespace {

constexpr std::uint64_t longest_wait_for_room_ns = 3'000'000'000;

}  // namespace

// Files that the program has removed may be about to go, and with them what the storage lacks. Outputs that wait for each other give up
// when nothing has been written for a while.
bool OutputDrain::waits_for_room() {
  if (!output_.description.is_bytes || failed_ || postponed_ || !room_may_come(output_.pool, output_.key)) return false;
  const std::uint64_t now = base::now_ns(), written = output_.pool.header().written_bytes.load(std::memory_order_relaxed);
  if (lacks_room_since_ns_ == 0 || written != written_when_room_lacked_) {
    lacks_room_since_ns_ = now;
    written_when_room_lacked_ = written;
  }
  return now - lacks_room_since_ns_ < longest_wait_for_room_ns;
}

bool OutputDrain::reserve() {
  const Bytes unreserved = std::exchange(unreserved_bytes_, 0);
  try {
    file_->reserve(highest_end_, unreserved);
    lacks_room_since_ns_ = 0;
    return true;
  } catch (const base::Error& error) {
    const bool waits = error.code() == base::Errc::no_space && waits_for_room();
    if (waits) unreserved_bytes_ += unreserved;
    else storage_failed(error);
    return false;
  }
}

// A step that not all ranks have ended would be published in part.
void OutputDrain::refuse_uneven_steps() {
  std::vector<int> behind = pool::ranks_before_step(output_.pool, output_.key.slot, output_.steps.begun);
  if (behind.empty()) behind = {static_cast<int>(output_.slot.job_last_rank.load(std::memory_order_acquire))};   // of another node
  fail(base::Error(base::Errc::invalid_state, "'" + output_.trace.path + "' was closed by all ranks, but " + base::readable_ranks(behind) +
                                                  " had not ended step " + std::to_string(output_.steps.begun - 1),
                   "every rank ends every step, whether it puts something or not"));
}

// The program has removed it after it had closed it. There is no error.
void OutputDrain::give_up_removed() {
  failed_ = removed_ = true;
  waiting_bytes_ = 0;
  gathered_.clear();
  const auto mine = [this](const Job& job) { return job.output == this; };
  jobs_in_flight_ -= static_cast<int>(std::count_if(jobs_.begin(), jobs_.end(), mine));
  std::erase_if(jobs_, mine);
}

bool OutputDrain::may_change_file() {
  if (follows_nothing_ || failed_ || postponed_) return !failed_ && !postponed_;
  const pool::Before before = pool::what_is_before(output_.pool, output_.key.slot);
  follows_nothing_ = before == pool::Before::durable;
  if (before == pool::Before::kept) {
    storage_failed(base::Error(base::Errc::io, "'" + output_.trace.path + "' is not written: what was closed before it was opened is not "
                               "durable"));
  }
  return follows_nothing_;
}

// Ranks say that they have closed a file before they look whether it has failed: in this order either all of them have closed it, or the
// last one finds the failure, and tells the program.
bool OutputDrain::may_be_kept() {
  if (output_.ranks == Ranks::gone) return true;
  if (!output_.description.is_bytes || removed_) return false;
  if (was_kept_) return true;   // the program may have been told since
  const pool::RanksOfOutput ranks = pool::ranks_of_output(output_.pool, output_.key.slot);
  return ranks.all_closed && !ranks.any_abandoned && output_.slot.told.load() == 0;
}

void OutputDrain::storage_failed(const base::Error& error) {
  if (undecided_) return;
  const bool is_lost = failed_ || error.code() == base::Errc::not_found || (file_ != nullptr && !file_->is_trusted());
  if (is_lost) return fail(error);
  if (output_.ranks == Ranks::working && nodes_) return refuse(error);
  if (output_.ranks == Ranks::working) {
    pool::fail(output_.slot, static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
    if (!may_be_kept()) return fail(error);
    base::log(base::LogLevel::error, "{}; what was captured of it stays in memory for `glean recover`", error.what());
  }
  if (nodes_) pool::set_postponed(output_.slot, pool::Postponed::yes);
  put_off(error);
  finished_ = jobs_in_flight_ == 0;
  if (finished_) leave_for_later();
}

// It is not written any more; all that was captured stays.
void OutputDrain::put_off(const base::Error& error) {
  output_.trace.state = "postponed";
  output_.trace.note = error.what();
  postponed_ = true;
  waiting_bytes_ = 0;
  gathered_.clear();
  const auto mine = [this](const Job& job) { return job.output == this; };
  jobs_in_flight_ -= static_cast<int>(std::count_if(jobs_.begin(), jobs_.end(), mine));
  std::erase_if(jobs_, mine);
  parcels_.forget(output_.key);
}

// Of several nodes: the storage of this one refuses it. The error first, as on one node: either all ranks of the node have closed
// the output, or the last one finds the failure.
void OutputDrain::refuse(const base::Error& error) {
  const bool has_failed = output_.slot.error_claimed.load() != 0 && !pool::is_undecided(output_.slot);   // for another reason
  if (has_failed || !output_.description.is_bytes || output_.slot.job_output.load(std::memory_order_acquire) == 0) return fail(error);
  if (output_.slot.error_claimed.load() == 0) base::log(base::LogLevel::error, "{}", error.what());
  failed_elsewhere_ = true;   // and it is said
  pool::move_on(output_.slot, pool::Postponed::no, pool::Postponed::refused);
  pool::fail(output_.slot, static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
  agree_to_keep(error);
}

// This node's word on it. One that does not agree fails the output for all.
void OutputDrain::agree_to_keep(const base::Error& error) {
  if (!may_be_kept()) return fail(error);
  put_off(error);
  undecided_ = true;
  pool::move_on(output_.slot, pool::Postponed::refused, pool::Postponed::agreed);
  pool::futex_signal(output_.pool.header().progress);   // whoever talks to other nodes sleeps on it
}

// All nodes keep it, or it has failed on one of them.
void OutputDrain::look_at_decision() {
  const pool::Postponed what = pool::postponed(output_.slot);
  if (what == pool::Postponed::yes) {
    undecided_ = false;
    if (!publishes()) return;
    base::log(base::LogLevel::error, "'{}': what was captured of it stays in memory for `glean recover`", output_.trace.path);
  } else if (what == pool::Postponed::failed) {
    undecided_ = postponed_ = false;
    fail(base::Error(base::Errc::invalid_state, pool::message_of(output_.slot)));
  }
}

void OutputDrain::tell_names(Ending ending) {
  Retired retired = settle_names(output_.pool, output_.calls, output_.key, ending);
  output_.trace.restored = std::move(retired.restored);
  output_.trace.hidden = std::move(retired.hidden);
}

void OutputDrain::leave_for_later() {
  tell_names(Ending::kept);
  // What has been written so far is no newer (open_file).
  if (file_) futimens(file_->buffered_descriptor(), nullptr);
  output_.slot.discarded.store(pool::kept_for_recovery);
  settle_names(output_.pool, output_.calls, output_.key, Ending::kept);   // once more, as in finish()
  pool::futex_signal(output_.pool.header().progress);
}

void OutputDrain::discard_file() noexcept {
  // All nodes come to that by themselves, and the program may have begun a file of that name anew when the last one does.
  // While ranks work, the publisher removes what it has made: another node may not have heard yet that something in it was promised.
  const bool is_publishers = output_.ranks == Ranks::working && nodes_ && !output_.description.is_bytes;
  if ((dropped_ || is_publishers) && !publishes()) return;
  if (keep_promised()) return;
  const store::FileNames& names = output_.description.names;
  if (file_) file_->discard();
  else if (names.working_path != names.final_path) output_.calls.unlink(names.working_path.c_str());
  if (output_.description.is_part) store::discard_index(output_.calls, names);
  if (output_.inherited && output_.description.checksums) store::remove_prepared_sidecar(output_.calls, names.final_path);
}

}  // namespace glean::drain
