// SPDX-License-Identifier: BSD-3-Clause
#include "drain/stream.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "drain/consumers.hpp"
#include "drain/node_share.hpp"
#include "pool/collective_count.hpp"
#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"

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

// Where the bytes of a record go in the file; nothing when it is damaged.
std::optional<store::Piece> piece_of(const pool::Pool& pool, const pool::Record& record) try {
  const std::span<const std::uint64_t> words(record.box(), 2 * std::size_t{record.dimensions});
  if (const auto list = mesh::RecordedRunList::decode(words); list && record.place == pool::PayloadPlace::pool) {
    return store::Piece(list->in({pool.at(record.payload_offset), record.payload_bytes}, record.elements));
  }
  auto pattern = mesh::Pattern::decode(words);
  if (!pattern || record.payload_bytes < record.elements) return std::nullopt;
  return store::Piece(mesh::PatternPart(*std::move(pattern), record.first_element, record.elements));
} catch (const base::Error&) {
  return std::nullopt;
}

// Of bytes that are in the file already, if any.
bool has_place(const pool::Record& record) {
  const auto pattern = mesh::Pattern::decode({record.box(), 2 * std::size_t{record.dimensions}});
  const Bytes bytes = pattern ? pattern->bytes() : 0;
  return record.elements <= bytes && record.first_element <= bytes - record.elements;
}

}  // namespace

Stream::Stream(DrainedOutput& output, OutputWork& work, OutputLife& life, OutputFile& file, KeptPuts& kept)
    : output_(output), work_(work), life_(life), file_(file), kept_(kept) {
  if (output.nodes != nullptr) clock_.emplace(output);
  work.let_overlap();
}

void Stream::take_over() {
  StepCounts& steps = output_.steps;
  steps.staged = steps.written = steps.synchronized = 0;   // its one step is closing it, which is judged anew
  output_.checksums.lose();                                // of what was written before they are gone
  next_write_ = writes_written_ = told_written_ = output_.slot.writes.written.load(std::memory_order_acquire);
  done_up_to_ = writes_written_;
  if (output_.description.share.first != 0) work_.divide();   // among stagers
  // All of earlier counts were in the file. Of several nodes the clock says so instead.
  const auto before = pool::WriteStamp::of(output_.slot.writes.written_before.load(std::memory_order_acquire));
  open_count_ = clock_ ? pool::WriteStamp::last_order : before.order;
}

// --- taking writes

bool Stream::takes(const pool::Record& record) {
  const auto stamp = pool::WriteStamp::of(record.step);
  if (!again_.empty() && stamp.number >= next_write_) return false;   // it is later
  return stamp.number < next_write_ || (stamp.number == next_write_ && (!clock_ || clock_->is_open(stamp)));
}

// They may stand in a journal behind what waits for a write of another output.
bool Stream::lacks_writes() const { return !again_.empty() || waits_for_write_before(pool::writes_begun(output_.slot)); }

void Stream::pass_over_to(std::uint64_t write) {
  pass(next_write_, write);
  next_write_ = write;
  settle();
}

void Stream::on_put(const TakenRecord& taken) {
  const pool::Record& record = *taken.record;
  const auto stamp = pool::WriteStamp::of(record.step);
  const bool is_kept = output_.is_kept_until_durable();
  const bool is_durable = is_kept && stamp.order < output_.slot.writes.job_durable_tick.load(std::memory_order_acquire);
  if (stamp.number < next_write_ && is_kept && !is_durable) return kept_.keep(stamp.order, {taken, stamp.number});   // it was sent
  // A drain before this one was killed while it retired it.
  if (stamp.number < next_write_) return output_.retire(taken);
  if (is_durable) {   // ranks may have cut the file since
    pass(stamp.number, ++next_write_);
    return output_.retire(taken);
  }
  const bool in_file = record.place == pool::PayloadPlace::file;
  auto piece = in_file ? std::nullopt : piece_of(output_.pool, record);
  const bool is_sound = record.memory_type == static_cast<std::uint8_t>(mesh::Type::uint8) && record.state == pool::RecordState::live;
  if (!is_sound || (in_file ? !has_place(record) : !piece)) {
    throw base::Error(base::Errc::io, "damaged journal record of '" + output_.trace.path + "'");
  }
  if (clock_) clock_->took(stamp);
  output_.consumers.saw(output_, taken);
  output_.saw_capture(record);
  ++next_write_;
  if (in_file) {
    output_.trace.bytes += record.elements;
    output_.trace.written_ns = base::now_ns();
    done_.emplace(record.step, taken);
    return settle();
  }
  auto pending = pending_of(taken, *std::move(piece));
  pending->unwritten_bytes = record.elements;
  unwritten_.emplace(record.step, pending.get());
  if (stamp.order <= open_count_) gather(*pending);
  work_.keep(std::move(pending));
}

