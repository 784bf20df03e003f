// SPDX-License-Identifier: BSD-3-Clause
#include "pool/verdicts.hpp"

#include <algorithm>

namespace glean::pool {

static_assert(kept_steps_known < std::tuple_size_v<decltype(OutputSlot::job_kept_steps)>);   // one more may just be written

Verdict verdict_of(const OutputSlot& slot) { return Verdict::of(slot.job_verdict.load(std::memory_order_acquire)); }

std::optional<std::uint64_t> record_of(const OutputSlot& slot, std::uint64_t step) {
  const Verdict verdict = verdict_of(slot);
  if (step >= verdict.judged) return std::nullopt;
  for (std::uint64_t back = 1; back <= std::min(verdict.kept, kept_steps_known); ++back) {
    const std::uint64_t record = verdict.kept - back;
    const std::uint64_t its = slot.job_kept_steps[record % slot.job_kept_steps.size()].load(std::memory_order_acquire);
    if (its == step) return record;
    if (its < step) break;
  }
  return std::nullopt;
}

std::uint64_t kept_before(const OutputSlot& slot, std::uint64_t steps) {
  const Verdict verdict = verdict_of(slot);
  const std::uint64_t dropped = verdict.judged - std::min(verdict.judged, verdict.kept);
  const std::uint64_t at_least = steps - std::min(steps, dropped);
  if (steps >= verdict.judged) return at_least;
  for (std::uint64_t back = 1; back <= std::min(verdict.kept, kept_steps_known); ++back) {
    const std::uint64_t record = verdict.kept - back;
    if (slot.job_kept_steps[record % slot.job_kept_steps.size()].load(std::memory_order_acquire) < steps) return record + 1;
  }
  return verdict.kept <= kept_steps_known ? 0 : at_least;
}

std::vector<std::uint64_t> last_kept(const OutputSlot& slot) {
  const Verdict verdict = verdict_of(slot);
  std::vector<std::uint64_t> steps;
  for (std::uint64_t back = std::min(verdict.kept, kept_steps_known); back >= 1; --back) {
    steps.push_back(slot.job_kept_steps[(verdict.kept - back) % slot.job_kept_steps.size()].load(std::memory_order_acquire));
  }
  return steps;
}

// A decision gives its place to another one when its step is judged, and all nodes have decided before that. So of every step that
// is not judged anywhere the bit is the step's own, on all nodes that have decided it.
Decisions decisions_of(const OutputSlot& slot) {
  Decisions all;
  const std::uint64_t judged = all.decided = verdict_of(slot).judged;
  if (Decision::of(slot.decisions[0].load(std::memory_order_acquire)).what == DropDecision::none) return all;   // it does not drop
  for (std::uint64_t i = 0; i < slot.decisions.size(); ++i) {
    const auto decision = Decision::of(slot.decisions[(judged + i) % slot.decisions.size()].load(std::memory_order_acquire));
    if (decision.what == DropDecision::drop) all.drops |= std::uint64_t{1} << (judged + i) % slot.decisions.size();
    if (decision.what != DropDecision::none && decision.step == all.decided) ++all.decided;
  }
  return all;
}

void judge(OutputSlot& slot, const Decisions& of_all) {
  Verdict verdict = verdict_of(slot);
  for (; verdict.judged < of_all.decided; ++verdict.judged) {
    if ((of_all.drops >> verdict.judged % 64 & 1) != 0) continue;
    slot.job_kept_steps[verdict.kept++ % slot.job_kept_steps.size()].store(static_cast<std::uint32_t>(verdict.judged),
                                                                           std::memory_order_release);
  }
  slot.job_verdict.store(verdict.word(), std::memory_order_release);
}

void set_verdict(OutputSlot& slot, const Verdict& verdict, const std::vector<std::uint64_t>& last) {
  const std::uint64_t known = std::min({last.size(), verdict.kept, kept_steps_known});
  for (std::uint64_t back = 1; back <= known; ++back) {
    slot.job_kept_steps[(verdict.kept - back) % slot.job_kept_steps.size()] = static_cast<std::uint32_t>(last[last.size() - back]);
  }
  slot.job_verdict.store(verdict.word(), std::memory_order_release);
}

bool too_many_wait(const OutputSlot& slot, std::uint64_t step) {
  const std::uint64_t written = slot.steps_written.load(std::memory_order_acquire);
  const Verdict verdict = verdict_of(slot);
  std::uint64_t waiting = 0;
  for (const std::uint64_t kept : last_kept(slot)) waiting += kept >= written ? 1 : 0;
  for (std::uint64_t next = verdict.judged; next < step; ++next) {
    const auto decision = Decision::of(slot.decisions[next % slot.decisions.size()].load(std::memory_order_acquire));
    waiting += decision.step == next && decision.what == DropDecision::keep ? 1 : 0;
  }
  return waiting >= kept_steps_known;
}

}  // namespace glean::pool
