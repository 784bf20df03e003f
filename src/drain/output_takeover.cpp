// SPDX-License-Identifier: BSD-3-Clause
//
// What makes an output survive its drain: what is kept in the pool for the one that comes after, and how that one goes on.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "drain/messages.hpp"
#include "drain/output_drain.hpp"
#include "pool/futex.hpp"

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
  try {
    description_ = OutputDescription::decode_names(description.bytes);
    trace_.path = description_.display_path;
    if (!description.complete) {
      throw base::Error(base::Errc::io, "'" + trace_.path + "' was just being opened when the job was killed");
    }
    description_ = OutputDescription::decode(description.bytes);
    check_notes();
  } catch (const base::Error& error) {
    return fail(error);
  }
  if (description_.checksums) checksums_ = Checksums(SumsState::recorded);
  if (description_.checksums && inherited_) checksums_.lose();   // those of what was written before are gone
  highest_end_ = settled_end_ =
      std::max(description_.layout.header_bytes, slot_.highest_end.load(std::memory_order_acquire));
  if (slot_.error_claimed.load(std::memory_order_acquire) != 0 && slot_.error.load(std::memory_order_acquire) == 0 &&
      ranks_ == Ranks::gone) {
    // Somebody was killed while saying what failed.
    slot_.error_claimed = 0;
    fail(base::Error(base::Errc::io, "'" + trace_.path + "' had failed when the job was killed"));
  }
  if (slot_.forgotten.load(std::memory_order_acquire) == 0) return;
  const auto& variables = description_.layout.variables;
  if (std::any_of(variables.begin(), variables.end(), [](const auto& variable) { return variable.fill; })) {
    fail(base::Error(base::Errc::no_space,
                     "what was put of '" + trace_.path + "' is not known any more, so its holes cannot be filled: the journal "
                     "was too small for one step", "raise pool.budget"));
  }
}

// What a drain has noted for the next one has no checksum. That it can be is the least.
void OutputDrain::check_notes() const {
  std::uint64_t steps = pool::rank_steps, most = 0;
  for (int rank = 0; rank < static_cast<int>(pool_.header().ranks); ++rank) {
    const std::uint64_t ended = pool_.rank_progress(key_.slot, rank).load(std::memory_order_acquire) & pool::rank_steps;
    steps = std::min(steps, ended);
    most = std::max(most, ended);
  }
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
  if (inode != 0 && stat(names.working_path.c_str(), &status) != 0 && errno == ENOENT &&
      stat(names.final_path.c_str(), &status) == 0 && status.st_ino == inode) {
    // It was renamed, but perhaps not for good.
    names.working_path = names.final_path;
    fixed_filled_ = true;
  } else if (ranks_ == Ranks::gone && is_newer(names.final_path, names.working_path)) {
    superseded_ = true;
    return fail(base::Error(base::Errc::exists, "a newer '" + trace_.path + "' was written after the job was killed"));
  }
  file_ = std::make_unique<store::File>(calls_, std::move(names), description_.direct_io);
  if (description_.ranks_write) file_->share();
}

void OutputDrain::take_kept(const pool::Record& record, pool::JournalReader& journal, const mesh::Box& box, int rank) {
  const auto& variable = description_.layout.variables[record.variable];
  if (record.place == pool::PayloadPlace::file && record.state == pool::RecordState::live) {
    // It is in the file when its rank ends the step, and before that the step is not looked at.
    checksums_.lose();
    trace_.bytes += record.elements * mesh::size_of(variable.external);
    saw_capture(record);
  }
  const bool needed = (variable.fill && !variable.per_step()) || record.step >= steps_written_;
  if (!needed) return retire(record, journal);
  const Piece piece(variable, variable.per_step() ? record.step : 0, box, record.first_element, record.elements);
  if (ranks_ == Ranks::gone && piece.file_extent().end > file_->current_size()) {
    throw base::Error(base::Errc::io, "what was put of '" + variable.name + "' of '" + trace_.path + "' is not in the file");
  }
  claim(record, box, rank);
  kept_[variable.fill && !variable.per_step() ? no_step : record.step].push_back({&record, &journal});
  if (record.step < steps_written_) return;
  StepReach& reach = reaches_[record.step];
  reach.end = std::max(reach.end, piece.file_extent().end);
  reach.has_records |= variable.per_step();
  highest_end_ = std::max(highest_end_, reach.end);
}

// --- keeping what the next one needs

void OutputDrain::written(const PendingPiece& pending) {
  const bool whole_file = pending.variable->fill && !pending.variable->per_step();
  if (!whole_file && !pending.variable->fill && pending.step < steps_staged_) return retire(*pending.record, *pending.journal);
  spill_.give_payload_back(*pending.record, *pending.journal);
  space_returned_ = true;
  kept_[whole_file ? no_step : pending.step].push_back({pending.record, pending.journal});
}