std::unique_ptr<PendingPiece> Stream::pending_of(const TakenRecord& taken, store::Piece piece) const {
  const pool::Record& record = *taken.record;
  const std::byte* const payload = record.place == pool::PayloadPlace::pool ? output_.pool.at(record.payload_offset) : nullptr;
  return std::make_unique<PendingPiece>(PendingPiece{
      {std::move(piece), &byte_variable(), store::converter(mesh::Type::uint8, mesh::Type::uint8), payload, 1, true},
      taken, output_.pool.job_rank(record, taken.journal->rank()), 0});
}

void Stream::gather(PendingPiece& pending) {
  work_.need(pending.record->elements);
  work_.gather(pending);
}

// --- to a stager that has lost what it had

// All that is not durable, as if it had not been sent: what other nodes have written in the same ticks goes there again, too, and each tick
// after all earlier ones. A byte more than it has to write keeps a piece until its turn comes.
void Stream::send_again(int node) {
  again_to_.insert(node);
  for (const int each : again_to_) {
    output_.nodes->begin_again(each, [&](const pool::Record* record) { return work_.find(record); });
  }
  std::vector<TakenRecord> sent;
  for (const KeptPuts::Kept& kept : kept_.take_all()) sent.push_back(kept.taken);
  for (const auto& [stamp, done] : std::exchange(done_, {})) {
    if (done.record->place == pool::PayloadPlace::file) output_.retire(done);   // of no bytes
    else sent.push_back(done);
  }
  for (const TakenRecord& taken : sent) {
    auto pending = pending_of(taken, piece_of(output_.pool, *taken.record).value());   // it was sound
    unwritten_.emplace(taken.record->step, pending.get());
    work_.keep(std::move(pending));
  }
  for (const auto& [stamp, pending] : unwritten_) {
    if (again_.emplace(stamp, pending).second) ++pending->unwritten_bytes;
  }
  count_again();
}

// How far this node and all nodes are: what they have said before is not true of that stager.
void Stream::count_again() {
  pool::SlotWrites& writes = output_.slot.writes;
  output_.slot.nodes.steps_sent = 0;
  writes.job_sent_tick = writes.job_written_tick = 0;
  if (again_.empty()) return;
  const auto first = pool::WriteStamp::of(again_.begin()->first), last = pool::WriteStamp::of(again_.rbegin()->first);
  passed_.clear();
  if (last.number + 1 < next_write_) passed_.emplace(last.number + 1, next_write_);
  writes.written = writes_written_ = first.number;
  clock_->begin_again(first);
  for (const auto& [stamp, pending] : again_) clock_->took(pool::WriteStamp::of(stamp));
}

void Stream::send_next_again() {
  if (again_.empty()) return;
  bool any = false;
  while (!again_.empty() && clock_->is_open(pool::WriteStamp::of(again_.begin()->first))) {
    const auto next = again_.extract(again_.begin());
    PendingPiece& pending = *next.mapped();
    const bool is_durable = pool::WriteStamp::of(next.key()).order < output_.slot.writes.job_durable_tick.load(std::memory_order_acquire);
    for (const int node : again_to_) {
      if (!is_durable) work_.gather_again(pending, node);
    }
    any = true;
    if (--pending.unwritten_bytes != 0) continue;
    written(pending);   // nothing of it is there
    work_.forget(pending);
  }
  if (again_.empty()) again_to_.clear();
  if (any) pool::futex_signal(output_.pool.header().progress);   // for the exchange, which sends them
}

// --- collective counts of one node

// A count is open when all ranks have made as many collective calls or more, and all that was written before has been taken.
void Stream::look_at_counts() {
  if (next_count_ || clock_) return;
  const std::uint64_t count =
      output_.ranks == Ranks::gone ? pool::last_collective_count : pool::least_collective_count(output_.pool, output_.key.slot);
  // In this order: what is numbered later is not earlier.
  if (count > open_count_) next_count_ = {count, pool::writes_begun(output_.slot)};
}

void Stream::open_counts() {
  for (look_at_counts(); next_count_ && next_count_->number <= next_write_; look_at_counts()) {
    auto next = unwritten_.lower_bound(pool::WriteStamp{open_count_ + 1, 0}.word());
    open_count_ = next_count_->count;
    next_count_.reset();
    for (; next != unwritten_.end(); ++next) {
      const auto stamp = pool::WriteStamp::of(next->first);
      if (stamp.order > open_count_) break;
      gather(*next->second);
      if (stamp.number < done_up_to_) done_up_to_ = stamp.number;
    }
  }
}

// --- writing

// There are no steps: windows are written as soon as they are full, and all others when a rank wants them in the file.
void Stream::progress() {
  open_counts();
  send_next_again();
  StepCounts& steps = output_.steps;
  const bool is_staged = steps.staged == steps.complete;
  // All writes of it, not only of those that were there when ranks closed it: some wait in journals for others.
  if (steps.complete != 0 && !lacks_writes() && !std::exchange(consumers_know_, true)) output_.consumers.complete(output_, 0);
  steps.staged = steps.complete;
  life_.hand_out(closed_here_ || is_wanted() || !is_staged ? Relief::everything : Relief::full_windows);
  tell_written();
  if (unwritten_.empty() && !lacks_writes()) steps.written = steps.staged;
}

