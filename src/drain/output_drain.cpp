// SPDX-License-Identifier: BSD-3-Clause
#include "drain/output_drain.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "drain/analyst.hpp"
#include "drain/consumers.hpp"
#include "drain/steps.hpp"
#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"
#include "store/windows/range_error.hpp"

namespace glean::drain {
namespace {

// What a drain has noted for the next one has no checksum. That it can be is the least.
void check_notes(const DrainedOutput& output) {
  const pool::RanksOfOutput ranks = pool::ranks_of_output(output.pool, output.key.slot);
  const StepCounts& steps = output.steps;
  const bool has_ranks = output.pool.header().ranks != 0;   // else it knows what the nodes with ranks have said
  const std::uint64_t most = has_ranks ? ranks.most_ended : output.slot.nodes.job_steps_begun.load(std::memory_order_acquire);
  // A stager may have taken in more than it has heard of.
  const bool has_heard_all = !output.pool.is_stager() || output.ranks == Ranks::gone;
  const bool is_too_long = has_heard_all && output.slot.steps.highest_end.load(std::memory_order_acquire) >
                                                store::whole_size(output.description.layout, most + 1);
  if (output.slot.state.load(std::memory_order_acquire) == pool::OutputState::open && steps.written <= ranks.steps_ended &&
      steps.synchronized <= steps.written && steps.records <= ranks.steps_ended && !is_too_long) {
    return;
  }
  throw base::Error(base::Errc::io, "what the pool says of '" + output.trace.path + "' is damaged");
}

}  // namespace

OutputDrain::OutputDrain(pool::Pool& pool, pool::OutputKey key, const pool::DescriptionInPool& description,
                         store::SystemCalls& calls, Bytes request_bytes, Jobs& jobs, ExchangeBlocks& blocks,
                         SpillFiles& spill, Consumers& consumers, Analyst& analyst, Ranks ranks, bool inherited)
    : output_{pool, key, calls, spill, ranks, inherited, consumers, analyst},
      nodes_(pool.is_shared() ? std::make_unique<NodeShare>(output_, blocks) : nullptr),
      log_(output_), work_(output_, *this, request_bytes, jobs, blocks), file_(output_), life_(output_, work_, file_, description.chunks),
      order_(std::make_unique<Steps>(output_, work_, life_, file_, log_, kept_)) {
  output_.nodes = nodes_.get();
  try {
    take_over(description);
    if (!life_.is_writing()) return;
    if (const auto lost = file_.open(order_->shares_file(), life_.is_retried(), order_->is_left_unclosed())) life_.fail(*lost);
  } catch (const base::Error& error) {
    life_.storage_failed(error);
  }
}

void OutputDrain::take_over(const pool::DescriptionInPool& description) {
  const pool::OutputSlot& slot = output_.slot;
  StepCounts& steps = output_.steps;
  steps.staged = steps.written = slot.steps.written.load(std::memory_order_acquire);
  steps.synchronized = slot.steps.synchronized.load(std::memory_order_acquire);
  steps.records = slot.steps.records.load(std::memory_order_acquire);
  output_.trace.range_errors = slot.steps.range_errors.load(std::memory_order_acquire);
  life_.retry();
  try {
    log_.read();
    output_.description = store::OutputDescription::decode_names(description.bytes);
    output_.trace.path = output_.description.display_path;
    if (!description.complete) {
      throw base::Error(base::Errc::io, "'" + output_.trace.path + "' was just being opened when the job ended");
    }
    output_.description = store::OutputDescription::decode(description.bytes);
    file_.follow_new_name();
    if (output_.description.checksums) output_.checksums = Checksums(SumsState::recorded);
    if (output_.description.is_bytes) {
      auto stream = std::make_unique<Stream>(output_, work_, life_, file_, kept_);
      stream_ = stream.get();
      order_ = std::move(stream);
    }
    order_->take_over();
    check_notes(output_);
    output_.is_done_here = output_.may_come_again() && output_.ranks == Ranks::working && !output_.publishes() &&
                           slot.nodes.part_durable.load(std::memory_order_acquire) != 0;
  } catch (const base::Error& error) {
    return life_.fail(error);
  }
  steps.end = std::max(output_.description.layout.header_bytes, slot.steps.highest_end.load(std::memory_order_acquire));
  work_.reach(steps.end);
  if (slot.error_claimed.load(std::memory_order_acquire) != 0 && slot.error.load(std::memory_order_acquire) == 0 &&
      output_.ranks == Ranks::gone) {
    // A process was killed while it said what had failed.
    output_.slot.error_claimed = 0;
    life_.fail(base::Error(base::Errc::io, "'" + output_.trace.path + "' had failed when the job ended"));
  }
}

// --- what the ranks have done

void OutputDrain::look_at_ranks() {
  const pool::RanksOfOutput ranks = pool::ranks_of_output(output_.pool, output_.key.slot);
  if (ranks.any_abandoned) life_.look_at_abandoned();
  if (output_.ranks == Ranks::working) {
    output_.steps.ended = output_.steps.complete = ranks.steps_ended;
    output_.steps.begun = ranks.most_ended;
    output_.all_closed = ranks.all_closed;
  } else if (!std::exchange(is_judged_, true)) {
    order_->judge(ranks);
  }
  if (nodes_) nodes_->look(ranks);
  if (output_.ranks == Ranks::working && output_.all_closed) output_.note_closing();
  order_->look(ranks);
}

bool OutputDrain::takes(const pool::Record& record) { return !life_.is_writing() || order_->takes(record); }

void OutputDrain::on_put(const pool::Record& record, pool::JournalReader& journal) {
  const TakenRecord taken{&record, &journal};
  if (life_.now() == Life::undecided) unread_.push_back(taken);
  if (life_.has_failed()) output_.retire(taken);
  if (!life_.is_writing()) return;
  try {
    order_->on_put(taken);
  } catch (const base::Error& error) {
    life_.fail(error);
    output_.retire(taken);
  }
}

// --- results of jobs

void OutputDrain::window_done(const store::Window& window) {
  work_.written(window);
  output_.trace.written_ns = base::now_ns();
  output_.trace.bytes += window.bytes;
  output_.checksums.add(window.sums);
  output_.pool.header().written_bytes.fetch_add(window.bytes, std::memory_order_relaxed);
  for (const auto& fill : window.fills) order_->filled(fill.step);
  for (const auto& part : window.parts) part_written(PendingPiece::of(*part.typed), part.bytes);
}

void OutputDrain::part_written(PendingPiece& pending, Bytes bytes) {
  pending.unwritten_bytes -= bytes;
  if (pending.unwritten_bytes != 0) return;
  order_->written(pending);
  work_.forget(pending);
}

void OutputDrain::arrived(const ExchangeBlock& block) {
  if (!life_.is_writing()) return;
  nodes_->arrived(block);
  if (PendingPiece* const pending = work_.find(block.record)) part_written(*pending, block.file_bytes);
}

void OutputDrain::send_again(int node) {
  if (!life_.is_writing() || !output_.is_kept_until_durable()) return;
  const pool::SlotNodes& nodes = output_.slot.nodes;
  if (nodes.kept_from_step.load(std::memory_order_acquire) > nodes.job_steps_synchronized.load(std::memory_order_acquire)) {
    return life_.fail(base::Error(base::Errc::io, "'" + output_.trace.path + "': a stager is lost with what it had of it, and the pool "
                                  "had no room to keep all of it", "raise pool.budget"));
  }
  order_->send_again(node);
}

void OutputDrain::synchronized(const Job& job) {
  is_synchronizing_ = false;
  output_.steps.synchronized = std::max(output_.steps.synchronized, job.steps);
  pool::raise(output_.slot.writes.durable_tick, job.tick);
  output_.slot.steps.synchronized.store(output_.steps.synchronized, std::memory_order_release);
  pool::futex_signal(output_.pool.header().progress);
}

void OutputDrain::range_error(const store::Assembled& assembled) {
  if (assembled.range_errors == 0) return;
  output_.trace.range_errors += assembled.range_errors;
  output_.slot.steps.range_errors.fetch_add(assembled.range_errors, std::memory_order_relaxed);
  if (output_.description.layout.range == base::RangeRule::error) {
    const store::RangeError& first = assembled.first_range_error;
    life_.fail(store::out_of_range_error(first, PendingPiece::of(*first.typed).elements()));
  }
}

// --- moving on

void OutputDrain::progress() {
  for (std::optional<Life> before; before != life_.now();) {
    before = life_.now();
    step();
  }
}

void OutputDrain::step() {
  life_.look();
  if (life_.is_writing()) return write();
  if (life_.has_ended() || work_.in_flight() != 0) return;   // of what has ended, the slot may be another output's by now
  if (life_.now() == Life::postponed) return life_.leave_for_later();
  if (!life_.has_failed()) return;
  drop_everything();
  if (life_.now() == Life::failed) work_.queue(Job::Kind::discard);   // at once: others may need the space
  else if (output_.all_closed) finish_failed();
}

void OutputDrain::write() {
  pool::OutputSlot& slot = output_.slot;
  StepCounts& steps = output_.steps;
  const std::uint64_t staged = steps.staged, written = steps.written;
  order_->progress();
  if (!life_.is_writing()) return;
  slot.steps.staged.store(steps.staged, std::memory_order_release);
  slot.steps.written.store(steps.written, std::memory_order_release);
  // After what says that they are written, for the drain that takes over.
  if (steps.written != 0) log_.release(steps.written - 1);
  kept_.look();
  if (staged != steps.staged || written != steps.written) pool::futex_signal(output_.pool.header().progress);

  const std::uint64_t wanted = slot.steps.synchronize_up_to.load(std::memory_order_acquire);
  // A rank that asks for fewer steps than another must not wait for steps that it has not ended itself.
  const bool caught_up = steps.written == steps.staged && steps.written > steps.synchronized;
  const bool may_synchronize = !is_synchronizing_ && life_.now() != Life::publishing;
  const bool wants_steps = wanted > steps.synchronized && (steps.written >= wanted || caught_up);
  if (may_synchronize && (wants_steps || (stream_ != nullptr && stream_->wants_synchronized()))) {
    is_synchronizing_ = true;
    work_.queue(Job::Kind::synchronize);
  }
  if (nodes_) {
    order_->tell_nodes();
    nodes_->tell_sent(!order_->lacks_writes());
  }
  // Others may just say again how far they are, to a stager that has begun anew.
  if (is_published_elsewhere() && work_.in_flight() == 0) return published();
  const std::uint64_t all_steps = nodes_ ? nodes_->steps_ended() : steps.complete;
  const bool is_whole = steps.written == steps.staged && steps.staged == steps.complete && steps.complete == all_steps;
  if (output_.all_closed && !order_->lacks_writes() && is_whole) complete();
}

// The file is published when all that ranks have put is in it. Of several nodes each makes its part durable, and when those of all are,
// one of them publishes.
void OutputDrain::complete() {
  if (!output_.is_done_here) order_->finish();
  if (!life_.is_writing() || work_.in_flight() != 0 || life_.now() == Life::publishing) return;
  if (!output_.analyst.is_done_with(output_.key)) return;   // its tables appear before it
  pool::OutputSlot& slot = output_.slot;
  if (nodes_ && life_.now() == Life::writing) {
    life_.move_on(Life::completing);
    is_synchronizing_ = true;
    return work_.queue(Job::Kind::synchronize);
  }
  if (nodes_) {
    if (output_.is_elsewhere()) output_.trace.state = "staged";
    if (slot.nodes.part_durable.exchange(1) == 0) pool::futex_signal(output_.pool.header().progress);
    if (is_published_elsewhere()) return published();
    if (!output_.publishes() || slot.nodes.job_parts_durable.load(std::memory_order_acquire) == 0) return;
  } else if (!order_->may_publish()) {
    return;
  }
  life_.move_on(Life::publishing);
  work_.queue(Job::Kind::publish);
}

// And this node has done its part. What is on its way from here then goes to a stager that needs none of it.
bool OutputDrain::is_published_elsewhere() const {
  const pool::SlotNodes& nodes = output_.slot.nodes;
  return nodes_ != nullptr && !output_.publishes() && nodes.part_durable.load(std::memory_order_acquire) != 0 &&
         nodes.job_published.load(std::memory_order_acquire) != 0 && (!output_.is_kept_until_durable() || blocks_away_ == 0);
}

void OutputDrain::drop_everything() {
  work_.retire_all();
  order_->drop();
  for (const TakenRecord& each : std::exchange(unread_, {})) output_.retire(each);
  log_.release(no_step);
  kept_.release_all();
  output_.consumers.ended(output_);
}

// --- its end

void OutputDrain::published() {
  output_.trace.steps = output_.steps.of_program(output_.steps.written);
  if (output_.is_kept_until_durable()) {   // what was to be sent again
    work_.drop();
    work_.retire_all();
    if (stream_ != nullptr) stream_->drop();
  }
  log_.release(no_step);
  kept_.release_all();
  life_.published();
}

void OutputDrain::discard_file() noexcept {
  // While ranks work, the publisher removes what it has made: another node may not have heard yet that something in it was promised.
  const bool is_publishers = output_.ranks == Ranks::working && output_.nodes != nullptr && !output_.description.is_made_by_ranks();
  const bool is_clients = output_.ranks == Ranks::working && output_.description.is_made_by_ranks() && output_.pool.is_stager();
  if ((is_publishers && !output_.publishes()) || is_clients) return;
  file_.discard(life_.failure() != Failure::dropped && order_->has_promise());
}

void OutputDrain::finish_failed() {
  drop_everything();
  life_.finish_failed();
}

std::uint64_t OutputDrain::records() const {
  return std::min(std::max(output_.steps.records, nodes_ ? nodes_->records() : 0), output_.steps.written);
}

Bytes OutputDrain::highest_end() const { return std::max(output_.steps.end, nodes_ ? nodes_->highest_end() : 0); }

}  // namespace glean::drain
