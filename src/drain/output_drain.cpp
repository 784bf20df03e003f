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
    : output_{pool, key, calls, spill, ranks, inherited}, log_(output_),
      nodes_(pool.is_shared() ? std::make_unique<NodeShare>(output_, parcels) : nullptr),
      request_bytes_(request_bytes), jobs_(jobs), parcels_(parcels), description_chunks_(description.chunks) {
  try {
    take_over(description);
    open_file();
  } catch (const base::Error& error) {
    storage_failed(error);
  }
}

Claims& OutputDrain::claims(std::uint32_t variable, std::uint64_t step) {
  const auto& layout = output_.description.layout.variables[variable];
  const std::uint64_t record = layout.per_step() ? step : no_step;
  return claims_.try_emplace({variable, record}, layout.shape).first->second;
}

void OutputDrain::on_put(const pool::Record& record, pool::JournalReader& journal) {
  if (undecided_) unread_.push_back({&record, &journal});
  if (postponed_) return;
  if (failed_) return output_.retire({&record, &journal});
  const auto& variables = output_.description.layout.variables;
  const mesh::Box box = pool::box_of(record);
  try {
    if (output_.description.is_bytes) return on_bytes(record, journal);
    const auto refuse = [&] { throw base::Error(base::Errc::io, "damaged journal record of '" + output_.trace.path + "'"); };
    if (record.variable >= variables.size() || record.memory_type >= mesh::type_count) refuse();
    const auto& variable = variables[record.variable];
    const auto memory = static_cast<mesh::Type>(record.memory_type);
    // Also where the payload is not looked at: what a record makes this drain do is in proportion to it.
    const bool has_payload = record.place != pool::PayloadPlace::file;
    if (has_payload && record.payload_bytes / mesh::size_of(memory) < record.elements) refuse();
    if (log_.is_in_chunks(record)) return output_.retire({&record, &journal});
    if (nodes_ && nodes_->has_come_before(record, box)) return output_.retire({&record, &journal});
    const bool in_file = record.state != pool::RecordState::live || record.place == pool::PayloadPlace::file;
    if (in_file || is_undone(record.step)) return take_kept(record, journal);
    const auto convert = store::converter(memory, variable.external, variable.stored);
    if (convert == nullptr) refuse();
    auto pending = std::make_unique<PendingPiece>(PendingPiece{
        {store::Piece(variable, variable.per_step() ? record.step : 0, box, record.first_element, record.elements), &variable, convert,
         record.place == pool::PayloadPlace::pool ? output_.pool.at(record.payload_offset) : nullptr, mesh::size_of(memory)},
        {&record, &journal}, output_.pool.job_rank(record, journal.rank()), record.step, 0});
    if (record.origin != pool::Origin::node) claim(kept_put(output_.pool, record, journal.rank()));
    if (record.first_element == 0) unreserved_bytes_ += box.elements() * mesh::size_of(variable.external);
    pending->unwritten_bytes = pending->piece.file_bytes();
    gather(*pending);
    if (pending->unwritten_bytes == 0) return output_.retire({&record, &journal});
    ++unwritten_[record.step];
    StepReach& reach = reaches_[record.step];
    reach.end = std::max(reach.end, pending->piece.file_extent().end);
    reach.has_records |= variable.per_step();
    output_.saw_capture(record);
    pieces_.emplace(&record, std::move(pending));
  } catch (const base::Error& error) {
    fail(error);
    output_.retire({&record, &journal});
  }
}

void OutputDrain::claim(const KeptPut& put) {
  Claims& claimed = claims(put.variable, put.step);
  const auto earlier = put.first == 0 ? claimed.add(put.box, put.job_rank) : std::nullopt;
  // What another node sent, and could not know that it had arrived, it sends again when the job is recovered.
  const bool again = output_.ranks == Ranks::gone && !output_.pool.is_of_this_node(put.job_rank);
  if (earlier && again && earlier->rank == put.job_rank && earlier->box.contains(put.box)) return;
  claimed.add_part(put.elements);
  if (earlier) {
    throw overlap_error(output_.description.layout.variables[put.variable], put.step, put.box, put.job_rank, *earlier);
  }
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
      window.may_overlap = output_.description.is_bytes;
      window.parts.push_back({&pending, up_to_end - before});
      window.bytes += up_to_end - before;
      waiting_bytes_ += up_to_end - before;
      if (window.may_overlap && window.bytes >= request_bytes_) full_windows_.insert(index);
    } else {
      nodes_->hand_over(pending, index, {before, up_to_end});
    }
    before = up_to_end;
    at = before == pending.piece.file_bytes() ? std::nullopt : pending.piece.next_byte(extent_of_window.end);
  }
}

