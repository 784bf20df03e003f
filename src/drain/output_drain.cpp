// SPDX-License-Identifier: BSD-3-Clause
#include "drain/output_drain.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/run_notes.hpp"
#include "base/units.hpp"
#include "drain/messages.hpp"
#include "drain/retired_files.hpp"
#include "pool/futex.hpp"
#include "pool/postponed.hpp"
#include "pool/published.hpp"
#include "store/posix/unclosed.hpp"
#include "store/windows/range_error.hpp"

namespace glean::drain {
namespace {

constexpr int jobs_max = 4096;            // in flight, beyond which no more steps are staged
constexpr Bytes windows_unasked = 1024;   // to fill, beyond which the storage is asked first

}  // namespace

OutputDrain::OutputDrain(pool::Pool& pool, pool::OutputKey key, const pool::DescriptionInPool& description,
                         store::SystemCalls& calls, Bytes request_bytes, Jobs& jobs, Parcels& parcels,
                         SpillFiles& spill, Ranks ranks, bool inherited)
    : pool_(pool), key_(key), slot_(pool.slot(key.slot)), calls_(calls), request_bytes_(request_bytes), jobs_(jobs),
      parcels_(parcels), spill_(spill), ranks_(ranks), inherited_(inherited), description_chunks_(description.chunks) {
  try {
    take_over(description);
    open_file();
  } catch (const base::Error& error) {
    storage_failed(error);
  }
}

Claims& OutputDrain::claims(std::uint32_t variable, std::uint64_t step) {
  const auto& layout = description_.layout.variables[variable];
  const std::uint64_t record = layout.per_step() ? step : no_step;
  return claims_.try_emplace({variable, record}, layout.shape).first->second;
}

void OutputDrain::on_put(const pool::Record& record, pool::JournalReader& journal) {
  if (undecided_) unread_.push_back({&record, &journal});
  if (postponed_) return;
  if (failed_) return retire(record, journal);
  const auto& variables = description_.layout.variables;
  const mesh::Box box = pool::box_of(record);
  try {
    if (description_.is_bytes) return on_bytes(record, journal);
    const auto refuse = [&] { throw base::Error(base::Errc::io, "damaged journal record of '" + trace_.path + "'"); };
    if (record.variable >= variables.size() || record.memory_type >= mesh::type_count) refuse();
    const auto& variable = variables[record.variable];
    const auto memory = static_cast<mesh::Type>(record.memory_type);
    // Also where the payload is not looked at: what a record makes this drain do is in proportion to it.
    const bool has_payload = record.place != pool::PayloadPlace::file;
    if (has_payload && record.payload_bytes / mesh::size_of(memory) < record.elements) refuse();
    if (record.state == pool::RecordState::moving && moving_is_moved_) return retire(record, journal);
    if (has_come_before(record, box)) return retire(record, journal);
    const bool in_file = record.state != pool::RecordState::live || record.place == pool::PayloadPlace::file;
    if (in_file || is_undone(record.step)) return take_kept(record, journal);
    const auto convert = store::converter(memory, variable.external, variable.stored);
    if (convert == nullptr) refuse();
    auto pending = std::make_unique<PendingPiece>(PendingPiece{
        {store::Piece(variable, variable.per_step() ? record.step : 0, box, record.first_element, record.elements), &variable, convert,
         record.place == pool::PayloadPlace::pool ? pool_.at(record.payload_offset) : nullptr, mesh::size_of(memory)},
        &record, &journal, pool_.job_rank(record, journal.rank()), record.step, 0});
    if (record.origin != pool::Origin::node) claim(kept_put(pool_, record, journal.rank()));
    if (record.first_element == 0) unreserved_bytes_ += box.elements() * mesh::size_of(variable.external);
    pending->unwritten_bytes = pending->piece.file_bytes();
    gather(*pending);
    if (pending->unwritten_bytes == 0) return retire(record, journal);
    ++unwritten_[record.step];
    StepReach& reach = reaches_[record.step];
    reach.end = std::max(reach.end, pending->piece.file_extent().end);
    reach.has_records |= variable.per_step();
    saw_capture(record);
    pieces_.emplace(&record, std::move(pending));
  } catch (const base::Error& error) {
    fail(error);
    retire(record, journal);
  }
}

void OutputDrain::claim(const KeptPut& put) {
  Claims& claimed = claims(put.variable, put.step);
  const auto earlier = put.first == 0 ? claimed.add(put.box, put.job_rank) : std::nullopt;
  // What another node sent, and could not know that it had arrived, it sends again when the job is recovered.
  const bool again = ranks_ == Ranks::gone && !pool_.is_of_this_node(put.job_rank);
  if (earlier && again && earlier->rank == put.job_rank && earlier->box.contains(put.box)) return;
  claimed.add_part(put.elements);
  if (earlier) {
    throw overlap_error(description_.layout.variables[put.variable], put.step, put.box, put.job_rank, *earlier);
  }
}

void OutputDrain::saw_capture(const pool::Record& record) {
  if (trace_.first_capture_ns == 0 || record.captured_ns < trace_.first_capture_ns) {
    trace_.first_capture_ns = record.captured_ns;
  }
  trace_.last_capture_ns = std::max(trace_.last_capture_ns, record.captured_ns);
}

void OutputDrain::gather(PendingPiece& pending) {
  const Extent extent = pending.piece.file_extent();
  highest_end_ = std::max(highest_end_, extent.end);
  Bytes before = 0;
  for (std::optional<Bytes> at = extent.begin; at;) {
    const std::uint64_t index = *at / request_bytes_;
    const Extent extent_of_window{index * request_bytes_, (index + 1) * request_bytes_};
    const Bytes up_to_end = pending.piece.bytes_before(extent_of_window.end);
    if (is_mine(index)) {
      store::Window& window = gathered_[index];
      window.extent = extent_of_window;
      window.may_overlap = description_.is_bytes;
      window.parts.push_back({&pending, up_to_end - before});
      window.bytes += up_to_end - before;
      waiting_bytes_ += up_to_end - before;
      if (window.may_overlap && window.bytes >= request_bytes_) full_windows_.insert(index);
    } else {
      hand_over(pending, index, {before, up_to_end});
    }
    before = up_to_end;
    at = before == pending.piece.file_bytes() ? std::nullopt : pending.piece.next_byte(extent_of_window.end);
  }
}

void OutputDrain::gather_fill(std::uint32_t variable, std::uint64_t step) {
  if (failed_ || postponed_) return;
  const auto& layout = description_.layout.variables[variable];
  const Claims& claimed = claims(variable, step);
  const std::uint64_t record = layout.per_step() ? step : 0;
  if (!claimed.all_parts_came() || (layout.per_step() && !layout.has_room_for(record))) {
    return fail(base::Error(base::Errc::io, "what was put of '" + layout.name + "' of '" + trace_.path + "' is not all there"));
  }
  std::vector<Extent> holes;
  try {
    holes = holes_to_fill(variable, record, claimed);
  } catch (const base::Error& error) {
    return storage_failed(error);   // of the index of a part
  }
  Bytes bytes_to_fill = 0;
  for (const Extent& hole : holes) {
    highest_end_ = std::max(highest_end_, hole.end);
    bytes_to_fill += hole.size();
  }
  unreserved_bytes_ += bytes_to_fill;
  // Much to fill takes much memory here: the storage is asked first whether it has that much.
  if (bytes_to_fill / request_bytes_ > windows_unasked && !reserve()) return;
  for (const Extent& hole : holes) {
    settled_end_ = std::max(settled_end_, hole.end);
    for (std::uint64_t index = hole.begin / request_bytes_; index * request_bytes_ < hole.end; ++index) {
      if (!is_mine(index)) continue;
      store::Window& window = gathered_[index];
      window.extent = {index * request_bytes_, (index + 1) * request_bytes_};
      window.fills.push_back({&layout, hole, step});
      const Bytes bytes = std::min(hole.end, window.extent.end) - std::max(hole.begin, window.extent.begin);
      window.bytes += bytes;
      waiting_bytes_ += bytes;
      ++unwritten_[step];
    }
  }
}

void OutputDrain::look_at_ranks() {
  look_at_phases();
  const pool::RanksOfOutput ranks = pool::ranks_of_output(pool_, key_.slot);
  if (ranks.any_abandoned) {
    abandoned_ = abandoned_ || !failed_ || failed_elsewhere_;   // ranks of another node may have been heard of first
    if (!failed_) {
      const std::string by = base::readable_ranks(pool::ranks_that_abandoned(pool_, key_.slot));
      fail(base::Error(base::Errc::invalid_state, "output '" + trace_.path + "' was abandoned by " + by + " before it was closed"));
    }
  }
  if (ranks_ == Ranks::gone) {
    judge_without_ranks(ranks);
  } else {
    const bool is_news = steps_ended_ != ranks.steps_ended || closed_here_ != (ranks.all_closed && !lacks_writes());
    if (is_news && pool_.is_shared()) pool::futex_signal(pool_.header().progress);   // other nodes want to know
    steps_ended_ = steps_complete_ = ranks.steps_ended;
    steps_begun_ = ranks.most_ended;
    all_closed_ = closed_here_ = ranks.all_closed && !lacks_writes();
  }
  if (pool_.is_shared()) look_at_nodes();
  take_moved();   // only now it can be told what of it has to be undone
}

void OutputDrain::queue(Job::Kind kind, std::shared_ptr<store::Window> window) {
  ++jobs_in_flight_;
  jobs_.push_back({.kind = kind, .output = this, .window = std::move(window)});
}

void OutputDrain::queue_window(std::map<std::uint64_t, store::Window>::iterator it) {
  // What comes later must not be in the file before it.
  if (description_.is_bytes && !windows_on_their_way_.insert(it->first).second) return;
  queue(Job::Kind::window, std::make_shared<store::Window>(std::move(it->second)));
  gathered_.erase(it);
}

void OutputDrain::relieve(Relief relief) {
  if (gathered_.empty() || failed_ || postponed_ || !may_change_file() || !reserve()) return;
  for (auto it = gathered_.begin(); it != gathered_.end();) {
    const auto next = std::next(it);
    if (relief == Relief::everything || it->second.bytes >= request_bytes_) queue_window(it);
    it = next;
  }
}

// Steps of which nothing is to be written cost nothing, however many a rank says that it has ended.
void OutputDrain::skip_empty_steps() {
  const auto& variables = description_.layout.variables;
  const auto is_filled = [](const auto& variable) { return variable.fill && variable.per_step(); };
  if (std::any_of(variables.begin(), variables.end(), [&](const auto& v) { return is_filled(v) && v.record_bytes() != 0; })) return;
  const auto next = reaches_.lower_bound(steps_staged_);
  const std::uint64_t step = next == reaches_.end() ? steps_complete_ : std::min(next->first, steps_complete_);
  if (step == std::exchange(steps_staged_, step)) return;
  if (std::any_of(variables.begin(), variables.end(), is_filled)) records_ = std::max(records_, step);
  slot_.records.store(records_, std::memory_order_release);
}

void OutputDrain::stage_steps() {
  const auto& variables = description_.layout.variables;
  for (skip_empty_steps(); steps_staged_ < steps_complete_ && jobs_in_flight_ < jobs_max; skip_empty_steps()) {
    for (std::uint32_t v = 0; v < variables.size(); ++v) {
      if (!variables[v].per_step()) continue;
      if (variables[v].fill) {
        gather_fill(v, steps_staged_);
        records_ = std::max(records_, steps_staged_ + 1);
      }
      claims_.erase({v, steps_staged_});
    }
    if (failed_ || postponed_) return;
    settle(steps_staged_++);
    relieve(Relief::everything);
    if (failed_ || postponed_) return;
  }
}

void OutputDrain::window_done(const store::Window& window) {
  const std::uint64_t now = base::now_ns();
  if (description_.is_bytes) is_written(window.extent.begin / request_bytes_);
  trace_.written_ns = now;
  trace_.bytes += window.bytes;
  checksums_.add(window.sums);
  waiting_bytes_ -= std::min(waiting_bytes_, window.bytes);
  pool_.header().written_bytes.fetch_add(window.bytes, std::memory_order_relaxed);
  for (const auto& fill : window.fills) --unwritten_[fill.step];
  for (const auto& part : window.parts) part_written(PendingPiece::of(*part.typed), part.bytes);
}

void OutputDrain::part_written(PendingPiece& pending, Bytes bytes) {
  pending.unwritten_bytes -= bytes;
  if (pending.unwritten_bytes != 0) return;
  --unwritten_[pending.step];
  written(pending);
  pieces_.erase(pending.record);
}

void OutputDrain::synchronized(std::uint64_t steps) {
  synchronizing_ = false;
  steps_synchronized_ = std::max(steps_synchronized_, steps);
  slot_.steps_synchronized.store(steps_synchronized_, std::memory_order_release);
  pool::futex_signal(pool_.header().progress);
}

void OutputDrain::fail(const base::Error& error) {
  if (failed_ || undecided_) return;
  failed_ = true;
  if (description_.is_bytes && pool_.is_shared()) pool::set_postponed(slot_, pool::Postponed::failed);   // before the error
  // The first reason stays: another node may have removed the file for it.
  trace_.note = slot_.error.load(std::memory_order_acquire) != 0 ? pool::message_of(slot_) : error.what();
  waiting_bytes_ = 0;
  // Those who have written it may be done with it, and not ask any more.
  if (description_.is_bytes && ranks_ == Ranks::working && !failed_elsewhere_) base::log(base::LogLevel::error, "{}", trace_.note);
  pool::fail(slot_, static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
  // Ranks that had closed it by then have been told that all is well.
  if (description_.is_bytes && ranks_ == Ranks::working && slot_.told.load() == 0 && pool::ranks_of_output(pool_, key_.slot).all_closed) {
    base::leave_note(base::unpublished_note,
                     "'" + trace_.path + "' is not published, and what was captured of it is lost: " + trace_.note + "\n");
  }
  gathered_.clear();
  const auto mine = [this](const Job& job) { return job.output == this; };
  jobs_in_flight_ -= static_cast<int>(std::count_if(jobs_.begin(), jobs_.end(), mine));
  std::erase_if(jobs_, mine);
  parcels_.forget(key_);
  pool::futex_signal(pool_.header().progress);
}

void OutputDrain::range_error(const store::Assembled& assembled) {
  if (assembled.range_errors == 0) return;
  trace_.range_errors += assembled.range_errors;
  slot_.range_errors.fetch_add(assembled.range_errors, std::memory_order_relaxed);
  if (description_.layout.range == base::RangeRule::error) {
    const store::RangeError& first = assembled.first_range_error;
    fail(store::out_of_range_error(first, PendingPiece::of(*first.typed).elements()));
  }
}

void OutputDrain::retire(const pool::Record& record, pool::JournalReader& journal) {
  spill_.retire(record, journal);
  space_returned_ = true;
}

void OutputDrain::drop_everything() {
  for (const auto& [record, pending] : pieces_) retire(*record, *pending->journal);
  pieces_.clear();
  drop_writes();
  for (const Kept& each : std::exchange(unread_, {})) retire(*each.record, *each.journal);
  release_kept(no_step);
  claims_.clear();
  unwritten_.clear();
}

void OutputDrain::progress() {
  if (finished_) return;   // the slot may be another output's by now
  if (undecided_) look_at_decision();
  if (postponed_) {
    finished_ = jobs_in_flight_ == 0 && !undecided_;
    if (finished_) leave_for_later();
    return;
  }
  if (!failed_ && slot_.error.load(std::memory_order_acquire) != 0) {
    failed_elsewhere_ = pool_.is_shared();
    const base::Error error(base::Errc::invalid_state, pool::message_of(slot_));
    if (pool::is_undecided(slot_)) agree_to_keep(error);   // the storage of another node refuses it
    else fail(error);                                      // a put has
    if (postponed_) return;
  }
  if (description_.is_bytes && ranks_ == Ranks::gone) all_closed_ = !lacks_writes();
  if (!failed_ && slot_.is_renamed.load(std::memory_order_acquire) == pool::is_removed_output) give_up_removed();
  if (failed_) {
    if (jobs_in_flight_ != 0) return;
    drop_everything();
    if (!discarded_) queue(Job::Kind::discard);   // at once: others may need the space
    else if (all_closed_) finish_failed();
    return;
  }
  const std::uint64_t staged = steps_staged_, written = steps_written_;
  stage_steps();
  if (description_.is_bytes) write_bytes();
  if (failed_ || postponed_) return progress();
  while (steps_written_ < steps_staged_) {
    const auto next = unwritten_.lower_bound(steps_written_);
    steps_written_ = next == unwritten_.end() ? steps_staged_ : std::min(next->first, steps_staged_);
    if (steps_written_ == steps_staged_ || next->second != 0) break;
    unwritten_.erase(next);
    ++steps_written_;
  }
  slot_.steps_staged.store(steps_staged_, std::memory_order_release);
  slot_.steps_written.store(steps_written_, std::memory_order_release);
  // After what says that they are written, for whoever takes over.
  if (steps_written_ != 0) release_kept(steps_written_ - 1);
  if (staged != steps_staged_ || written != steps_written_) pool::futex_signal(pool_.header().progress);

  const std::uint64_t wanted = slot_.synchronize_up_to.load(std::memory_order_acquire);
  // A rank that asks for fewer steps than another must not wait for steps that it has not ended itself.
  const bool caught_up = steps_written_ == steps_staged_ && steps_written_ > steps_synchronized_;
  if (wanted > steps_synchronized_ && (steps_written_ >= wanted || caught_up) && !synchronizing_ && !last_job_queued_) {
    synchronizing_ = true;
    queue(Job::Kind::synchronize);
  }
  if (pool_.is_shared()) tell_other_nodes();
  const bool is_whole = steps_written_ == steps_staged_ && steps_staged_ == steps_complete_ && steps_complete_ == all_steps();
  if (all_closed_ && is_whole) complete();
}

// Of one node's outputs: there is no file then.
bool OutputDrain::has_dropped_all() const { return steps_begun_ == 0 && slot_.steps_dropped.load(std::memory_order_acquire) != 0; }

void OutputDrain::complete() {
  if (steps_begun_ != steps_complete_) {
    refuse_uneven_steps();
    return progress();
  }
  if (has_dropped_all()) {
    failed_ = dropped_ = true;   // and nobody is told of an error: there is just no file
    return progress();
  }
  if (!fixed_filled_) {
    fixed_filled_ = true;
    const auto& variables = description_.layout.variables;
    for (std::uint32_t v = 0; v < variables.size(); ++v) {
      if (variables[v].fill && !variables[v].per_step()) gather_fill(v, no_step);
    }
    relieve(Relief::everything);
    if (failed_ || postponed_) return progress();
  }
  if (jobs_in_flight_ != 0 || last_job_queued_) return;
  if (pool_.is_shared()) return complete_part();
  last_job_queued_ = !description_.is_bytes || locks_name();
  if (last_job_queued_) queue(Job::Kind::publish);
}

void OutputDrain::published() {
  trace_.steps = steps_written_;
  trace_.checksums = name_of(checksums_.state());
  trace_.durable_ns = base::now_ns();
  if (is_unclosed_ && !removed_) tell_of_unclosed(store::find_unclosed(description_.names.final_path, slot_.working_inode.load()));
  slot_.steps_synchronized.store(steps_written_, std::memory_order_release);
  finish(removed_ ? "removed" : "published", pool::OutputState::published);
}

void OutputDrain::discarded() {
  slot_.working_descriptor.store(0, std::memory_order_release);
  file_.reset();   // an open file would keep its space
  discarded_ = true;
  if (kept_as_) tell_of_unclosed(kept_as_);
  slot_.discarded.store(1, std::memory_order_release);
  pool::futex_signal(pool_.header().progress);
}

void OutputDrain::finish_failed() {
  drop_everything();
  if (removed_) finish("removed", pool::OutputState::abandoned);
  else if (dropped_) finish("dropped", pool::OutputState::abandoned);
  else if (abandoned_) finish("abandoned", pool::OutputState::abandoned);
  else finish(superseded_ ? "superseded" : "failed", pool::OutputState::failed);
}

void OutputDrain::finish(const char* trace_state, pool::OutputState state) {
  trace_.state = trace_state;
  trace_.range_errors = slot_.range_errors.load(std::memory_order_acquire);   // those that ranks have met too
  trace_.steps_dropped = slot_.steps_dropped.load(std::memory_order_acquire);
  release_kept(no_step);
  space_returned_ = true;
  finished_ = true;
  // Of bytes nobody comes to see what became of them, but other nodes that know of them.
  const Ending ending = trace_.state == "published" || trace_.state == "removed" ? Ending::durable : Ending::failed;
  tell_names(ending);
  if (description_.is_bytes && slot_.job_output.load(std::memory_order_acquire) == 0) state = pool::OutputState::free;
  slot_.state.store(state);   // the slot may be another output's from now on
  settle_names(pool_, calls_, key_, ending);   // once more: of what a rank has removed that still found it on its way
  for (const std::uint32_t chunk : std::exchange(description_chunks_, {})) pool_.drop_reference(chunk);
  pool::futex_signal(pool_.header().progress);
}

}  // namespace glean::drain
