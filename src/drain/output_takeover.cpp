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
  output_.steps.staged = output_.steps.written = output_.slot.steps_written.load(std::memory_order_acquire);
  output_.steps.synchronized = output_.slot.steps_synchronized.load(std::memory_order_acquire);
  records_ = output_.slot.records.load(std::memory_order_acquire);
  output_.trace.range_errors = output_.slot.range_errors.load(std::memory_order_acquire);
  // The storage has refused it, and now it is tried again.
  was_kept_ = pool::is_kept(output_.slot) || pool::is_tried_again(output_.slot);
  if (was_kept_ || (output_.ranks == Ranks::gone && pool::is_undecided(output_.slot))) {
    const bool is_seen_by_next = output_.ranks == Ranks::working && !nodes_;
    output_.slot.discarded = is_seen_by_next ? pool::tried_again : 0;
    output_.slot.error = output_.slot.error_claimed = output_.slot.job_postponed = 0;
  }
  try {
    log_.read();
    output_.description = store::OutputDescription::decode_names(description.bytes);
    output_.trace.path = output_.description.display_path;
    if (!description.complete) {
      throw base::Error(base::Errc::io, "'" + output_.trace.path + "' was just being opened when the job ended");
    }
    output_.description = store::OutputDescription::decode(description.bytes);
    follow_new_name();
    // Its one step is closing it, which is judged anew.
    if (output_.description.is_bytes) output_.steps.staged = output_.steps.written = output_.steps.synchronized = 0;
    check_notes();
    divide();
  } catch (const base::Error& error) {
    return fail(error);
  }
  next_write_ = writes_written_ = told_written_ = output_.slot.writes_written.load(std::memory_order_acquire);
  done_up_to_ = writes_written_;
  // All of earlier phases were in the file. Of several nodes they have epochs instead.
  const std::uint64_t phase = pool::WriteStamp::of(output_.slot.written_before.load(std::memory_order_acquire)).epoch;
  open_phase_ = nodes_ ? pool::WriteStamp::last_epoch : phase;
  if (output_.description.checksums) output_.checksums = Checksums(SumsState::recorded);
  // Those of what was written before are gone.
  if (output_.description.checksums && (output_.inherited || output_.description.is_bytes)) output_.checksums.lose();
  highest_end_ = settled_end_ =
      std::max(output_.description.layout.header_bytes, output_.slot.highest_end.load(std::memory_order_acquire));
  if (output_.slot.error_claimed.load(std::memory_order_acquire) != 0 && output_.slot.error.load(std::memory_order_acquire) == 0 &&
      output_.ranks == Ranks::gone) {
    // Somebody was killed while saying what failed.
    output_.slot.error_claimed = 0;
    fail(base::Error(base::Errc::io, "'" + output_.trace.path + "' had failed when the job ended"));
  }
  if (output_.slot.forgotten.load(std::memory_order_acquire) == 0) return;
  const auto& variables = output_.description.layout.variables;
  if (std::any_of(variables.begin(), variables.end(), [](const auto& variable) { return variable.fill; })) {
    fail(base::Error(base::Errc::no_space,
                     "what was put of '" + output_.trace.path + "' is not known any more, so its holes cannot be filled: the journal "
                     "was too small for one step", "raise pool.budget"));
  }
}

// Which windows this node writes.
void OutputDrain::divide() {
  if (output_.description.is_bytes) return;
  const plan::FileShare& share = output_.description.share;
  if (share.nodes != static_cast<std::int64_t>(output_.pool.header().nodes) || share.request_bytes > request_bytes_) {
    throw base::Error(base::Errc::io, "what the pool says of which node writes '" + output_.trace.path + "' is damaged");
  }
  if (share.request_bytes != 0) request_bytes_ = share.request_bytes;
  output_.trace.request_bytes = request_bytes_;
  output_.trace.aggregators = share.aggregators;
  if (nodes_) nodes_->divide(output_.description.writers());
}