void Stream::written(PendingPiece& pending) {
  unwritten_.erase(pending.record->step);
  done_.emplace(pending.record->step, pending);
  settle();
  // What comes may reach less far: the file may have been cut.
  if (unwritten_.empty()) work_.reach_no_further_than(0);
}

void Stream::settle() {
  while (!done_.empty() && (unwritten_.empty() || done_.begin()->first < unwritten_.begin()->first)) {
    const auto done = done_.extract(done_.begin());
    const auto stamp = pool::WriteStamp::of(done.key());
    const bool is_kept = output_.is_kept_until_durable();
    pass(is_kept ? writes_written_ : stamp.number, stamp.number + 1);   // what is kept is in the order of its numbers
    if (is_kept && done.mapped().record->place != pool::PayloadPlace::file) kept_.keep(stamp.order, {done.mapped(), stamp.number});
    else output_.retire(done.mapped());
  }
}

void Stream::pass(std::uint64_t first, std::uint64_t end) {
  if (const auto behind = passed_.extract(end)) end = behind.mapped();
  if (first == writes_written_) {
    output_.slot.writes.written = writes_written_ = end;   // before the look at which ranks wait for it
    return;
  }
  const auto after = passed_.lower_bound(first);
  if (after != passed_.begin() && std::prev(after)->second == first) std::prev(after)->second = end;
  else passed_.emplace(first, end);
}

// To ranks that wait for it.
void Stream::tell_written() {
  const std::uint64_t first = unwritten_.empty() ? 0 : unwritten_.begin()->first;
  const bool all_open_are = unwritten_.empty() || pool::WriteStamp::of(first).order > open_count_;
  const std::uint64_t before = all_open_are ? pool::WriteStamp{open_count_, next_write_}.word() : first;
  const bool more = pool::raise(output_.slot.writes.written_before, before) || writes_written_ != told_written_;
  told_written_ = writes_written_;
  done_up_to_ = std::max<std::uint64_t>(done_up_to_, all_open_are ? next_write_ : writes_written_);
  if (more && is_waited_for()) pool::futex_signal(output_.pool.header().progress);
}

void Stream::tell_nodes() { clock_->tell_written(writes_written_, next_write_); }

void Stream::drop() {
  for (const auto& [stamp, done] : std::exchange(done_, {})) output_.retire(done);
  unwritten_.clear();
  again_.clear();
  again_to_.clear();
}

// --- closing

void Stream::look(const pool::RanksOfOutput& ranks) {
  look_at_counts();
  const bool is_whole = output_.ranks == Ranks::gone || !lacks_writes();
  const bool have_closed = output_.pool.header().ranks == 0 ? output_.all_closed : ranks.all_closed;
  closed_here_ = is_whole && (output_.ranks == Ranks::gone || have_closed);
  output_.all_closed = output_.all_closed && is_whole;
}

// Not while a rank opens the file under the name that it has, unless it is gone.
bool Stream::may_publish() {
  std::uint32_t holder = 0;
  do {
    const bool is_rank = holder != 0 && holder != pool::name_changes && output_.ranks == Ranks::working;
    if (is_rank && output_.pool.process_of_rank(static_cast<int>(holder) - 1) != 0) return false;
  } while (!output_.slot.name_lock.compare_exchange_strong(holder, pool::name_changes));
  return true;
}

// It cannot be said of a file that not all ranks have closed whether it is what they meant. One that is written in place is there
// whatever comes, and one that was synchronized was promised: these get all that was captured.
void Stream::judge(const pool::RanksOfOutput& ranks) {
  StepCounts& steps = output_.steps;
  steps.ended = steps.complete = steps.begun = 1;
  output_.all_closed = true;
  const bool all_closed = output_.nodes != nullptr ? output_.nodes->have_all_closed() : ranks.all_closed;
  const bool is_unclosed = is_left_unclosed(), is_in_place = file_.is_in_place();
  if (is_unclosed) file_.leave_unclosed();
  output_.trace.had_complete_steps = all_closed || is_unclosed || (is_in_place && pool::writes_begun(output_.slot) != 0);
  if (all_closed || !life_.is_writing()) return;
  const std::vector<int> open = pool::ranks_with_output_open(output_.pool, output_.key.slot);
  const std::string why = (open.empty() ? "ranks of another node" : base::readable_ranks(open)) + " had not closed it when the job ended";
  if (is_in_place || is_unclosed) output_.trace.note = why + "; all that was captured is in it";
  else life_.fail(base::Error(base::Errc::invalid_state, "'" + output_.trace.path + "' is not complete: " + why));
}

// It goes by a word that has no checksum: what cannot be was not promised.
bool Stream::has_promise() const {
  const std::uint64_t promised = output_.slot.synchronized_writes.load(std::memory_order_acquire);
  return promised != 0 && (output_.nodes != nullptr || promised <= pool::writes_begun(output_.slot) + 1);
}

bool Stream::is_left_unclosed() const {
  if (output_.ranks == Ranks::working || file_.is_in_place() || !has_promise()) return false;
  if (output_.nodes != nullptr) return !output_.nodes->have_all_closed();
  return !is_left_by_all();
}

}  // namespace glean::drain
