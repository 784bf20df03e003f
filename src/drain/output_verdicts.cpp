// SPDX-License-Identifier: BSD-3-Clause
//
// An output of which several nodes may drop steps. Each has decided by itself what it captures of a step; only when all have,
// it is known whether the step is in the file, and where. Until then what was put of it stays as it is: not sent, not written.
#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "drain/output_drain.hpp"

namespace glean::drain {

bool OutputDrain::is_to_be_written(const pool::Record& record, pool::JournalReader& journal) {
  if (record.step < steps_judged_) {
    if (record_of(record.step)) return true;
    retire(record, journal);
  } else if (ranks_ == Ranks::gone) {
    retire(record, journal);   // not all nodes had begun the step
  } else {
    held_[record.step].push_back({&record, &journal});
    waiting_bytes_ += record.payload_bytes;
  }
  return false;
}

void OutputDrain::look_at_verdicts() {
  const auto& variables = description_.layout.variables;
  const bool has_records = std::any_of(variables.begin(), variables.end(), [](const auto& variable) { return variable.per_step(); });
  const std::uint64_t judged = pool::verdict_of(slot_).judged;
  // Without records a file is kept as a whole, or dropped.
  steps_judged_ = !has_records && judged != 0 ? std::uint64_t{pool::rank_steps} : judged;
  steps_complete_ = std::min(steps_complete_, steps_judged_);
  while (!held_.empty() && held_.begin()->first < steps_judged_) {
    const auto step = held_.extract(held_.begin());
    for (const Kept& each : step.mapped()) {
      waiting_bytes_ -= std::min(waiting_bytes_, each.record->payload_bytes);
      on_put(*each.record, *each.journal);
    }
  }
}

void OutputDrain::give_held_back() {
  for (const auto& [step, held] : std::exchange(held_, {})) {
    for (const Kept& each : held) retire(*each.record, *each.journal);
  }
}

std::optional<std::uint64_t> OutputDrain::record_of(std::uint64_t step) const {
  if (!nodes_drop()) return step;
  if (steps_judged_ == pool::rank_steps) return pool::verdict_of(slot_).kept != 0 ? std::optional(step) : std::nullopt;
  return pool::record_of(slot_, step);
}

std::uint64_t OutputDrain::record_in_file(const store::VariableLayout& variable, std::uint64_t step) const {
  if (!variable.per_step()) return 0;
  if (const auto record = record_of(step)) return *record;
  throw base::Error(base::Errc::io, "what the pool says of the steps of '" + trace_.path + "' is damaged");
}

std::uint64_t OutputDrain::kept_before(std::uint64_t steps) const { return nodes_drop() ? pool::kept_before(slot_, steps) : steps; }

// All steps that there are have been judged, or there is one node only.
bool OutputDrain::has_dropped_all() const {
  if (nodes_drop()) return steps_begun_ != 0 && (pool::verdict_of(slot_).kept == 0 || kept_before(steps_begun_) == 0);
  return steps_begun_ == 0 && slot_.steps_dropped.load(std::memory_order_acquire) != 0;
}

void OutputDrain::tell_of_drops() {
  trace_.steps_dropped = slot_.steps_dropped.load(std::memory_order_acquire);
  if (!nodes_drop()) return;
  const std::uint64_t steps = std::min(steps_ended_, pool::verdict_of(slot_).judged);
  trace_.steps_dropped = dropped_ ? steps_ended_ : steps - std::min(steps, kept_before(steps));
  if (trace_.steps_dropped == 0 || !publishes() || ranks_ == Ranks::gone) return;
  base::log(dropped_ ? base::LogLevel::warning : base::LogLevel::info,
            "'{}': {} of {} steps were dropped, the drain of a node did not keep up{}", trace_.path, trace_.steps_dropped, steps_ended_,
            dropped_ ? ": there is no file" : "");
}

}  // namespace glean::drain