void OutputDrain::gather_fill(std::uint32_t variable, std::uint64_t step) {
  if (failed_ || postponed_) return;
  const auto& layout = output_.description.layout.variables[variable];
  const Claims& claimed = claims(variable, step);
  const std::uint64_t record = layout.per_step() ? step : 0;
  if (!claimed.all_parts_came() || (layout.per_step() && !layout.has_room_for(record))) {
    return fail(base::Error(base::Errc::io, "what was put of '" + layout.name + "' of '" + output_.trace.path + "' is not all there"));
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

void OutputDrain::make_room_in_journals(Bytes room_bytes) {
  if (!failed_ && !postponed_) log_.make_room(room_bytes, highest_end_);
}

void OutputDrain::look_at_ranks() {
  look_at_phases();
  const pool::RanksOfOutput ranks = pool::ranks_of_output(output_.pool, output_.key.slot);
  if (ranks.any_abandoned) {
    abandoned_ = abandoned_ || !failed_ || failed_elsewhere_;   // ranks of another node may have been heard of first
    if (!failed_) {
      const std::string by = base::readable_ranks(pool::ranks_that_abandoned(output_.pool, output_.key.slot));
      fail(base::Error(base::Errc::invalid_state, "output '" + output_.trace.path + "' was abandoned by " + by + " before it was closed"));
    }
  }
  if (output_.ranks == Ranks::gone) {
    judge_without_ranks(ranks);
  } else {
    const bool is_news = output_.steps.ended != ranks.steps_ended || closed_here_ != (ranks.all_closed && !lacks_writes());
    if (is_news && nodes_) pool::futex_signal(output_.pool.header().progress);   // other nodes want to know
    output_.steps.ended = output_.steps.complete = ranks.steps_ended;
    output_.steps.begun = ranks.most_ended;
    output_.all_closed = closed_here_ = ranks.all_closed && !lacks_writes();
  }
  if (nodes_) look_at_nodes();
  take_moved();   // only now it can be told what of it has to be undone
}

void OutputDrain::queue(Job::Kind kind, std::shared_ptr<store::Window> window) {
  ++jobs_in_flight_;
  jobs_.push_back({.kind = kind, .output = this, .window = std::move(window)});
}

void OutputDrain::queue_window(std::map<std::uint64_t, store::Window>::iterator it) {
  // What comes later must not be in the file before it.
  if (output_.description.is_bytes && !windows_on_their_way_.insert(it->first).second) return;
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
  const auto& variables = output_.description.layout.variables;
  const auto is_filled = [](const auto& variable) { return variable.fill && variable.per_step(); };
  if (std::any_of(variables.begin(), variables.end(), [&](const auto& v) { return is_filled(v) && v.record_bytes() != 0; })) return;
  const auto next = reaches_.lower_bound(output_.steps.staged);
  const std::uint64_t step = next == reaches_.end() ? output_.steps.complete : std::min(next->first, output_.steps.complete);
  if (step == std::exchange(output_.steps.staged, step)) return;
  if (std::any_of(variables.begin(), variables.end(), is_filled)) records_ = std::max(records_, step);
  output_.slot.records.store(records_, std::memory_order_release);
}

void OutputDrain::stage_steps() {
  const auto& variables = output_.description.layout.variables;
  for (skip_empty_steps(); output_.steps.staged < output_.steps.complete && jobs_in_flight_ < jobs_max; skip_empty_steps()) {
    for (std::uint32_t v = 0; v < variables.size(); ++v) {
      if (!variables[v].per_step()) continue;
      if (variables[v].fill) {
        gather_fill(v, output_.steps.staged);
        records_ = std::max(records_, output_.steps.staged + 1);
      }
      claims_.erase({v, output_.steps.staged});
    }
    if (failed_ || postponed_) return;
    settle(output_.steps.staged++);
    relieve(Relief::everything);
    if (failed_ || postponed_) return;
  }
}

void OutputDrain::window_done(const store::Window& window) {
  const std::uint64_t now = base::now_ns();
  if (output_.description.is_bytes) is_written(window.extent.begin / request_bytes_);
  output_.trace.written_ns = now;
  output_.trace.bytes += window.bytes;
  output_.checksums.add(window.sums);
  waiting_bytes_ -= std::min(waiting_bytes_, window.bytes);
  output_.pool.header().written_bytes.fetch_add(window.bytes, std::memory_order_relaxed);
  for (const auto& fill : window.fills) --unwritten_[fill.step];
  for (const auto& part : window.parts) part_written(PendingPiece::of(*part.typed), part.bytes);
}

void OutputDrain::arrived(const Parcel& parcel) {
  if (failed_ || postponed_) return;
  nodes_->arrived(parcel);
  if (const auto it = pieces_.find(parcel.record); it != pieces_.end()) part_written(*it->second, parcel.file_bytes);
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
  output_.steps.synchronized = std::max(output_.steps.synchronized, steps);
  output_.slot.steps_synchronized.store(output_.steps.synchronized, std::memory_order_release);
  pool::futex_signal(output_.pool.header().progress);
}

void OutputDrain::fail(const base::Error& error) {
  if (failed_ || undecided_) return;
  failed_ = true;
  const bool is_bytes = output_.description.is_bytes;
  if (is_bytes && nodes_) pool::set_postponed(output_.slot, pool::Postponed::failed);   // before the error
  // The first reason stays: another node may have removed the file for it.
  output_.trace.note = output_.slot.error.load(std::memory_order_acquire) != 0 ? pool::message_of(output_.slot) : error.what();
  waiting_bytes_ = 0;
  // Those who have written it may be done with it, and not ask any more.
  if (is_bytes && output_.ranks == Ranks::working && !failed_elsewhere_) base::log(base::LogLevel::error, "{}", output_.trace.note);
  pool::fail(output_.slot, static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
  // Ranks that had closed it by then have been told that all is well.
  const bool is_told = output_.ranks == Ranks::gone || output_.slot.told.load() != 0;
  if (is_bytes && !is_told && pool::ranks_of_output(output_.pool, output_.key.slot).all_closed) {
    base::leave_note(base::unpublished_note,
                     "'" + output_.trace.path + "' is not published, and what was captured of it is lost: " + output_.trace.note + "\n");
  }
  gathered_.clear();
  const auto mine = [this](const Job& job) { return job.output == this; };
  jobs_in_flight_ -= static_cast<int>(std::count_if(jobs_.begin(), jobs_.end(), mine));
  std::erase_if(jobs_, mine);
  parcels_.forget(output_.key);
  pool::futex_signal(output_.pool.header().progress);
}

void OutputDrain::range_error(const store::Assembled& assembled) {
  if (assembled.range_errors == 0) return;
  output_.trace.range_errors += assembled.range_errors;
  output_.slot.range_errors.fetch_add(assembled.range_errors, std::memory_order_relaxed);
  if (output_.description.layout.range == base::RangeRule::error) {
    const store::RangeError& first = assembled.first_range_error;
    fail(store::out_of_range_error(first, PendingPiece::of(*first.typed).elements()));
  }
}

void OutputDrain::drop_everything() {
  for (const auto& [record, pending] : pieces_) output_.retire(*pending);
  pieces_.clear();
  drop_writes();
  for (const TakenRecord& each : std::exchange(unread_, {})) output_.retire(each);
  log_.release(no_step);
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
  if (!failed_ && output_.slot.error.load(std::memory_order_acquire) != 0) {
    failed_elsewhere_ = nodes_ != nullptr;
    const base::Error error(base::Errc::invalid_state, pool::message_of(output_.slot));
    if (pool::is_undecided(output_.slot)) agree_to_keep(error);   // the storage of another node refuses it
    else fail(error);                                      // a put has
    if (postponed_) return;
  }
  if (output_.description.is_bytes && output_.ranks == Ranks::gone) output_.all_closed = !lacks_writes();
  if (!failed_ && output_.slot.is_renamed.load(std::memory_order_acquire) == pool::is_removed_output) give_up_removed();
  if (failed_) {
    if (jobs_in_flight_ != 0) return;
    drop_everything();
    if (!discarded_) queue(Job::Kind::discard);   // at once: others may need the space
    else if (output_.all_closed) finish_failed();
    return;
  }
  const std::uint64_t staged = output_.steps.staged, written = output_.steps.written;
  stage_steps();
  if (output_.description.is_bytes) write_bytes();
  if (failed_ || postponed_) return progress();
  while (output_.steps.written < output_.steps.staged) {
    const auto next = unwritten_.lower_bound(output_.steps.written);
    output_.steps.written = next == unwritten_.end() ? output_.steps.staged : std::min(next->first, output_.steps.staged);
    if (output_.steps.written == output_.steps.staged || next->second != 0) break;
    unwritten_.erase(next);
    ++output_.steps.written;
  }
  output_.slot.steps_staged.store(output_.steps.staged, std::memory_order_release);
  output_.slot.steps_written.store(output_.steps.written, std::memory_order_release);
  // After what says that they are written, for whoever takes over.
  if (output_.steps.written != 0) log_.release(output_.steps.written - 1);
  if (staged != output_.steps.staged || written != output_.steps.written) pool::futex_signal(output_.pool.header().progress);

  const std::uint64_t wanted = output_.slot.synchronize_up_to.load(std::memory_order_acquire);
  // A rank that asks for fewer steps than another must not wait for steps that it has not ended itself.
  const bool caught_up = output_.steps.written == output_.steps.staged && output_.steps.written > output_.steps.synchronized;
  if (wanted > output_.steps.synchronized && (output_.steps.written >= wanted || caught_up) && !synchronizing_ && !last_job_queued_) {
    synchronizing_ = true;
    queue(Job::Kind::synchronize);
  }
  if (nodes_) tell_other_nodes();
  const StepCounts& steps = output_.steps;
  const bool is_whole = steps.written == steps.staged && steps.staged == steps.complete && steps.complete == all_steps();
  if (output_.all_closed && is_whole) complete();
}

// Of one node's outputs: there is no file then.
bool OutputDrain::has_dropped_all() const {
  return output_.steps.begun == 0 && output_.slot.steps_dropped.load(std::memory_order_acquire) != 0;
}

void OutputDrain::complete() {
  if (output_.steps.begun != output_.steps.complete) {
    refuse_uneven_steps();
    return progress();
  }
  if (has_dropped_all()) {
    failed_ = dropped_ = true;   // and nobody is told of an error: there is just no file
    return progress();
  }
  if (!fixed_filled_) {
    fixed_filled_ = true;
    const auto& variables = output_.description.layout.variables;
    for (std::uint32_t v = 0; v < variables.size(); ++v) {
      if (variables[v].fill && !variables[v].per_step()) gather_fill(v, no_step);
    }
    relieve(Relief::everything);
    if (failed_ || postponed_) return progress();
  }
  if (jobs_in_flight_ != 0 || last_job_queued_) return;
  if (nodes_) return complete_part();
  last_job_queued_ = !output_.description.is_bytes || locks_name();
  if (last_job_queued_) queue(Job::Kind::publish);
}

void OutputDrain::published() {
  output_.trace.steps = output_.steps.written;
  output_.trace.checksums = name_of(output_.checksums.state());
  output_.trace.durable_ns = base::now_ns();
  if (is_unclosed_ && !removed_) {
    tell_of_unclosed(store::find_unclosed(output_.description.names.final_path, output_.slot.working_inode.load()));
  }
  output_.slot.steps_synchronized.store(output_.steps.written, std::memory_order_release);
  finish(removed_ ? "removed" : "published", pool::OutputState::published);
}

void OutputDrain::discarded() {
  output_.slot.working_descriptor.store(0, std::memory_order_release);
  file_.reset();   // an open file would keep its space
  discarded_ = true;
  if (kept_as_) tell_of_unclosed(kept_as_);
  output_.slot.discarded.store(1, std::memory_order_release);
  pool::futex_signal(output_.pool.header().progress);
}

void OutputDrain::finish_failed() {
  drop_everything();
  if (removed_) finish("removed", pool::OutputState::abandoned);
  else if (dropped_) finish("dropped", pool::OutputState::abandoned);
  else if (abandoned_) finish("abandoned", pool::OutputState::abandoned);
  else finish(superseded_ ? "superseded" : "failed", pool::OutputState::failed);
}

void OutputDrain::finish(const char* trace_state, pool::OutputState state) {
  output_.trace.state = trace_state;
  output_.trace.range_errors = output_.slot.range_errors.load(std::memory_order_acquire);   // those that ranks have met too
  output_.trace.steps_dropped = output_.slot.steps_dropped.load(std::memory_order_acquire);
  log_.release(no_step);
  output_.space_returned = true;
  finished_ = true;
  // Of bytes nobody comes to see what became of them, but other nodes that know of them.
  const Ending ending = output_.trace.state == "published" || output_.trace.state == "removed" ? Ending::durable : Ending::failed;
  tell_names(ending);
  if (output_.description.is_bytes && output_.slot.job_output.load(std::memory_order_acquire) == 0) state = pool::OutputState::free;
  output_.slot.state.store(state);   // the slot may be another output's from now on
  settle_names(output_.pool, output_.calls, output_.key, ending);   // once more: of what a rank has removed that still found it on its way
  for (const std::uint32_t chunk : std::exchange(description_chunks_, {})) output_.pool.drop_reference(chunk);
  pool::futex_signal(output_.pool.header().progress);
}

}  // namespace glean::drain
