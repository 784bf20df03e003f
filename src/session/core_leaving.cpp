// SPDX-License-Identifier: BSD-3-Clause
//
// A rank ends its session without the others: MPI is finalized, an exception passes, or the session is broken.
#include <string>

#include "base/log.hpp"
#include "session/agreement.hpp"
#include "session/byte_opening.hpp"
#include "session/core.hpp"

namespace glean::session {

// No rank waits for another. What the ranks have captured as complete steps is completed here or by `glean recover`.
void Core::leave_broken() noexcept {
  if (!closed_) return leave();
  if (drain_ && any_is_open(*pool_)) drain_->leave_unfinished("the session ends before everything is written");
  leave_nodes();
  release();
}

void Core::leave() noexcept {
  if (closed_) return;
  closed_ = true;
  if (collective_) collective_->leave_session();
  const auto error = caught([&] {
    if (!outputs_) return;
    outputs_->abandon_open();
    recorder_->ring_the_drain();
    if (is_shared()) return part_from_nodes();
    // A helper completes what all ranks have closed, and needs no rank to wait for it.
    if (!nodes_->is_aggregator() || drain_->is_helper()) return;
    const bool is_broken = collective_->is_broken();
    if (!is_broken && outputs_->has_lost_a_rank()) return drain_->end_without_ranks("a rank has ended without closing its outputs");
    for (const std::string& text : outputs_->wait_alone(deadline_seconds_)) base::log(base::LogLevel::error, "{}", text);
    if (is_broken && any_is_open(*pool_)) return drain_->end_without_ranks("the ranks could not close the session together");
    ByteOutput::finish_all(*this);
    if (outputs_->any_incomplete()) throw base::Error(base::Errc::timeout, "not all that was closed is complete");
    if (!open_and_kept(*pool_).empty()) drain_->end_without_ranks("files were open when the program ended");
  });
  if (error) base::log(base::LogLevel::error, "leaving the session: {}", error->what());
  if (error && drain_) drain_->leave_unfinished("the session ends before everything is written");
  leave_nodes();
  if (drain_ && !drain_->leaves_the_pool()) drain_->finish();
  release();
}

}  // namespace glean::session
