// SPDX-License-Identifier: BSD-3-Clause
//
// How an output goes on where another drain has stopped, and when nobody captures any more.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.hpp"
#include "base/units.hpp"
#include "drain/messages.hpp"
#include "drain/output_drain.hpp"
#include "drain/retired_files.hpp"
#include "pool/futex.hpp"
#include "pool/name_log.hpp"
#include "pool/postponed.hpp"
#include "pool/published.hpp"
#include "store/format/new_file.hpp"
#include "store/posix/unclosed.hpp"

namespace glean::drain {

namespace {

// Modified later: by another job, since publishing keeps the time of the last write.
bool is_newer(const std::string& path, const std::string& than) {
  struct stat first {}, second {};
  if (stat(path.c_str(), &first) != 0 || stat(than.c_str(), &second) != 0 || first.st_ino == second.st_ino) return false;
  return std::pair(first.st_mtim.tv_sec, first.st_mtim.tv_nsec) > std::pair(second.st_mtim.tv_sec, second.st_mtim.tv_nsec);
}

}  // namespace

// --- taking up where another drain has stopped

void OutputDrain::take_over(const pool::DescriptionInPool& description) {
  steps_staged_ = steps_written_ = slot_.steps_written.load(std::memory_order_acquire);
  steps_synchronized_ = slot_.steps_synchronized.load(std::memory_order_acquire);
  records_ = slot_.records.load(std::memory_order_acquire);
  trace_.range_errors = slot_.range_errors.load(std::memory_order_acquire);
  // The storage has refused it, and now it is tried again.
  was_kept_ = pool::is_kept(slot_) || pool::is_tried_again(slot_);
  if (was_kept_ || (ranks_ == Ranks::gone && pool::is_undecided(slot_))) {
    const bool is_seen_by_next = ranks_ == Ranks::working && !pool_.is_shared();
    slot_.discarded = is_seen_by_next ? pool::tried_again : 0;
    slot_.error = slot_.error_claimed = slot_.job_postponed = 0;
  }
  // A drain that was killed between the two has marked records whose copies are not there.
  moving_is_moved_ = slot_.kept.load(std::memory_order_acquire) != slot_.kept_before.load(std::memory_order_acquire);
  try {
    pool::DescriptionInPool kept = pool::read_kept(pool_, key_);
    moved_chunks_ = std::move(kept.chunks);
    if (!kept.bytes.empty()) moved_before_ = decode_kept_puts(kept.bytes);
    description_ = store::OutputDescription::decode_names(description.bytes);
    trace_.path = description_.display_path;
    if (!description.complete) {
      throw base::Error(base::Errc::io, "'" + trace_.path + "' was just being opened when the job ended");
    }
    description_ = store::OutputDescription::decode(description.bytes);
    follow_new_name();
    // Its one step is closing it, which is judged anew.
    if (description_.is_bytes) steps_staged_ = steps_written_ = steps_synchronized_ = 0;
    check_notes();
    take_share();
  } catch (const base::Error& error) {
    return fail(error);
  }
  next_write_ = writes_written_ = told_written_ = slot_.writes_written.load(std::memory_order_acquire);
  done_up_to_ = writes_written_;
  // All of earlier phases were in the file. Of several nodes they have epochs instead.
  const std::uint64_t phase = pool::WriteStamp::of(slot_.written_before.load(std::memory_order_acquire)).epoch;
  open_phase_ = pool_.is_shared() ? pool::WriteStamp::last_epoch : phase;
  if (description_.checksums) checksums_ = Checksums(SumsState::recorded);
  if (description_.checksums && (inherited_ || description_.is_bytes)) checksums_.lose();   // of what was written before they are gone
  highest_end_ = settled_end_ =
      std::max(description_.layout.header_bytes, slot_.highest_end.load(std::memory_order_acquire));
  if (slot_.error_claimed.load(std::memory_order_acquire) != 0 && slot_.error.load(std::memory_order_acquire) == 0 &&
      ranks_ == Ranks::gone) {
    // Somebody was killed while saying what failed.
    slot_.error_claimed = 0;
    fail(base::Error(base::Errc::io, "'" + trace_.path + "' had failed when the job ended"));
  }
  if (slot_.forgotten.load(std::memory_order_acquire) == 0) return;
  const auto& variables = description_.layout.variables;
  if (std::any_of(variables.begin(), variables.end(), [](const auto& variable) { return variable.fill; })) {
    fail(base::Error(base::Errc::no_space,
                     "what was put of '" + trace_.path + "' is not known any more, so its holes cannot be filled: the journal "
                     "was too small for one step", "raise pool.budget"));
  }
}

// The program may have renamed it since it was closed.
void OutputDrain::follow_new_name() {
  // Another node may have removed the file already.
  removed_ = slot_.is_renamed.load(std::memory_order_acquire) == pool::is_removed_output;
  const auto now = pool::new_name_of(pool_, key_);
  if (!now) return;
  removed_ = now->is_removed;
  if (!now->final_path.empty()) description_.names.final_path = now->final_path;
  if (!now->working_path.empty()) description_.names.working_path = now->working_path;
}

// What a drain has noted for the next one has no checksum. That it can be is the least.
void OutputDrain::check_notes() const {
  const pool::RanksOfOutput ranks = pool::ranks_of_output(pool_, key_.slot);
  const std::uint64_t steps = ranks.steps_ended, most = ranks.most_ended;
  if (slot_.state.load(std::memory_order_acquire) == pool::OutputState::open && steps_written_ <= steps &&
      steps_synchronized_ <= steps_written_ && records_ <= steps &&
      slot_.highest_end.load(std::memory_order_acquire) <= store::whole_size(description_.layout, most + 1)) {
    return;
  }
  throw base::Error(base::Errc::io, "what the pool says of '" + trace_.path + "' is damaged");
}

void OutputDrain::open_file() {
  if (failed_) return;
  store::FileNames names = description_.names;
  const std::uint64_t inode = slot_.publishing_inode.load(std::memory_order_acquire);
  struct stat status {};
  const bool is_renamed = inode != 0 && stat(names.working_path.c_str(), &status) != 0 && errno == ENOENT;
  if (const auto published = is_renamed ? store::find_unclosed(names.final_path, inode) : std::nullopt) {
    // Perhaps not for good.
    names.working_path = names.final_path = *published;
    fixed_filled_ = true;
  } else if ((ranks_ == Ranks::gone || was_kept_) && !is_left_unclosed() && is_newer(names.final_path, names.working_path)) {
    superseded_ = true;
    const char* const since = ranks_ == Ranks::gone ? "the job had ended" : "it was closed";
    return fail(base::Error(base::Errc::exists, "a newer '" + names.final_path + "' was written after " + since));
  }
  const bool may_be_anothers = names.working_path == names.final_path;
  if (is_to_be_made(inode)) store::make_new_file(calls_, names, description_.metadata);
  file_ = std::make_unique<store::File>(calls_, std::move(names), description_.direct_io);
  const std::uint64_t before = slot_.working_inode.load(std::memory_order_acquire);
  if (may_be_anothers && before != 0 && before != file_->inode()) {
    file_.reset();
    return fail(base::Error(base::Errc::not_found, "'" + trace_.path + "' was removed or renamed, and another file has its name"));
  }
  if (description_.ranks_write || description_.is_bytes || pool_.is_shared()) file_->share();
  slot_.working_device.store(file_->device(), std::memory_order_relaxed);
  slot_.working_descriptor.store(static_cast<std::uint64_t>(getpid()) << 32 | static_cast<std::uint32_t>(file_->buffered_descriptor()),
                                 std::memory_order_relaxed);
  slot_.working_inode.store(file_->inode(), std::memory_order_release);
  pool::note_written_file(pool_, file_->device(), file_->inode());
  if (pool_.is_shared() || !description_.is_bytes) pool::futex_signal(pool_.header().progress);   // a rank waits for it
}

// A raw output is made by the rank that opens it.
bool OutputDrain::is_to_be_made(std::uint64_t publishing_inode) const {
  const bool is_untouched = slot_.working_inode.load(std::memory_order_acquire) == 0 && publishing_inode == 0 && steps_written_ == 0 &&
                            slot_.highest_end.load(std::memory_order_acquire) == 0;
  return is_untouched && publishes() && !description_.is_bytes;
}

void OutputDrain::take_moved() {
  if (failed_ || postponed_ || moved_before_.empty()) return;
  try {
    for (KeptPut& put : std::exchange(moved_before_, {})) {
      if (put.variable >= description_.layout.variables.size()) {
        throw base::Error(base::Errc::io, "what was kept of the records of '" + trace_.path + "' is damaged");
      }
      const bool undone = is_undone(put.step);
      const std::uint64_t until = undone ? no_step : kept_for(put);
      if (undone ? undo(put) : take_claim(put)) moved_[until].push_back(std::move(put));
    }
  } catch (const base::Error& error) {
    return fail(error);
  }
  release_moved_if_empty();
}

void OutputDrain::take_kept(const pool::Record& record, pool::JournalReader& journal) {
  if (record.origin == pool::Origin::node) return retire(record, journal);   // the first of its put says all
  const KeptPut put = kept_put(pool_, record, journal.rank());
  const bool undone = is_undone(record.step);
  if (!undone && record.place == pool::PayloadPlace::file && record.state == pool::RecordState::live) {
    // It is in the file when its rank ends the step, and before that the step is not looked at.
    checksums_.lose();
    trace_.bytes += record.elements * mesh::size_of(description_.layout.variables[record.variable].external);
    saw_capture(record);
  }
  if (!(undone ? undo(put) : take_claim(put))) return retire(record, journal);
  // What the drain before was just moving has not arrived.
  if (record.state == pool::RecordState::moving) journal.mark(record, pool::RecordState::written);
  kept_[undone ? no_step : kept_for(put)].push_back({&record, &journal});
}

bool OutputDrain::take_claim(const KeptPut& put) {
  const auto& variable = description_.layout.variables[put.variable];
  if (kept_for(put) != no_step && put.step < steps_written_) return false;
  const store::Piece piece(variable, variable.per_step() ? put.step : 0, put.box, put.first, put.elements);
  if (ranks_ == Ranks::gone && !pool_.is_shared() && piece.file_extent().end > file_->current_size()) {
    throw base::Error(base::Errc::io, "what was put of '" + variable.name + "' of '" + trace_.path + "' is not in the file");
  }
  claim(put);
  if (put.step < steps_written_) return true;
  StepReach& reach = reaches_[put.step];
  reach.end = std::max(reach.end, piece.file_extent().end);
  reach.has_records |= variable.per_step();
  highest_end_ = std::max(highest_end_, reach.end);
  return true;
}

// --- when nobody captures any more

// What a complete file would not have.
bool OutputDrain::undo(const KeptPut& put) {
  const auto& variable = description_.layout.variables[put.variable];
  // Records that are not complete are cut off, and where nothing was put fill values go.
  if (variable.per_step() || variable.fill) return false;
  auto zeros = std::make_unique<store::VariableLayout>(variable);
  zeros->fill_value = {};
  const store::Piece piece(variable, 0, put.box, put.first, put.elements);
  claim(put);   // zeros must not go where complete steps have put something
  // What lies behind the end of the file reads as nothing anyway.
  const Bytes file_bytes = file_->current_size();
  piece.for_each_run({0, file_bytes}, [&](store::Piece::Run run) {
    const Bytes end = run.file_offset + run.elements * mesh::size_of(variable.external);
    const Extent extent{run.file_offset, std::min(file_bytes, end)};
    for (std::uint64_t index = extent.begin / request_bytes_; index * request_bytes_ < extent.end; ++index) {
      if (!is_mine(index)) continue;
      store::Window& window = gathered_[index];
      window.extent = {index * request_bytes_, (index + 1) * request_bytes_};
      window.fills.push_back({zeros.get(), extent, no_step});
      const Bytes inside = std::min(extent.end, window.extent.end) - std::max(extent.begin, window.extent.begin);
      window.bytes += inside;
      waiting_bytes_ += inside;
      ++unwritten_[no_step];
    }
  });
  highest_end_ = std::max(highest_end_, std::min(file_bytes, piece.file_extent().end));
  zeros_.push_back(std::move(zeros));
  return true;   // until the zeros are safe
}

void OutputDrain::judge_without_ranks(const pool::RanksOfOutput& ranks) {
  if (std::exchange(judged_, true)) return;
  std::uint32_t steps = ranks.steps_ended, most = ranks.most_ended;
  bool all_closed = ranks.all_closed;
  if (description_.is_bytes) return judge_bytes_without_ranks(all_closed);
  if (pool_.is_shared()) {   // what the nodes have found together
    steps = std::min(steps, static_cast<std::uint32_t>(slot_.job_steps_ended.load(std::memory_order_acquire)));
    most = std::max(most, static_cast<std::uint32_t>(slot_.job_steps_begun.load(std::memory_order_acquire)));
    all_closed = slot_.job_closed.load(std::memory_order_acquire) != 0;
  }
  // Of a closed output all steps are there, or it was closed wrongly.
  steps_ended_ = steps_complete_ = steps;
  trace_.had_complete_steps = steps != 0;
  steps_begun_ = all_closed ? most : steps;
  all_closed_ = true;
  if (all_closed || failed_ || postponed_) return;   // the first reason stays
  const std::vector<int> ranks_behind = pool::ranks_before_step(pool_, key_.slot, steps + 1);
  const std::string behind = ranks_behind.empty() ? "ranks of another node" : base::readable_ranks(ranks_behind);
  if (most != steps) trace_.note = "step " + std::to_string(steps) + " is not there: " + behind + " had not ended it";
  if (steps == 0) {
    fail(base::Error(base::Errc::invalid_state, "'" + trace_.path + "' has no complete step: " + behind +
                                                    " had not ended step 0 when the job ended"));
  } else if (slot_.forgotten.load(std::memory_order_acquire) != 0) {
    fail(base::Error(base::Errc::no_space,
                     "what was written of the unfinished step " + std::to_string(steps) + " of '" + trace_.path +
                     "' cannot be undone: the journal was too small for one step", "raise pool.budget"));
  }
}

}  // namespace glean::drain
