// SPDX-License-Identifier: BSD-3-Clause
#include "drain/output_life.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/run_notes.hpp"
#include "base/units.hpp"
#include "drain/node_share.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "pool/postponed.hpp"
#include "pool/published.hpp"
#include "pool/ranks_of_output.hpp"

namespace glean::drain {
namespace {

constexpr std::uint64_t longest_wait_for_room_ns = 3'000'000'000;

}  // namespace

void OutputLife::retry() {
  pool::OutputSlot& slot = output_.slot;
  is_retried_ = pool::is_kept(slot) || pool::is_tried_again(slot);
  if (!is_retried_ && (output_.ranks == Ranks::working || !pool::is_undecided(slot))) return;
  const bool is_seen_by_next = output_.ranks == Ranks::working && output_.nodes == nullptr;
  slot.discarded = is_seen_by_next ? pool::tried_again : 0;
  slot.error = slot.error_claimed = slot.nodes.job_postponed = 0;
}

void OutputLife::look() {
  pool::OutputSlot& slot = output_.slot;
  const pool::Postponed decision = life_ == Life::undecided ? pool::postponed(slot) : pool::Postponed::no;
  if (decision == pool::Postponed::failed) {   // on some node: it is not kept
    life_ = Life::writing;
    fail(base::Error(base::Errc::invalid_state, pool::message_of(slot)), Failure::elsewhere);
  } else if (decision == pool::Postponed::yes) {
    life_ = Life::postponed;
    if (!output_.publishes()) return;
    base::log(base::LogLevel::error, "'{}': what was captured of it stays in memory for `glean recover`", output_.trace.path);
  }
  if (is_writing() && slot.error.load(std::memory_order_acquire) != 0) {
    const base::Error error(base::Errc::invalid_state, pool::message_of(slot));
    if (pool::is_undecided(slot)) agree_to_keep(error);                                    // the storage of another node refuses it
    else fail(error, output_.nodes != nullptr ? Failure::elsewhere : Failure::error);      // a put has
  }
  if (is_writing() && slot.is_renamed.load(std::memory_order_acquire) == pool::is_removed_output) give_up(Failure::removed);
}

void OutputLife::look_at_abandoned() {
  if (has_failed() && failure_ == Failure::elsewhere) failure_ = Failure::abandoned;   // ranks of another node were heard of first
  if (!is_writing()) return;
  const std::string by = base::readable_ranks(pool::ranks_that_abandoned(output_.pool, output_.key.slot));
  fail(base::Error(base::Errc::invalid_state, "output '" + output_.trace.path + "' was abandoned by " + by + " before it was closed"),
       Failure::abandoned);
}

void OutputLife::fail(const base::Error& error, Failure why) {
  if (!is_writing()) return;
  life_ = Life::failed;
  failure_ = why;
  pool::OutputSlot& slot = output_.slot;
  std::string& note = output_.trace.note;
  const bool is_left = output_.is_left_at_close(), is_working = output_.ranks == Ranks::working, outlives = output_.outlives_clients();
  if ((is_left || outlives) && output_.nodes != nullptr) pool::set_postponed(slot, pool::Postponed::failed);   // before the error
  // The first reason stays: another node may have removed the file for it.
  note = slot.error.load(std::memory_order_acquire) != 0 ? pool::message_of(slot) : error.what();
  // Ranks that have written it may be done with it, and not ask any more.
  if ((is_left || outlives) && is_working && why != Failure::elsewhere) base::log(base::LogLevel::error, "{}", note);
  pool::fail(slot, static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
  // Ranks that had closed it by then have been told that all is well.
  if (is_left && is_working && slot.told.load() == 0 && pool::ranks_of_output(output_.pool, output_.key.slot).all_closed) {
    base::leave_note(base::unpublished_note,
                     "'" + output_.trace.path + "' is not published, and what was captured of it is lost: " + note + "\n");
  }
  work_.drop();
  pool::futex_signal(output_.pool.header().progress);
}

void OutputLife::give_up(Failure why) {
  life_ = Life::failed;
  failure_ = why;
  if (why == Failure::removed) file_.found_removed();
  work_.drop();
}

// --- what the storage refuses

// Files that the program has removed may be about to go, and with them what the storage lacks. Outputs that wait for each other give up
// when nothing has been written for a while.
bool OutputLife::waits_for_room() {
  if (!output_.is_left_at_close() || !is_writing() || !room_may_come(output_.pool, output_.key)) return false;
  const std::uint64_t now = base::now_ns(), written = output_.pool.header().written_bytes.load(std::memory_order_relaxed);
  if (lacks_room_since_ns_ == 0 || written != written_when_room_lacked_) {
    lacks_room_since_ns_ = now;
    written_when_room_lacked_ = written;
  }
  return now - lacks_room_since_ns_ < longest_wait_for_room_ns;
}

bool OutputLife::reserve() {
  const Bytes unreserved = work_.take_unreserved();
  try {
    file_.reserve(work_.end(), unreserved);
    lacks_room_since_ns_ = 0;
    return true;
  } catch (const base::Error& error) {
    const bool waits = error.code() == base::Errc::no_space && waits_for_room();
    if (waits) work_.need(unreserved);
    else storage_failed(error);
    return false;
  }
}

// What was closed before is durable, so that a file which was there may change. False: not yet, or the output is not written any more.
bool OutputLife::may_change_file() {
  if (follows_nothing_) return true;
  const pool::Before before = pool::what_is_before(output_.pool, output_.key.slot);
  follows_nothing_ = before == pool::Before::durable;
  if (before == pool::Before::kept) {
    storage_failed(base::Error(base::Errc::io, "'" + output_.trace.path + "' is not written: what was closed before it was opened is "
                               "not durable"));
  }
  return follows_nothing_;
}

void OutputLife::hand_out(Relief relief) {
  if (is_writing() && work_.has(relief) && may_change_file() && reserve()) work_.queue(relief);
}

// Ranks say that they have closed a file before they look whether it has failed: in this order either all of them have closed it, or the
// last one finds the failure, and tells the program.
bool OutputLife::may_be_kept() const {
  if (output_.ranks == Ranks::gone) return true;
  if (output_.outlives_clients()) return true;   // the first stager knows what the clients have been told, and decides (nodes::Exchange)
  if (!output_.is_left_at_close() || file_.is_removed()) return false;
  if (is_retried_) return true;   // the program may have been told since
  const pool::RanksOfOutput ranks = pool::ranks_of_output(output_.pool, output_.key.slot);
  return ranks.all_closed && !ranks.any_abandoned && output_.slot.told.load() == 0;
}

void OutputLife::storage_failed(const base::Error& error) {
  if (!is_writing()) return;
  const bool is_working = output_.ranks == Ranks::working;
  if (error.code() == base::Errc::not_found || file_.is_lost()) return fail(error);
  if (is_working && output_.nodes != nullptr) return refuse(error);
  if (is_working) {
    pool::fail(output_.slot, static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
    if (!may_be_kept()) return fail(error);
    base::log(base::LogLevel::error, "{}; what was captured of it stays in memory for `glean recover`", error.what());
  }
  if (output_.nodes != nullptr) pool::set_postponed(output_.slot, pool::Postponed::yes);
  put_off(error, Life::postponed);
}

// It is not written any more; all that was captured stays.
void OutputLife::put_off(const base::Error& error, Life life) {
  output_.trace.state = "postponed";
  output_.trace.note = error.what();
  life_ = life;
  work_.drop();
}

// Several nodes write it, and the storage of this one refuses it. The error first, as on one node: either all ranks of the node have closed
// the output, or the last one finds the failure.
void OutputLife::refuse(const base::Error& error) {
  pool::OutputSlot& slot = output_.slot;
  const bool has_failed = slot.error_claimed.load() != 0 && !pool::is_undecided(slot);   // for another reason
  const bool may_be_put_off = output_.is_left_at_close() || output_.outlives_clients();
  if (has_failed || !may_be_put_off || slot.nodes.job_output.load(std::memory_order_acquire) == 0) return fail(error);
  if (slot.error_claimed.load() == 0) base::log(base::LogLevel::error, "{}", error.what());
  pool::move_on(slot, pool::Postponed::no, pool::Postponed::refused);
  pool::fail(slot, static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
  agree_to_keep(error);
}

// This node's word on it. One that does not agree fails the output for all.
void OutputLife::agree_to_keep(const base::Error& error) {
  if (!may_be_kept()) return fail(error, Failure::elsewhere);   // it is said already
  put_off(error, Life::undecided);
  pool::move_on(output_.slot, pool::Postponed::refused, pool::Postponed::agreed);
  pool::futex_signal(output_.pool.header().progress);   // the exchange with other nodes sleeps on it
}

void OutputLife::leave_for_later() {
  life_ = Life::kept;
  tell_names(Ending::kept);
  file_.leave();
  output_.slot.discarded.store(pool::kept_for_recovery);
  settle_names(output_.pool, output_.calls, output_.key, Ending::kept);   // once more, as in finish()
  pool::futex_signal(output_.pool.header().progress);
}

// --- its end

void OutputLife::published() {
  output_.trace.checksums = name_of(output_.checksums.state());
  output_.trace.durable_ns = base::now_ns();
  file_.published();
  output_.slot.steps.synchronized.store(output_.steps.written, std::memory_order_release);
  finish(file_.is_removed() ? "removed" : "published", pool::OutputState::published);
}

void OutputLife::discarded() {
  file_.discarded();
  life_ = Life::discarded;
  output_.slot.discarded.store(1, std::memory_order_release);
  pool::futex_signal(output_.pool.header().progress);
}

void OutputLife::finish_failed() {
  if (file_.is_removed()) finish("removed", pool::OutputState::abandoned);
  else if (failure_ == Failure::dropped) finish("dropped", pool::OutputState::abandoned);
  else if (failure_ == Failure::abandoned) finish("abandoned", pool::OutputState::abandoned);
  else finish(file_.is_superseded() ? "superseded" : "failed", pool::OutputState::failed);
}

void OutputLife::finish(const char* trace_state, pool::OutputState state) {
  pool::OutputSlot& slot = output_.slot;
  OutputTrace& trace = output_.trace;
  trace.state = trace_state;
  trace.steps_dropped = slot.steps.dropped.load(std::memory_order_acquire);
  trace.range_errors = slot.steps.range_errors.load(std::memory_order_acquire);   // those that ranks have met too
  output_.space_returned = true;
  life_ = Life::finished;
  const std::vector<std::uint32_t> meaning = pool::read_meaning(output_.pool, output_.key).chunks;
  description_chunks_.insert(description_chunks_.end(), meaning.begin(), meaning.end());
  const Ending ending = trace.state == "published" || trace.state == "removed" ? Ending::durable : Ending::failed;
  tell_names(ending);
  // No rank comes to see what became of it, but other nodes that know of it.
  if (output_.is_left_at_close() && slot.nodes.job_output.load(std::memory_order_acquire) == 0) state = pool::OutputState::free;
  slot.state.store(state);   // the slot may be another output's from now on
  settle_names(output_.pool, output_.calls, output_.key, ending);   // once more: of what a rank has removed that still found it on its way
  for (const std::uint32_t chunk : std::exchange(description_chunks_, {})) output_.pool.drop_reference(chunk);
  pool::futex_signal(output_.pool.header().progress);
}

void OutputLife::tell_names(Ending ending) {
  Retired retired = settle_names(output_.pool, output_.calls, output_.key, ending);
  output_.trace.restored = std::move(retired.restored);
  output_.trace.hidden = std::move(retired.hidden);
}

}  // namespace glean::drain
