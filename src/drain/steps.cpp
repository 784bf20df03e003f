// SPDX-License-Identifier: BSD-3-Clause
#include "drain/steps.hpp"

#include <algorithm>

#include "base/units.hpp"
#include "drain/consumers.hpp"
#include "drain/messages.hpp"
#include "drain/node_share.hpp"

namespace glean::drain {
namespace {

constexpr int jobs_max = 4096;            // in flight, beyond which no more steps are staged
constexpr Bytes windows_unasked = 1024;   // to fill, beyond which the storage is asked first

std::uint64_t record_of(const store::VariableLayout& variable, std::uint64_t step) { return variable.per_step() ? step : 0; }

}  // namespace

// --- what was put

void Steps::on_put(const TakenRecord& taken) {
  const pool::Record& record = *taken.record;
  const auto& description = output_.description;
  const auto& layout = description.layout;
  const mesh::Box box = pool::box_of(record);
  const auto refuse = [&] { throw base::Error(base::Errc::io, "damaged journal record of '" + output_.trace.path + "'"); };
  if (record.variable >= layout.targets() || record.memory_type >= mesh::type_count) refuse();
  const auto& variable = layout.target(record.variable);
  const auto memory = static_cast<mesh::Type>(record.memory_type);
  // Also where the payload is not looked at: what a record makes this drain do is in proportion to it.
  const bool has_payload = record.place != pool::PayloadPlace::file;
  if (has_payload && record.payload_bytes / mesh::size_of(memory) < record.elements) refuse();
  if (log_.is_in_chunks(record)) return output_.retire(taken);
  if (output_.nodes != nullptr && output_.nodes->has_come_before(record, box)) return output_.retire(taken);
  if (!layout.is_attribute(record.variable)) output_.consumers.saw(output_, taken);
  const bool in_file = record.state != pool::RecordState::live || record.place == pool::PayloadPlace::file;
  if (in_file || is_undone(record.step)) return take_kept(taken);
  auto pending = piece_of(taken);
  if (pending == nullptr) refuse();
  pending->number = taken_++;
  const LoggedPut put = logged_put(output_.pool, record, taken.journal->rank());
  if (record.origin != pool::Origin::node) cover(put);
  if (record.first_element == 0) work_.need(box.elements() * mesh::size_of(variable.external));
  pending->unwritten_bytes = pending->piece.file_bytes();
  work_.gather(*pending);
  if (pending->unwritten_bytes == 0) return output_.retire(taken);
  ++unwritten_[record.step];
  reach(put, pending->piece);
  output_.saw_capture(record);
  work_.keep(std::move(pending));
}

// None: no such put can be.
std::unique_ptr<PendingPiece> Steps::piece_of(const TakenRecord& taken) const {
  const pool::Record& record = *taken.record;
  const auto& variable = output_.description.layout.target(record.variable);
  const auto memory = static_cast<mesh::Type>(record.memory_type);
  const auto convert = store::converter(memory, variable.external, variable.stored);
  if (convert == nullptr) return nullptr;
  const store::Piece piece(variable, record_of(variable, record.step), pool::box_of(record), record.first_element, record.elements);
  const std::byte* const payload = record.place == pool::PayloadPlace::pool ? output_.pool.at(record.payload_offset) : nullptr;
  const bool is_as_in_file = memory == variable.external && variable.stored.order == store::native_order;
  return std::make_unique<PendingPiece>(PendingPiece{{piece, &variable, convert, payload, mesh::size_of(memory), is_as_in_file},
                                                     taken, output_.pool.job_rank(record, taken.journal->rank()), record.step});
}

Coverage& Steps::coverage(std::uint32_t variable, std::uint64_t step) {
  const auto& layout = output_.description.layout.target(variable);
  return coverage_.try_emplace({variable, layout.per_step() ? step : no_step}, layout.shape).first->second;
}

void Steps::cover(const LoggedPut& put) {
  Coverage& covered = coverage(put.variable, put.step);
  const auto earlier = put.first == 0 ? covered.add(put.box, put.job_rank) : std::nullopt;
  // What another node sent, and could not know that it had arrived, it sends again.
  const bool again = output_.may_come_again() && !output_.pool.is_of_this_node(put.job_rank);
  if (earlier && again && earlier->rank == put.job_rank && earlier->box.contains(put.box)) return;
  covered.add_part(put.elements);
  if (earlier) throw overlap_error(output_.description.layout.target(put.variable), put.step, put.box, put.job_rank, *earlier);
}

void Steps::reach(const LoggedPut& put, const store::Piece& piece) {
  Reach& reach = reaches_[put.step];
  reach.end = std::max(reach.end, piece.file_extent().end);
  reach.has_records |= output_.description.layout.target(put.variable).per_step();
}

// A put of a fixed variable that is filled says where the holes are.
std::uint64_t Steps::kept_until(std::uint32_t variable, std::uint64_t step) const {
  const auto& layout = output_.description.layout.target(variable);
  return layout.fill && !layout.per_step() ? no_step : step;
}

// --- staging and writing

void Steps::progress() {
  stage();
  if (life_.is_writing()) count_written();
}

// Steps of which nothing is to be written cost nothing, however many a rank says that it has ended.
void Steps::skip_empty_steps() {
  const auto& variables = output_.description.layout.variables;
  StepCounts& steps = output_.steps;
  const auto is_filled = [](const auto& variable) { return variable.fill && variable.per_step(); };
  if (std::any_of(variables.begin(), variables.end(), [&](const auto& v) { return is_filled(v) && v.record_bytes() != 0; })) return;
  const auto next = reaches_.lower_bound(steps.staged);
  const std::uint64_t step = next == reaches_.end() ? steps.complete : std::min(next->first, steps.complete);
  if (step == std::exchange(steps.staged, step)) return;
  if (std::any_of(variables.begin(), variables.end(), is_filled)) steps.records = std::max(steps.records, steps.of_program(step));
  output_.slot.steps.records.store(steps.records, std::memory_order_release);
}

void Steps::stage() {
  const auto& variables = output_.description.layout.variables;
  StepCounts& steps = output_.steps;
  for (skip_empty_steps(); steps.staged < steps.complete && work_.in_flight() < jobs_max; skip_empty_steps()) {
    const bool is_closing = steps.staged == steps.closing;   // it has attributes only, and is no step of the program
    for (std::uint32_t v = 0; v < variables.size() && !is_closing; ++v) {
      if (!variables[v].per_step()) continue;
      if (variables[v].fill) {
        fill(v, steps.staged);
        steps.records = std::max(steps.records, steps.staged + 1);
      }
      coverage_.erase({v, steps.staged});
    }
    if (!life_.is_writing()) return;
    if (const auto it = reaches_.find(steps.staged); it != reaches_.end()) {
      steps.end = std::max(steps.end, it->second.end);
      if (it->second.has_records) steps.records = std::max(steps.records, steps.staged + 1);
      reaches_.erase(it);
    }
    if (!is_closing) output_.consumers.complete(output_, steps.staged);
    ++steps.staged;
    output_.slot.steps.records.store(steps.records, std::memory_order_release);
    output_.slot.steps.highest_end.store(steps.end, std::memory_order_release);
    life_.hand_out(Relief::everything);
    if (!life_.is_writing()) return;
  }
}

void Steps::fill(std::uint32_t variable, std::uint64_t step) {
  if (!life_.is_writing()) return;
  const auto& layout = output_.description.layout.target(variable);
  const Coverage& covered = coverage(variable, step);
  const std::uint64_t record = record_of(layout, step);
  if (!covered.all_parts_came() || (layout.per_step() && !layout.has_room_for(record))) {
    return life_.fail(base::Error(base::Errc::io,
                                  "what was put of '" + layout.name + "' of '" + output_.trace.path + "' is not all there"));
  }
  std::vector<Extent> holes = covered.uncovered(layout, record);
  if (output_.description.is_part) {
    try {
      if (!part_boxes_) part_boxes_.emplace(output_.calls, output_.description.names);
    } catch (const base::Error& error) {
      return life_.storage_failed(error);
    }
    holes = part_boxes_->within(variable, layout, record, holes);
  }
  Bytes bytes_to_fill = 0;
  for (const Extent& hole : holes) {
    work_.reach(hole.end);
    bytes_to_fill += hole.size();
  }
  work_.need(bytes_to_fill);
  // Much to fill takes much memory here: the storage is asked first whether it has that much.
  if (bytes_to_fill / work_.request_bytes() > windows_unasked && !life_.reserve()) return;
  for (const Extent& hole : holes) {
    output_.steps.end = std::max(output_.steps.end, hole.end);
    unwritten_[step] += work_.gather_fill(layout, hole, step);
  }
}

void Steps::written(PendingPiece& pending) {
  --unwritten_[pending.step];
  if (output_.is_kept_until_durable()) return kept_.keep(pending.step, {pending, pending.number});
  const std::uint32_t variable = pending.record->variable;
  const bool is_known = pending.record->origin == pool::Origin::node;   // by the first of its put
  const bool is_needed = pending.variable->fill || pending.step >= output_.steps.staged;
  if (is_known || !is_needed) return output_.retire(pending);
  output_.give_payload_back(pending);
  log_.keep(kept_until(variable, pending.step), TakenRecord(pending));
}

void Steps::count_written() {
  StepCounts& steps = output_.steps;
  while (steps.written < steps.staged) {
    const auto next = unwritten_.lower_bound(steps.written);
    steps.written = next == unwritten_.end() ? steps.staged : std::min(next->first, steps.staged);
    if (steps.written == steps.staged || next->second != 0) break;
    unwritten_.erase(next);
    ++steps.written;
  }
}

void Steps::finish() {
  const StepCounts& steps = output_.steps;
  pool::OutputSlot& slot = output_.slot;
  if (steps.begun != steps.complete) {   // a step that not all ranks have ended would be published in part
    std::vector<int> behind = pool::ranks_before_step(output_.pool, output_.key.slot, steps.begun);
    if (behind.empty()) behind = {static_cast<int>(slot.nodes.job_last_rank.load(std::memory_order_acquire))};   // of another node
    return life_.fail(base::Error(base::Errc::invalid_state,
                                  "'" + output_.trace.path + "' was closed by all ranks, but " + base::readable_ranks(behind) +
                                      " had not ended step " + std::to_string(steps.of_program(steps.begun) - 1),
                                  "every rank ends every step, whether it puts something or not"));
  }
  if (steps.begun == 0 && slot.steps.dropped.load(std::memory_order_acquire) != 0) return life_.give_up(Failure::dropped);
  if (std::exchange(fixed_filled_, true) || file_.was_published()) return;
  const auto& variables = output_.description.layout.variables;
  for (std::uint32_t v = 0; v < variables.size(); ++v) {
    if (variables[v].fill && !variables[v].per_step()) fill(v, no_step);
  }
  life_.hand_out(Relief::everything);
}

void Steps::drop() {
  coverage_.clear();
  unwritten_.clear();
}

// An output of several files has no promised steps: they are joined as far as all have steps. The word has no checksum: what cannot be was
// not promised.
bool Steps::has_promise() const {
  if (output_.description.is_part) return false;
  // No rank of a stager's says what it was told: what all stagers have made durable may have been promised.
  if (output_.pool.is_stager() && output_.ranks == Ranks::working) return output_.slot.nodes.job_steps_synchronized.load() != 0;
  const std::uint64_t promised = output_.slot.synchronized_writes.load(std::memory_order_acquire);
  return promised > 1 && promised - 1 <= output_.slot.steps.synchronized.load(std::memory_order_acquire);
}

}  // namespace glean::drain
