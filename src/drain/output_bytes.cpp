// SPDX-License-Identifier: BSD-3-Clause
//
// An output that is nothing but bytes, written where and as often as ranks like (MPI-IO). Its writes are numbered in the order in
// which they were made, whoever made them, and take effect in this order: the latest write of a byte wins.
//
// What a rank has written itself (place `file`) is in the file when its record comes, as all before it are, and those after it are not.
//
// Writes that touch one window are gathered, and at most one request of a window is on its way. A record is retired when its
// write and all before it are in the file: so a drain that takes over writes the rest again, in order, over whatever is there.
#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "drain/output_drain.hpp"
#include "pool/epochs.hpp"
#include "pool/futex.hpp"

namespace glean::drain {

namespace {

const store::VariableLayout& byte_variable() {
  static const store::VariableLayout variable = [] {
    store::VariableLayout layout;
    layout.name = "bytes";
    layout.external = mesh::Type::uint8;
    return layout;
  }();
  return variable;
}

}  // namespace

bool OutputDrain::takes(const pool::Record& record) {
  if (!description_.is_bytes || failed_ || postponed_) return true;
  const auto stamp = pool::WriteStamp::of(record.step);
  return stamp.number < next_write_ || (stamp.number == next_write_ && is_epoch_open(stamp.epoch));
}

bool OutputDrain::waits_for_write_before(std::uint64_t write) const {
  return description_.is_bytes && !failed_ && !postponed_ && next_write_ < write;
}

// They may stand in a journal behind what waits for a write of another output.
bool OutputDrain::lacks_writes() const { return waits_for_write_before(pool::writes_begun(slot_)); }

void OutputDrain::pass_over_to(std::uint64_t write) {
  missing_writes_.emplace(next_write_, write);
  next_write_ = write;
  retire_writes();
}

void OutputDrain::on_bytes(const pool::Record& record, pool::JournalReader& journal) {
  // A drain before this one was killed while it retired it.
  const auto stamp = pool::WriteStamp::of(record.step);
  if (stamp.number < next_write_) return retire(record, journal);
  const auto pattern = mesh::Pattern::decode({record.box(), 2 * std::size_t{record.dimensions}});
  const bool in_file = record.place == pool::PayloadPlace::file;
  if (!pattern || record.memory_type != static_cast<std::uint8_t>(mesh::Type::uint8) || record.state != pool::RecordState::live ||
      (!in_file && record.payload_bytes < record.elements)) {
    throw base::Error(base::Errc::io, "damaged journal record of '" + trace_.path + "'");
  }
  if (pool_.is_shared()) saw_epoch(stamp);
  if (in_file) {   // its rank has waited for all before it
    ++next_write_;
    trace_.bytes += record.elements;
    trace_.written_ns = base::now_ns();
    saw_capture(record);
    done_writes_.emplace(stamp.number, Kept{&record, &journal});
    return retire_writes();
  }
  auto pending = std::make_unique<PendingPiece>(PendingPiece{
      Piece(mesh::PatternPart(*pattern, record.first_element, record.elements)), &record, &journal,
      pool_.job_rank(record, journal.rank()), 0, &byte_variable(),
      store::converter(mesh::Type::uint8, mesh::Type::uint8, store::Format::cdf5),
      record.place == pool::PayloadPlace::pool ? pool_.at(record.payload_offset) : nullptr, 1, record.elements});
  ++next_write_;
  unreserved_bytes_ += record.elements;
  gather(*pending);
  ++unwritten_[0];
  reaches_.try_emplace(0);
  saw_capture(record);
  pieces_.emplace(&record, std::move(pending));
}

void OutputDrain::bytes_written(const PendingPiece& pending) {
  done_writes_.emplace(pool::WriteStamp::of(pending.record->step).number, Kept{pending.record, pending.journal});
  retire_writes();
  // What comes may reach less far: the file may have been cut.
  if (pieces_.size() == 1) highest_end_ = 0;
}

void OutputDrain::retire_writes() {
  const std::uint64_t before = writes_written_;
  for (;;) {
    if (const auto gap = missing_writes_.extract(writes_written_)) {
      writes_written_ = gap.mapped();
      slot_.writes_written.store(writes_written_, std::memory_order_release);
    } else if (const auto done = done_writes_.extract(writes_written_)) {
      ++writes_written_;
      // First: whoever takes over must not wait for a record that is gone.
      slot_.writes_written.store(writes_written_, std::memory_order_release);
      retire(*done.mapped().record, *done.mapped().journal);
    } else {
      break;
    }
  }
  const std::uint64_t wanted = slot_.write_up_to.load(std::memory_order_acquire);
  // All that has come is in the file: the next one may be a rank's that waits for its turn.
  const bool turn = writes_written_ == next_write_;
  if (before < std::min(wanted, writes_written_) && (turn || writes_written_ >= wanted)) pool::futex_signal(pool_.header().progress);
}

void OutputDrain::is_written(std::uint64_t window) {
  windows_on_their_way_.erase(window);
  const auto it = gathered_.find(window);
  if (it != gathered_.end() && it->second.bytes >= request_bytes_) full_windows_.insert(window);
}

// There are no steps: windows are written as soon as they are full, and all others when somebody wants them in the file.
void OutputDrain::write_bytes() {
  if (closed_here_ || slot_.write_up_to.load(std::memory_order_acquire) > writes_written_) {
    full_windows_.clear();
    return relieve(Relief::everything);
  }
  if (full_windows_.empty() || !reserve()) return;
  for (const std::uint64_t window : std::exchange(full_windows_, {})) {
    if (const auto it = gathered_.find(window); it != gathered_.end()) queue_window(it);
  }
}

bool OutputDrain::is_read_soon() const {
  return slot_.read_up_to.load(std::memory_order_acquire) > slot_.writes_written.load(std::memory_order_acquire);
}

bool OutputDrain::is_wanted() const {
  return slot_.write_up_to.load(std::memory_order_acquire) > slot_.writes_written.load(std::memory_order_acquire);
}

bool OutputDrain::is_left_by_all() const {
  for (int rank = 0; rank < static_cast<int>(pool_.header().ranks); ++rank) {
    if ((pool_.rank_progress(key_.slot, rank).load(std::memory_order_acquire) & pool::rank_closed) == 0) return false;
  }
  return true;
}

// Not while a rank opens the file under the name that it has, unless it is gone.
bool OutputDrain::locks_name() {
  std::uint32_t holder = 0;
  do {
    const bool is_rank = holder != 0 && holder != pool::name_changes && ranks_ == Ranks::working;
    if (is_rank && pool_.process_of_rank(static_cast<int>(holder) - 1) != 0) return false;
  } while (!slot_.name_lock.compare_exchange_strong(holder, pool::name_changes));
  return true;
}

// Of a file that not all ranks have closed it cannot be said whether it is what they meant. One that is written in place is there
// whatever comes, so it gets all that was captured.
void OutputDrain::judge_bytes_without_ranks(bool all_closed) {
  steps_ended_ = steps_complete_ = steps_begun_ = 1;
  closed_here_ = true;
  if (pool_.is_shared()) all_closed = slot_.job_closed.load(std::memory_order_acquire) != 0;   // as the nodes have found together
  const bool in_place = description_.names.working_path == description_.names.final_path;
  trace_.had_complete_steps = all_closed || (in_place && pool::writes_begun(slot_) != 0);
  if (all_closed || failed_ || postponed_) return;
  std::string open;
  for (int rank = 0; rank < static_cast<int>(pool_.header().ranks); ++rank) {
    const bool closed = (pool_.rank_progress(key_.slot, rank).load(std::memory_order_acquire) & pool::rank_closed) != 0;
    if (!closed) open += (open.empty() ? "" : ", ") + std::to_string(pool_.job_rank(rank));
  }
  if (open.empty()) open = "of another node";
  const std::string why = "rank(s) " + open + " had not closed it when the job was killed";
  if (in_place) trace_.note = why + "; all that was captured is in it";
  else fail(base::Error(base::Errc::invalid_state, "'" + trace_.path + "' is not complete: " + why));
}

}  // namespace glean::drain
