// SPDX-License-Identifier: BSD-3-Clause
//
// Steps: how they go on where another drain has stopped, and what is undone when no rank captures any more.
#include <algorithm>

#include "base/units.hpp"
#include "drain/node_share.hpp"
#include "drain/steps.hpp"

namespace glean::drain {

void Steps::take_over() {
  const store::OutputDescription& description = output_.description;
  work_.divide();
  if (output_.inherited) output_.checksums.lose();   // of what was written before they are gone
  const auto& variables = description.layout.variables;
  if (output_.slot.steps.records_given_up.load(std::memory_order_acquire) != 0 &&
      std::any_of(variables.begin(), variables.end(), [](const auto& variable) { return variable.fill; })) {
    throw base::Error(base::Errc::no_space,
                      "what was put of '" + output_.trace.path + "' is not known any more, so its holes cannot be filled: the journal "
                      "was too small for one step", "raise pool.budget");
  }
}

// In the order in which it was put: of each put that node has to know the first part, which says where no holes are.
void Steps::send_again(int node) {
  output_.nodes->begin_again(node, [&](const pool::Record* record) { return work_.find(record); });
  std::map<std::uint64_t, PendingPiece*> pieces;
  work_.for_each_piece([&](PendingPiece& pending) { pieces[pending.number] = &pending; });
  for (const KeptPuts::Kept& kept : kept_.take_all()) {
    auto pending = piece_of(kept.taken);
    pending->number = kept.number;
    pieces[kept.number] = pending.get();
    ++unwritten_[pending->step];
    work_.keep(std::move(pending));
  }
  for (const auto& [number, pending] : pieces) {
    work_.gather_again(*pending, node);
    if (pending->unwritten_bytes != 0) continue;
    written(*pending);   // nothing of it is there
    work_.forget(*pending);
  }
  output_.nodes->end_again();
}

void Steps::look(const pool::RanksOfOutput&) { take_inherited(); }   // only now it can be told what of it has to be undone

void Steps::take_inherited() {
  if (!life_.is_writing() || !log_.has_inherited()) return;
  try {
    for (LoggedPut& put : log_.take_inherited()) {
      if (put.variable >= output_.description.layout.targets()) {
        throw base::Error(base::Errc::io, "the takeover log of '" + output_.trace.path + "' is damaged");
      }
      const bool undone = is_undone(put.step);
      const std::uint64_t until = undone ? no_step : kept_until(put.variable, put.step);
      if (undone ? undo(put) : take_put(put)) log_.keep(until, std::move(put));
    }
  } catch (const base::Error& error) {
    return life_.fail(error);
  }
  log_.release_chunks_if_unused();
}

void Steps::take_kept(const TakenRecord& taken) {
  const pool::Record& record = *taken.record;
  if (record.origin == pool::Origin::node) return output_.retire(taken);   // the first of its put says all
  const LoggedPut put = logged_put(output_.pool, record, taken.journal->rank());
  const bool undone = is_undone(record.step);
  if (!undone && record.place == pool::PayloadPlace::file && record.state == pool::RecordState::live) {
    // It is in the file when its rank ends the step, and before that the step is not looked at.
    output_.checksums.lose();
    output_.trace.bytes += record.elements * mesh::size_of(output_.description.layout.target(record.variable).external);
    output_.saw_capture(record);
  }
  if (!(undone ? undo(put) : take_put(put))) return output_.retire(taken);
  // What the drain before was just moving has not arrived.
  if (record.state == pool::RecordState::logging) taken.journal->mark(record, pool::RecordState::written);
  log_.keep(undone ? no_step : kept_until(put.variable, put.step), taken);
}

bool Steps::take_put(const LoggedPut& put) {
  const auto& variable = output_.description.layout.target(put.variable);
  const bool is_written = put.step < output_.steps.written;
  if (is_written && kept_until(put.variable, put.step) != no_step) return false;
  const store::Piece piece(variable, variable.per_step() ? put.step : 0, put.box, put.first, put.elements);
  if (output_.ranks == Ranks::gone && output_.nodes == nullptr && piece.file_extent().end > file_.get()->current_size()) {
    throw base::Error(base::Errc::io, "what was put of '" + variable.name + "' of '" + output_.trace.path + "' is not in the file");
  }
  cover(put);
  if (is_written) return true;
  reach(put, piece);
  work_.reach(reaches_[put.step].end);
  return true;
}

// --- when no rank captures any more

// What a complete file would not have.
bool Steps::undo(const LoggedPut& put) {
  const auto& variable = output_.description.layout.target(put.variable);
  // Records that are not complete are cut off, and where nothing was put fill values go.
  if (variable.per_step() || variable.fill) return false;
  if (output_.is_elsewhere()) return false;   // what has arrived at a stager is known there, and undone there
  if (output_.description.layout.is_attribute(put.variable)) return restore(put);
  auto zeros = std::make_unique<store::VariableLayout>(variable);
  zeros->fill_value = {};
  const store::Piece piece(variable, 0, put.box, put.first, put.elements);
  cover(put);   // zeros must not go where complete steps have put something
  // What lies behind the end of the file reads as nothing anyway.
  const Bytes file_bytes = file_.get()->current_size();
  piece.for_each_run({0, file_bytes}, [&](store::Piece::Run run) {
    const Bytes end = run.file_offset + run.elements * mesh::size_of(variable.external);
    unwritten_[no_step] += work_.gather_fill(*zeros, {run.file_offset, std::min(file_bytes, end)}, no_step);
  });
  work_.reach(std::min(file_bytes, piece.file_extent().end));
  zeros_.push_back(std::move(zeros));
  return true;   // until the zeros are safe
}

// An attribute has the values of its definition again: element by element, each as a fill value.
bool Steps::restore(const LoggedPut& put) {
  const auto& variable = output_.description.layout.target(put.variable);
  const Bytes size = mesh::size_of(variable.external);
  for (const store::Patch& part : output_.description.metadata) {
    for (std::uint64_t element = put.first; element < put.first + put.elements; ++element) {
      const Bytes begin = variable.begin_bytes + element * size;
      if (begin < part.offset || begin + size > part.extent().end) continue;
      auto first = std::make_unique<store::VariableLayout>(variable);
      first->begin_bytes = begin;
      first->shape = {1};
      std::copy_n(part.bytes.begin() + static_cast<std::ptrdiff_t>(begin - part.offset), size, first->fill_value.begin());
      unwritten_[no_step] += work_.gather_fill(*first, {begin, begin + size}, no_step);
      zeros_.push_back(std::move(first));
    }
  }
  return true;
}

void Steps::judge(const pool::RanksOfOutput& ranks) {
  StepCounts& counts = output_.steps;
  std::uint64_t steps = ranks.steps_ended, most = ranks.most_ended;
  bool all_closed = ranks.all_closed;
  if (output_.nodes != nullptr) {   // what the nodes have found together
    steps = std::min(steps, output_.slot.nodes.job_steps_ended.load(std::memory_order_acquire));
    most = std::max(most, output_.nodes->steps_begun());
    all_closed = output_.nodes->have_all_closed();
  }
  // All steps of a closed output are there, or it was closed wrongly.
  counts.ended = counts.complete = steps;
  counts.begun = all_closed ? most : steps;
  if (all_closed) output_.note_closing();
  output_.trace.had_complete_steps = steps != 0;
  output_.all_closed = true;
  if (all_closed || !life_.is_writing()) return;   // the first reason stays
  const std::vector<int> ranks_behind = pool::ranks_before_step(output_.pool, output_.key.slot, steps + 1);
  const std::string behind = ranks_behind.empty() ? "ranks of another node" : base::readable_ranks(ranks_behind);
  const std::string& path = output_.trace.path;
  const bool is_closing = ranks.any_closed && !output_.description.layout.attributes.empty();   // no step of the program
  if (most != steps && is_closing) {
    output_.trace.note = "attributes have the values of their definition: " + behind + " had not closed it";
  } else if (most != steps) {
    output_.trace.note = "step " + std::to_string(steps) + " is not there: " + behind + " had not ended it";
  }
  if (steps == 0) {
    life_.fail(base::Error(base::Errc::invalid_state, "'" + path + "' has no complete step: " + behind +
                                                          " had not ended step 0 when the job ended"));
  } else if (output_.slot.steps.records_given_up.load(std::memory_order_acquire) != 0) {
    life_.fail(base::Error(base::Errc::no_space,
                           "what was written of the unfinished step " + std::to_string(steps) + " of '" + path +
                           "' cannot be undone: the journal was too small for one step", "raise pool.budget"));
  }
}

}  // namespace glean::drain