// The program may have renamed it since it was closed.
void OutputDrain::follow_new_name() {
  // Another node may have removed the file already.
  removed_ = output_.slot.is_renamed.load(std::memory_order_acquire) == pool::is_removed_output;
  const auto now = pool::new_name_of(output_.pool, output_.key);
  if (!now) return;
  removed_ = now->is_removed;
  if (!now->final_path.empty()) output_.description.names.final_path = now->final_path;
  if (!now->working_path.empty()) output_.description.names.working_path = now->working_path;
}

// What a drain has noted for the next one has no checksum. That it can be is the least.
void OutputDrain::check_notes() const {
  const pool::RanksOfOutput ranks = pool::ranks_of_output(output_.pool, output_.key.slot);
  const std::uint64_t steps = ranks.steps_ended, most = ranks.most_ended;
  if (output_.slot.state.load(std::memory_order_acquire) == pool::OutputState::open && output_.steps.written <= steps &&
      output_.steps.synchronized <= output_.steps.written && records_ <= steps &&
      output_.slot.highest_end.load(std::memory_order_acquire) <= store::whole_size(output_.description.layout, most + 1)) {
    return;
  }
  throw base::Error(base::Errc::io, "what the pool says of '" + output_.trace.path + "' is damaged");
}

void OutputDrain::open_file() {
  if (failed_) return;
  store::FileNames names = output_.description.names;
  const std::uint64_t inode = output_.slot.publishing_inode.load(std::memory_order_acquire);
  struct stat status {};
  const bool is_renamed = inode != 0 && stat(names.working_path.c_str(), &status) != 0 && errno == ENOENT;
  if (const auto published = is_renamed ? store::find_unclosed(names.final_path, inode) : std::nullopt) {
    // Perhaps not for good.
    names.working_path = names.final_path = *published;
    fixed_filled_ = true;
  } else if ((output_.ranks == Ranks::gone || was_kept_) && !is_left_unclosed() && is_newer(names.final_path, names.working_path)) {
    superseded_ = true;
    const char* const since = output_.ranks == Ranks::gone ? "the job had ended" : "it was closed";
    return fail(base::Error(base::Errc::exists, "a newer '" + names.final_path + "' was written after " + since));
  }
  const bool may_be_anothers = names.working_path == names.final_path;
  if (is_to_be_made(inode)) store::make_new_file(output_.calls, names, output_.description.metadata);
  file_ = std::make_unique<store::File>(output_.calls, std::move(names), output_.description.direct_io);
  const std::uint64_t before = output_.slot.working_inode.load(std::memory_order_acquire);
  if (may_be_anothers && before != 0 && before != file_->inode()) {
    file_.reset();
    return fail(base::Error(base::Errc::not_found, "'" + output_.trace.path + "' was removed or renamed, and another file has its name"));
  }
  if (output_.description.ranks_write || output_.description.is_bytes || nodes_) file_->share();
  output_.slot.working_device.store(file_->device(), std::memory_order_relaxed);
  const auto descriptor = static_cast<std::uint32_t>(file_->buffered_descriptor());
  output_.slot.working_descriptor.store(static_cast<std::uint64_t>(getpid()) << 32 | descriptor, std::memory_order_relaxed);
  output_.slot.working_inode.store(file_->inode(), std::memory_order_release);
  pool::note_written_file(output_.pool, file_->device(), file_->inode());
  if (nodes_ || !output_.description.is_bytes) pool::futex_signal(output_.pool.header().progress);   // a rank waits for it
}

// A raw output is made by the rank that opens it.
bool OutputDrain::is_to_be_made(std::uint64_t publishing_inode) const {
  const pool::OutputSlot& slot = output_.slot;
  const bool is_untouched = slot.working_inode.load(std::memory_order_acquire) == 0 && publishing_inode == 0 &&
                            output_.steps.written == 0 && slot.highest_end.load(std::memory_order_acquire) == 0;
  return is_untouched && publishes() && !output_.description.is_bytes;
}

