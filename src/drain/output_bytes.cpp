// SPDX-License-Identifier: BSD-3-Clause
//
// An output that is nothing but bytes, written where and as often as ranks like (MPI-IO). Its writes are numbered in the order in
// which they were made, whoever made them, and taken in this order; they take effect in the order of their stamps (pool::WriteStamp): the
// latest write of a byte wins. On one node those of ranks that are ahead of others wait here until the others are in their phase.
//
// What a rank has written itself (place `file`) is in the file when its record comes, as all before it are, and those after it are not. A
// number that it has given up has such a record of no bytes.
//
// Writes that touch one window are gathered, and at most one request of a window is on its way. A record is retired when its write and
// all of lower stamps are in the file: so a drain that takes over writes the rest again, in order, over whatever is there.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "drain/output_drain.hpp"
#include "pool/epochs.hpp"
#include "pool/futex.hpp"
#include "pool/phases.hpp"

namespace glean::drain {

namespace {

const store::VariableLayout& byte_variable() {
  static const auto& variable = *[] {   // it is drained after destructors of statics, too
    auto* layout = new store::VariableLayout;
    layout->name = "bytes";
    layout->external = mesh::Type::uint8;
    return layout;
  }();
  return variable;
}

}  // namespace

bool OutputDrain::takes(const pool::Record& record) {
  if (!output_.description.is_bytes || failed_ || postponed_) return true;
  const auto stamp = pool::WriteStamp::of(record.step);
  return stamp.number < next_write_ || (stamp.number == next_write_ && is_epoch_open(stamp.epoch));
}

bool OutputDrain::waits_for_write_before(std::uint64_t write) const {
  return output_.description.is_bytes && !failed_ && !postponed_ && next_write_ < write;
}

// They may stand in a journal behind what waits for a write of another output.
bool OutputDrain::lacks_writes() const { return waits_for_write_before(pool::writes_begun(output_.slot)); }

void OutputDrain::pass_over_to(std::uint64_t write) {
  pass(next_write_, write);
  next_write_ = write;
  settle_writes();
}

void OutputDrain::on_bytes(const pool::Record& record, pool::JournalReader& journal) {
  // A drain before this one was killed while it retired it.
  const auto stamp = pool::WriteStamp::of(record.step);
  if (stamp.number < next_write_) return output_.retire({&record, &journal});
  const auto pattern = mesh::Pattern::decode({record.box(), 2 * std::size_t{record.dimensions}});
  const bool in_file = record.place == pool::PayloadPlace::file;
  if (!pattern || record.memory_type != static_cast<std::uint8_t>(mesh::Type::uint8) || record.state != pool::RecordState::live ||
      (!in_file && record.payload_bytes < record.elements)) {
    throw base::Error(base::Errc::io, "damaged journal record of '" + output_.trace.path + "'");
  }
  if (nodes_) saw_epoch(stamp);
  if (in_file) {
    ++next_write_;
    output_.trace.bytes += record.elements;
    output_.trace.written_ns = base::now_ns();
    output_.saw_capture(record);
    done_writes_.emplace(record.step, TakenRecord{&record, &journal});
    return settle_writes();
  }
  auto pending = std::make_unique<PendingPiece>(PendingPiece{
      {store::Piece(mesh::PatternPart(*pattern, record.first_element, record.elements)), &byte_variable(),
       store::converter(mesh::Type::uint8, mesh::Type::uint8),
       record.place == pool::PayloadPlace::pool ? output_.pool.at(record.payload_offset) : nullptr, 1},
      {&record, &journal}, output_.pool.job_rank(record, journal.rank()), 0, record.elements});
  ++next_write_;
  unwritten_writes_.emplace(record.step, pending.get());
  if (stamp.epoch <= open_phase_) gather_write(*pending);
  ++unwritten_[0];
  reaches_.try_emplace(0);
  output_.saw_capture(record);
  pieces_.emplace(&record, std::move(pending));
}

void OutputDrain::bytes_written(const PendingPiece& pending) {
  unwritten_writes_.erase(pending.record->step);
  done_writes_.emplace(pending.record->step, pending);
  settle_writes();
  // What comes may reach less far: the file may have been cut.
  if (pieces_.size() == 1) highest_end_ = 0;
}

// A phase is open when all ranks are in it or in a later one, and all that was written in earlier ones has been taken.
void OutputDrain::look_at_phases() {
  if (next_phase_ || !output_.description.is_bytes || nodes_) return;
  const std::uint64_t phase = output_.ranks == Ranks::gone ? pool::last_phase : pool::least_phase(output_.pool, output_.key.slot);
  // In this order: what is numbered later is not earlier.
  if (phase > open_phase_) next_phase_ = {phase, pool::writes_begun(output_.slot)};
}

void OutputDrain::open_phases() {
  for (look_at_phases(); next_phase_ && next_phase_->number <= next_write_; look_at_phases()) {
    auto next = unwritten_writes_.lower_bound(pool::WriteStamp{open_phase_ + 1, 0}.word());
    open_phase_ = next_phase_->phase;
    next_phase_.reset();
    for (; next != unwritten_writes_.end(); ++next) {
      const auto stamp = pool::WriteStamp::of(next->first);
      if (stamp.epoch > open_phase_) break;
      gather_write(*next->second);
      if (stamp.number < done_up_to_) done_up_to_ = stamp.number;
    }
  }
}

void OutputDrain::gather_write(PendingPiece& pending) {
  unreserved_bytes_ += pending.record->elements;
  gather(pending);
}

void OutputDrain::settle_writes() {
  while (!done_writes_.empty() && (unwritten_writes_.empty() || done_writes_.begin()->first < unwritten_writes_.begin()->first)) {
    const auto done = done_writes_.extract(done_writes_.begin());
    const std::uint64_t number = pool::WriteStamp::of(done.key()).number;
    pass(number, number + 1);
    output_.retire(done.mapped());
  }
}

void OutputDrain::pass(std::uint64_t first, std::uint64_t end) {
  if (const auto behind = passed_writes_.extract(end)) end = behind.mapped();
  if (first == writes_written_) {
    output_.slot.writes_written = writes_written_ = end;   // before the look at who waits for it
    return;
  }
  const auto after = passed_writes_.lower_bound(first);
  if (after != passed_writes_.begin() && std::prev(after)->second == first) std::prev(after)->second = end;
  else passed_writes_.emplace(first, end);
}

// To ranks that wait for it.
void OutputDrain::tell_written() {
  const std::uint64_t first = unwritten_writes_.empty() ? 0 : unwritten_writes_.begin()->first;
  const bool all_open_are = unwritten_writes_.empty() || pool::WriteStamp::of(first).epoch > open_phase_;
  const std::uint64_t before = all_open_are ? pool::WriteStamp{open_phase_, next_write_}.word() : first;
  const bool more = pool::raise(output_.slot.written_before, before) || writes_written_ != told_written_;
  told_written_ = writes_written_;
  done_up_to_ = std::max<std::uint64_t>(done_up_to_, all_open_are ? next_write_ : writes_written_);
  if (more && output_.slot.waiting_for_writes.load() != 0) pool::futex_signal(output_.pool.header().progress);
}

void OutputDrain::is_written(std::uint64_t window) {
  windows_on_their_way_.erase(window);
  const auto it = gathered_.find(window);
  if (it != gathered_.end() && it->second.bytes >= request_bytes_) full_windows_.insert(window);
}

void OutputDrain::drop_writes() {
  for (const auto& [stamp, done] : std::exchange(done_writes_, {})) output_.retire(done);
  unwritten_writes_.clear();
}

void OutputDrain::write_bytes() {
  open_phases();
  queue_windows_of_bytes();
  tell_written();
}

// There are no steps: windows are written as soon as they are full, and all others when somebody wants them in the file.
void OutputDrain::queue_windows_of_bytes() {
  if (closed_here_ || is_wanted()) {
    full_windows_.clear();
    return relieve(Relief::everything);
  }
  if (full_windows_.empty() || !may_change_file() || !reserve()) return;
  for (const std::uint64_t window : std::exchange(full_windows_, {})) {
    if (const auto it = gathered_.find(window); it != gathered_.end()) queue_window(it);
  }
}

bool OutputDrain::is_read_soon() const { return output_.slot.read_up_to.load(std::memory_order_acquire) > done_up_to_; }

bool OutputDrain::is_wanted() const { return output_.slot.write_up_to.load(std::memory_order_acquire) > done_up_to_; }

bool OutputDrain::is_left_by_all() const { return pool::ranks_of_output(output_.pool, output_.key.slot).all_closed; }

// Not while a rank opens the file under the name that it has, unless it is gone.
bool OutputDrain::locks_name() {
  std::uint32_t holder = 0;
  do {
    const bool is_rank = holder != 0 && holder != pool::name_changes && output_.ranks == Ranks::working;
    if (is_rank && output_.pool.process_of_rank(static_cast<int>(holder) - 1) != 0) return false;
  } while (!output_.slot.name_lock.compare_exchange_strong(holder, pool::name_changes));
  return true;
}

// Of a file that not all ranks have closed it cannot be said whether it is what they meant. One that is written in place is there
// whatever comes, and one that was synchronized was promised: these get all that was captured.
void OutputDrain::judge_bytes_without_ranks(bool all_closed) {
  output_.steps.ended = output_.steps.complete = output_.steps.begun = 1;
  closed_here_ = true;
  if (nodes_) all_closed = nodes_->have_all_closed();
  is_unclosed_ = is_left_unclosed();
  output_.trace.had_complete_steps = all_closed || is_unclosed_ || (is_in_place() && pool::writes_begun(output_.slot) != 0);
  if (all_closed || failed_ || postponed_) return;
  const std::vector<int> open = pool::ranks_with_output_open(output_.pool, output_.key.slot);
  const std::string why = (open.empty() ? "ranks of another node" : base::readable_ranks(open)) + " had not closed it when the job ended";
  if (is_in_place() || is_unclosed_) output_.trace.note = why + "; all that was captured is in it";
  else fail(base::Error(base::Errc::invalid_state, "'" + output_.trace.path + "' is not complete: " + why));
}

}  // namespace glean::drain