void OutputDrain::settle(std::uint64_t step) {
  if (const auto it = reaches_.find(step); it != reaches_.end()) {
    settled_end_ = std::max(settled_end_, it->second.end);
    if (it->second.has_records) records_ = std::max(records_, step + 1);
    reaches_.erase(it);
  }
  slot_.records.store(records_, std::memory_order_release);
  slot_.highest_end.store(settled_end_, std::memory_order_release);
}

void OutputDrain::release_kept(std::uint64_t step) {
  const auto kept = kept_.extract(step);
  for (const Kept& each : kept.mapped()) retire(*each.record, *each.journal);
}

void OutputDrain::forget_kept_records() {
  for (auto& [step, kept] : kept_) {
    std::erase_if(kept, [&](const Kept& each) {
      if (!each.journal->is_full()) return false;
      // What they say about the reach of the file is kept; what they say about holes is not.
      slot_.forgotten.store(1, std::memory_order_release);
      slot_.highest_end.store(std::max(slot_.highest_end.load(), highest_end_), std::memory_order_release);
      retire(*each.record, *each.journal);
      return true;
    });
  }
  std::erase_if(kept_, [](const auto& entry) { return entry.second.empty(); });
}

// --- when nobody captures any more

// What a complete file would not have.
void OutputDrain::undo(const pool::Record& record, pool::JournalReader& journal, const mesh::Box& box, int rank) {
  const auto& variable = description_.layout.variables[record.variable];
  // Records that are not complete are cut off, and where nothing was put fill values go.
  if (variable.per_step() || variable.fill) return retire(record, journal);
  auto zeros = std::make_unique<store::VariableLayout>(variable);
  zeros->fill_value = {};
  const Piece piece(variable, 0, box, record.first_element, record.elements);
  claim(record, box, rank);   // zeros must not go where complete steps have put something
  // What lies behind the end of the file reads as nothing anyway.
  const Bytes file_bytes = file_->current_size();
  piece.for_each_run({0, file_bytes}, [&](Piece::Run run) {
    const Bytes end = run.file_offset + run.elements * mesh::size_of(variable.external);
    const Extent extent{run.file_offset, std::min(file_bytes, end)};
    for (std::uint64_t index = extent.begin / request_bytes_; index * request_bytes_ < extent.end; ++index) {
      Window& window = gathered_[index];
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
  kept_[no_step].push_back({&record, &journal});   // until the zeros are safe
}

void OutputDrain::judge_without_ranks(std::uint32_t steps, std::uint32_t most, bool all_closed) {
  if (std::exchange(judged_, true)) return;
  // Of a closed output all steps are there, or it was closed wrongly.
  steps_complete_ = steps;
  steps_begun_ = all_closed ? most : steps;
  all_closed_ = true;
  if (all_closed || failed_ || postponed_) return;   // the first reason stays
  std::string behind;
  for (int rank = 0; rank < static_cast<int>(pool_.header().ranks); ++rank) {
    const std::uint32_t progress = pool_.rank_progress(key_.slot, rank).load(std::memory_order_acquire);
    if ((progress & pool::rank_steps) == steps) behind += (behind.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (most != steps) {
    trace_.note = "step " + std::to_string(steps) + " is not there: rank(s) " + behind + " had not ended it";
  }
  if (steps == 0) {
    fail(base::Error(base::Errc::invalid_state, "'" + trace_.path + "' has no complete step: rank(s) " + behind +
                                                    " had not ended step 0 when the job was killed"));
  } else if (slot_.forgotten.load(std::memory_order_acquire) != 0) {
    fail(base::Error(base::Errc::no_space,
                     "what was written of the unfinished step " + std::to_string(steps) + " of '" + trace_.path +
                     "' cannot be undone: the journal was too small for one step", "raise pool.budget"));
  }
}

void OutputDrain::storage_failed(const base::Error& error) {
  const bool lost = ranks_ == Ranks::working || failed_ || error.code() == base::Errc::not_found ||
                    (file_ != nullptr && !file_->is_trusted());
  if (lost) return fail(error);
  trace_.state = "postponed";
  trace_.note = error.what();
  postponed_ = true;
  waiting_bytes_ = 0;
  gathered_.clear();
  const auto mine = [this](const Job& job) { return job.output == this; };
  jobs_in_flight_ -= static_cast<int>(std::count_if(jobs_.begin(), jobs_.end(), mine));
  std::erase_if(jobs_, mine);
  finished_ = jobs_in_flight_ == 0;
}

}  // namespace glean::drain