void OutputDrain::take_moved() {
  if (failed_ || postponed_ || !log_.has_inherited()) return;
  try {
    for (KeptPut& put : log_.take_inherited()) {
      if (put.variable >= output_.description.layout.variables.size()) {
        throw base::Error(base::Errc::io, "what was kept of the records of '" + output_.trace.path + "' is damaged");
      }
      const bool undone = is_undone(put.step);
      const std::uint64_t until = undone ? no_step : kept_for(put);
      if (undone ? undo(put) : take_claim(put)) log_.keep(until, std::move(put));
    }
  } catch (const base::Error& error) {
    return fail(error);
  }
  log_.release_chunks_if_unused();
}

void OutputDrain::take_kept(const pool::Record& record, pool::JournalReader& journal) {
  if (record.origin == pool::Origin::node) return output_.retire({&record, &journal});   // the first of its put says all
  const KeptPut put = kept_put(output_.pool, record, journal.rank());
  const bool undone = is_undone(record.step);
  if (!undone && record.place == pool::PayloadPlace::file && record.state == pool::RecordState::live) {
    // It is in the file when its rank ends the step, and before that the step is not looked at.
    output_.checksums.lose();
    output_.trace.bytes += record.elements * mesh::size_of(output_.description.layout.variables[record.variable].external);
    output_.saw_capture(record);
  }
  if (!(undone ? undo(put) : take_claim(put))) return output_.retire({&record, &journal});
  // What the drain before was just moving has not arrived.
  if (record.state == pool::RecordState::moving) journal.mark(record, pool::RecordState::written);
  log_.keep(undone ? no_step : kept_for(put), TakenRecord{&record, &journal});
}

bool OutputDrain::take_claim(const KeptPut& put) {
  const auto& variable = output_.description.layout.variables[put.variable];
  if (kept_for(put) != no_step && put.step < output_.steps.written) return false;
  const store::Piece piece(variable, variable.per_step() ? put.step : 0, put.box, put.first, put.elements);
  if (output_.ranks == Ranks::gone && !nodes_ && piece.file_extent().end > file_->current_size()) {
    throw base::Error(base::Errc::io, "what was put of '" + variable.name + "' of '" + output_.trace.path + "' is not in the file");
  }
  claim(put);
  if (put.step < output_.steps.written) return true;
  StepReach& reach = reaches_[put.step];
  reach.end = std::max(reach.end, piece.file_extent().end);
  reach.has_records |= variable.per_step();
  highest_end_ = std::max(highest_end_, reach.end);
  return true;
}

// --- when nobody captures any more

// What a complete file would not have.
bool OutputDrain::undo(const KeptPut& put) {
  const auto& variable = output_.description.layout.variables[put.variable];
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
  if (output_.description.is_bytes) return judge_bytes_without_ranks(all_closed);
  if (nodes_) {   // what the nodes have found together
    steps = std::min(steps, static_cast<std::uint32_t>(output_.slot.job_steps_ended.load(std::memory_order_acquire)));
    most = std::max(most, static_cast<std::uint32_t>(nodes_->steps_begun()));
    all_closed = nodes_->have_all_closed();
  }
  // Of a closed output all steps are there, or it was closed wrongly.
  output_.steps.ended = output_.steps.complete = steps;
  output_.trace.had_complete_steps = steps != 0;
  output_.steps.begun = all_closed ? most : steps;
  output_.all_closed = true;
  if (all_closed || failed_ || postponed_) return;   // the first reason stays
  const std::vector<int> ranks_behind = pool::ranks_before_step(output_.pool, output_.key.slot, steps + 1);
  const std::string behind = ranks_behind.empty() ? "ranks of another node" : base::readable_ranks(ranks_behind);
  if (most != steps) output_.trace.note = "step " + std::to_string(steps) + " is not there: " + behind + " had not ended it";
  if (steps == 0) {
    fail(base::Error(base::Errc::invalid_state, "'" + output_.trace.path + "' has no complete step: " + behind +
                                                    " had not ended step 0 when the job ended"));
  } else if (output_.slot.forgotten.load(std::memory_order_acquire) != 0) {
    fail(base::Error(base::Errc::no_space,
                     "what was written of the unfinished step " + std::to_string(steps) + " of '" + output_.trace.path +
                     "' cannot be undone: the journal was too small for one step", "raise pool.budget"));
  }
}

}  // namespace glean::drain
