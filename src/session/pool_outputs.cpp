// SPDX-License-Identifier: BSD-3-Clause
#include "session/pool_outputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/published.hpp"
#include "session/agreement.hpp"

namespace glean::session {
namespace {

constexpr std::uint64_t longest_nap_ns = 100'000'000;
constexpr std::uint64_t between_messages_ns = 200'000;
constexpr std::uint32_t has_error = 1, has_lost_drain = 2;   // what a rank brings along
static_assert(pool::output_slots <= 64);   // a set of slots is a word

base::Error joined(const std::optional<base::Error>& first, const base::Error& second) {
  if (!first) return second;
  return {first->code(), std::string(first->what()) + "; " + second.what(), first->hint()};
}

base::Error dropped_error(const PoolOutput& output) {
  return {base::Errc::not_found, "there is no '" + output.name.path() + "': all of its steps were dropped",
          "raise pool.budget, or choose another \"full\" for it"};
}

}  // namespace

PoolOutputs::PoolOutputs(pool::Pool& pool, MPI_Comm comm, CollectiveCalls& calls, int node_rank, double deadline_seconds, PastOutputs& past,
                         std::function<void()> keep_draining)
    : pool_(pool), comm_(comm), calls_(calls), rank_(node_rank), ranks_(static_cast<int>(pool.header().ranks)),
      deadline_seconds_(deadline_seconds), keep_draining_(std::move(keep_draining)), past_(past) {}

PoolOutputs::~PoolOutputs() {
  static_cast<void>(caught([&] {
    for (const auto& output : outputs_) past_.add(output->name, status(*output), output->failure);
  }));
}

// --- making and ending

pool::OutputKey PoolOutputs::claim_slot(const std::string& final_path) {
  std::optional<pool::OutputKey> claimed;
  const auto find_earlier = [&] {
    return std::find_if(outputs_.begin(), outputs_.end(), [&](const auto& output) {
      return output->name.leads_to(final_path) && is_current(*output) &&
             pool_.slot(output->key.slot).state.load(std::memory_order_acquire) == pool::OutputState::open;
    });
  };
  pool::Wait wait = waiting(-1);
  const bool has_claimed = wait.until([&] {
    forget_finished();
    const auto earlier = find_earlier();
    if (earlier != outputs_.end() && !(*earlier)->closed) {
      throw base::Error(base::Errc::invalid_state, "'" + (*earlier)->name.path() + "' is an open output of this session",
                        "close it before it is written anew");
    }
    if (are_all_held_open()) {
      throw base::Error(base::Errc::invalid_state,
                        fmt::format("{} outputs are open, and a session has no more at once", pool::output_slots), "close one first");
    }
    for (std::uint32_t index = 0; earlier == outputs_.end() && !claimed && index < pool::output_slots; ++index) {
      claimed = pool_.open_slot(index);
    }
    return claimed.has_value();
  });
  if (has_claimed) {
    pool::mark_path(pool_.slot(claimed->slot), final_path);
    return *claimed;
  }
  if (const auto earlier = find_earlier(); earlier != outputs_.end()) {
    throw base::Error(base::Errc::timeout, "waited " + wait.text() + " for the output before it: " + diagnose(**earlier));
  }
  throw base::Error(base::Errc::timeout, fmt::format("all {} places for outputs are taken: {}", pool::output_slots, diagnose()),
                    "close outputs, or wait for them, before opening more");
}

// No place becomes free while this rank waits: closing an output takes all ranks.
bool PoolOutputs::are_all_held_open() const {
  return std::count_if(outputs_.begin(), outputs_.end(), [&](const auto& output) {
           return !output->closed && is_current(*output) &&
                  pool_.slot(output->key.slot).state.load(std::memory_order_acquire) == pool::OutputState::open;
         }) >= static_cast<std::ptrdiff_t>(pool::output_slots);
}

void PoolOutputs::release_slot(pool::OutputKey key) {
  pool_.slot(key.slot).state.store(pool::OutputState::free, std::memory_order_release);
}

std::shared_ptr<PoolOutput> PoolOutputs::add(pool::OutputKey key, std::uint32_t job_slot, const OutputName& name) {
  outputs_.push_back(std::make_shared<PoolOutput>(PoolOutput{.key = key, .job_slot = job_slot, .name = name, .failure = {}}));
  return outputs_.back();
}

void PoolOutputs::report_progress(const PoolOutput& output, std::uint32_t flags) {
  pool_.rank_progress(output.key.slot, rank_).store(output.steps_ended | flags, std::memory_order_release);
}

void PoolOutputs::end_step(PoolOutput& output, std::uint64_t step) {
  if (output.abandoned) return;
  output.steps_ended = static_cast<std::uint32_t>(step + 1);
  report_progress(output, 0);
}

void PoolOutputs::close(PoolOutput& output, bool with_attributes) {
  if (output.abandoned) return;
  output.closed = true;
  output.has_closing_step = with_attributes;
  if (with_attributes) ++output.steps_ended;   // both at once: a drain that sees the step knows that it is the last
  report_progress(output, pool::rank_closed);
}

void PoolOutputs::abandon(PoolOutput& output) {
  output.closed = output.abandoned = true;
  if (!has_lost_a_rank(output)) report_progress(output, pool::rank_closed | pool::rank_abandoned);
}

std::vector<std::string> PoolOutputs::abandon_open() {
  std::vector<std::string> paths;
  for (const auto& output : outputs_) {
    if (output->closed) continue;
    abandon(*output);
    paths.push_back(output->name.path());
  }
  return paths;
}

void PoolOutputs::forget_finished() {
  std::erase_if(outputs_, [&](const std::shared_ptr<PoolOutput>& output) {
    if (!is_over(*output)) return false;
    past_.add(output->name, status(*output), output->all_dropped ? dropped_error(*output) : output->failure);
    if (rank_ == 0) release_slot(output->key);
    output->lock.reset();   // the program may keep the output
    return true;
  });
}

// --- what has become of them

bool PoolOutputs::is_current(const PoolOutput& output) const {
  return pool_.slot(output.key.slot).generation.load(std::memory_order_acquire) == output.key.generation;
}

pool::RanksOfOutput PoolOutputs::ranks_of(const PoolOutput& output) const { return pool::ranks_of_output(pool_, output.key.slot); }

bool PoolOutputs::is_whole(const PoolOutput& output) const {
  const pool::RanksOfOutput ranks = ranks_of(output);
  return ranks.all_closed && !ranks.any_abandoned;
}

// A slot is not used again before every rank that has to know knows what became of its output.
bool PoolOutputs::is_over(const PoolOutput& output) const {
  if (!output.closed) return false;
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  const auto state = slot.state.load(std::memory_order_acquire);
  if (!is_current(output)) return rank_ != 0;   // rank 0 releases what it forgets
  if (rank_ == 0 && slot.nodes.job_output.load(std::memory_order_acquire) != 0) return false;   // nodes speak of it
  switch (state) {
    case pool::OutputState::open: return false;
    case pool::OutputState::published: case pool::OutputState::free: case pool::OutputState::opening: return true;   // or the next one
    case pool::OutputState::abandoned:
      if (output.all_dropped) return true;
      break;
    case pool::OutputState::failed: break;
  }
  return output.failure || ranks_of(output).all_abandoned;
}

std::uint64_t PoolOutputs::failed(const PoolOutput& output) const {
  if (output.failure || output.abandoned) return 0;
  // The error first: when it is another generation's, the generation shows it.
  const std::uint32_t error = pool_.slot(output.key.slot).error.load(std::memory_order_acquire);
  return error != 0 && is_current(output) ? std::uint64_t{1} << output.job_slot : 0;
}

std::uint64_t PoolOutputs::failed_unnoticed() const {
  std::uint64_t slots = 0;
  for (const auto& output : outputs_) slots |= output->closed ? failed(*output) : 0;
  return slots;
}

base::Error PoolOutputs::error_in_slot(const PoolOutput& output) const {
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  const std::uint32_t error = slot.error.load(std::memory_order_acquire);
  return {static_cast<base::Errc>(error - 1),
          "'" + output.name.path() + "' cannot be completed and is not published: " + slot.message.data(), slot.hint.data()};
}

std::optional<base::Error> PoolOutputs::announce(std::uint64_t slots) {
  std::optional<base::Error> all;
  for (; slots != 0; slots &= slots - 1) {
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(slots));
    // The newest of a slot: rank 0 does not use it again before the ranks have met here.
    const auto output = std::find_if(outputs_.rbegin(), outputs_.rend(),
                                     [&](const auto& candidate) { return candidate->job_slot == slot; });
    const bool known = output != outputs_.rend();
    const base::Error error = error_of_first(comm_, known && failed(**output) != 0 ? std::optional(error_in_slot(**output)) : std::nullopt);
    // The drain of this node may not have heard of it yet.
    if (known && rank_ == 0) {
      pool::fail(pool_.slot((*output)->key.slot), static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
    }
    if (known) (*output)->failure = error;
    const int has_heard = known && !(*output)->told.empty() && std::string_view(error.what()).ends_with((*output)->told) ? 1 : 0;
    int all_have_heard = 0;
    reduce_all(comm_, &has_heard, &all_have_heard, 1, MPI_INT, MPI_LAND);
    if (all_have_heard == 0) all = joined(all, error);
  }
  return all;
}

bool PoolOutputs::is_published(const PoolOutput& output) const {
  // The state first: when it is another generation's, the generation shows it.
  const auto state = pool_.slot(output.key.slot).state.load(std::memory_order_acquire);
  return !is_current(output) || state == pool::OutputState::published || state == pool::OutputState::free ||
         state == pool::OutputState::opening;   // long ago
}

bool PoolOutputs::reached(const PoolOutput& output, Level level) const {
  if (is_published(output)) return true;
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  if (output.all_dropped && slot.state.load(std::memory_order_acquire) == pool::OutputState::abandoned) return true;
  const std::uint64_t steps = output.steps_ended;
  switch (level) {
    case Level::captured: return true;
    case Level::staged: return slot.steps.staged.load(std::memory_order_acquire) >= steps;
    case Level::written:
      if (!pool_.is_staged()) return slot.steps.written.load(std::memory_order_acquire) >= steps;
      [[fallthrough]];   // stagers say only what is durable
    case Level::durable:
      return !output.closed && (pool_.is_staged() ? slot.nodes.job_steps_synchronized : slot.steps.synchronized).load() >= steps;
  }
  return true;
}

// --- waiting

void PoolOutputs::ask_for_durable_steps(PoolOutput& output) {
  auto& up_to = pool_.slot(output.key.slot).steps.synchronize_up_to;
  std::uint64_t wanted = up_to.load(std::memory_order_relaxed);
  while (wanted < output.steps_ended && !up_to.compare_exchange_weak(wanted, output.steps_ended)) {}
}

// The progress of the drain, and of what it has for this rank.
std::uint64_t PoolOutputs::progress() const {
  std::uint64_t all = pool_.header().written_bytes.load(std::memory_order_relaxed) +
                      pool_.header().job_written_bytes.load(std::memory_order_relaxed);
  for (const auto& output : outputs_) {
    const pool::OutputSlot& slot = pool_.slot(output->key.slot);
    all += slot.steps.written.load(std::memory_order_relaxed) + slot.steps.synchronized.load(std::memory_order_relaxed) +
           slot.nodes.job_steps_synchronized.load(std::memory_order_relaxed) +
           static_cast<std::uint64_t>(slot.state.load(std::memory_order_relaxed));
  }
  return all;
}

pool::Wait PoolOutputs::waiting(double seconds) const {
  // What is waited for may be blocks that only the aggregator can move.
  pool::Wait wait(pool_.header().progress, seconds >= 0 ? seconds : deadline_seconds_,
                  waits_for_calls() ? between_messages_ns : longest_nap_ns);
  if (!(seconds >= 0)) wait.restart_with([this] { return progress(); });
  wait.meanwhile(keep_draining_);
  return wait;
}

std::optional<base::Error> PoolOutputs::wait_for(PoolOutput& output, Level level, pool::Wait& wait) {
  const Level least = pool_.is_staged() ? Level::written : Level::durable;
  if (level >= least && !output.closed) ask_for_durable_steps(output);
  return wait_until(output, wait, [&] { return reached(output, level); });
}

template <class Condition>
std::optional<base::Error> PoolOutputs::wait_until(PoolOutput& output, pool::Wait& wait, Condition holds) {
  std::optional<base::Error> lost;
  bool has_rung = false;
  const bool is_there = wait.until([&] {
    // No rank is told before the file is gone, and with it the space that it took.
    const pool::OutputSlot& slot = pool_.slot(output.key.slot);
    const bool kept = slot.discarded.load(std::memory_order_acquire) == 0 &&
                      slot.state.load(std::memory_order_acquire) == pool::OutputState::open;
    if (holds() || (failed(output) != 0 && !kept)) {
      // What this aggregator knows now, others may be waiting for while it is busy with something else.
      if (waits_for_calls()) keep_draining_();
      return true;
    }
    lost = drain_is_lost();
    if (!lost && root_is_gone() && pool_.drainer() == 0) {
      lost = base::Error(base::Errc::io, "the processes that drain '" + output.name.path() + "' are gone");
    }
    if (!std::exchange(has_rung, true)) pool::futex_signal(pool_.header().work);
    return lost || calls_.has_given_up();
  });
  if (lost) return lost;
  if (!is_there || calls_.has_given_up()) {
    return base::Error(base::Errc::timeout, "waited " + wait.text() + " for " + diagnose(output),
                       "the output goes on draining; wait again, or raise pool.deadline");
  }
  // What this aggregator knows now, others may be waiting for while it is busy with something else.
  if (waits_for_calls()) keep_draining_();
  return std::nullopt;
}

// The ranks of a node that is alone need no message for that.
CollectiveCalls::Brought PoolOutputs::bring_together(std::uint64_t slots, std::uint32_t flags, double seconds) {
  if (!pool_.is_shared()) return calls_.gather(slots, flags, seconds);
  const std::uint64_t mine[2] = {slots, flags};
  std::uint64_t all[2];
  reduce_all(comm_, mine, all, 2, MPI_UINT64_T, MPI_BOR);
  return {all[0], static_cast<std::uint32_t>(all[1]), {}};
}

PoolOutputs::Verdict PoolOutputs::wait(PoolOutput* only, Level level, double seconds,
                                       const std::optional<base::Error>& misuse, Call call) {
  InCall in_call(&calls_, call, only != nullptr ? only->name.path() : "");
  in_call.set_busy(true);
  pool::Wait wait = waiting(seconds);
  std::optional<base::Error> mine = misuse;
  std::uint64_t slots = 0;
  for (const auto& output : outputs_) {
    if (output->failure || output->abandoned || (only != nullptr && output.get() != only)) continue;
    const auto late = misuse ? std::nullopt : wait_for(*output, level, wait);
    if (late) mine = joined(mine, *late);
    const std::uint64_t has_failed = failed(*output);
    slots |= has_failed;
    if (level == Level::durable && !misuse && !late && has_failed == 0) promise(*output);
  }
  in_call.set_busy(false);
  const bool lost = mine && drain_is_lost();
  const CollectiveCalls::Brought all = bring_together(slots, (mine ? has_error : 0) | (lost ? has_lost_drain : 0), seconds);
  if (all.gave_up) return {all.gave_up, true};

  Verdict verdict;
  if (all.slots != 0) verdict.error = announce(all.slots);
  if (only != nullptr && only->failure) verdict.error = only->failure;   // as often as it is asked
  if (all.flags != 0) {
    verdict.drain_is_lost = (all.flags & has_lost_drain) != 0;
    if (verdict.drain_is_lost && pool_.is_shared()) pool_.header().lost_nodes.store(1, std::memory_order_release);
    // A rank that has waited for a node that is not drained any more does not know of it.
    const base::Error other = *caught([&] { agree(comm_, verdict.drain_is_lost && !lost ? std::nullopt : mine); });
    verdict.timed_out = other.code() == base::Errc::timeout && !verdict.drain_is_lost;
    verdict.error = joined(verdict.error, other);
  }
  forget_finished();
  return verdict;
}

// Promises the steps of an output that is open and whose steps are durable here. By each rank before they agree, so before any of them
// returns: another node's drain may hear at once that a rank has abandoned it then, and would remove the file.
void PoolOutputs::promise(const PoolOutput& output) {
  if (output.closed || !is_current(output)) return;
  pool::raise(pool_.slot(output.key.slot).synchronized_writes, std::uint64_t{output.steps_ended} + 1);
}

std::vector<std::string> PoolOutputs::wait_alone(double deadline_seconds) {
  pool::Wait wait(pool_.header().progress, deadline_seconds, waits_for_calls() ? between_messages_ns : longest_nap_ns);
  wait.restart_with([this] { return progress(); }).meanwhile(keep_draining_);
  std::vector<std::string> errors;
  for (const auto& output : outputs_) {
    if (output->failure || output->abandoned || (!pool_.is_shared() && !ranks_of(*output).all_closed)) continue;
    if (const auto late = wait_for(*output, Level::durable, wait)) errors.emplace_back(late->what());
    else if (failed(*output) != 0) errors.emplace_back(error_in_slot(*output).what());
  }
  return errors;
}

bool PoolOutputs::any_incomplete() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [&](const auto& output) {
    return !output->failure && is_whole(*output) && failed(*output) == 0 && !is_published(*output) && !is_renamed(*output);
  });
}

void PoolOutputs::fail_open(const std::string& why) {
  for (const auto& output : outputs_) {
    if (!is_current(*output) || is_whole(*output)) continue;
    pool::fail(pool_.slot(output->key.slot), static_cast<std::uint32_t>(base::Errc::invalid_state), why, "");
  }
}

std::string PoolOutputs::wait_to_read(PoolOutput& output, const InputOptions& options) {
  if (output.all_dropped) throw dropped_error(output);
  if (output.failure) throw base::Error(*output.failure);
  const bool through = options.reading == Reading::written;
  if (!through && !output.closed) {
    throw base::Error(base::Errc::invalid_state, "cannot read '" + output.name.path() + "': this rank has not closed it",
                      "close it, or read what is written with Reading::written");
  }
  pool::Wait wait = waiting(options.seconds);
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  const auto& durable = pool_.is_shared() ? slot.nodes.job_steps_synchronized : slot.steps.synchronized;   // by all nodes
  if (through && is_current(output)) ask_for_durable_steps(output);
  const auto late = wait_until(output, wait, [&] {
    return is_published(output) || output.all_dropped ||
           (through && (durable.load(std::memory_order_acquire) >= output.steps_ended || is_renamed(output)));
  });
  if (late) throw base::Error(*late);
  if (failed(output) != 0) throw error_in_slot(output);
  if (output.all_dropped) throw dropped_error(output);
  return is_published(output) || is_renamed(output) ? output.name.files().final_path : output.name.files().working_path;
}

std::string PoolOutputs::diagnose(const PoolOutput& output) const {
  const pool::OutputSlot& slot = pool_.slot(output.key.slot);
  const std::uint32_t steps = output.steps_ended - (output.has_closing_step ? 1 : 0);   // of the program
  std::vector<int> behind = pool::ranks_before_step(pool_, output.key.slot, steps);
  std::vector<int> open = output.closed ? pool::ranks_with_output_open(pool_, output.key.slot) : std::vector<int>{};
  // One rank of the other nodes is known, or none if they have not said anything yet.
  const auto add = [&](std::vector<int>& these, std::uint32_t job_rank) {
    const int rank = static_cast<int>(job_rank);
    if (job_rank != nodes::NodeProgress::no_rank && !pool_.is_of_this_node(rank)) these.push_back(rank);
  };
  const bool job_is_behind = pool_.is_shared() && slot.nodes.job_steps_ended.load() < steps;
  const bool job_is_open = pool_.is_shared() && output.closed && slot.nodes.job_closed.load() == 0;
  if (job_is_behind) add(behind, slot.nodes.job_last_rank.load());
  if (job_is_open) add(open, slot.nodes.job_open_rank.load());
  const auto have = [](const std::vector<int>& these) {
    if (these.empty()) return std::string("another node has");
    return base::readable_ranks(these) + (these.size() == 1 ? " has" : " have");
  };
  if (!behind.empty() || job_is_behind) {
    return fmt::format("'{}': {} not ended step {}", output.name.path(), have(behind), steps - 1);
  }
  if (!open.empty() || job_is_open) return fmt::format("'{}': {} not closed it", output.name.path(), have(open));
  return fmt::format("'{}': the drain has written {} of {} steps, {} MiB wait in the pool", output.name.path(),
                     slot.steps.written.load(), output.steps_ended, pool_.used_bytes() / base::MiB);
}

std::string PoolOutputs::diagnose() const {
  std::vector<std::string> texts;
  for (const auto& output : outputs_) {
    if (!output->failure && !output->abandoned) texts.push_back(diagnose(*output));
  }
  if (exchange_ != nullptr && !exchange_->diagnose().empty()) texts.push_back(exchange_->diagnose());
  return texts.empty() ? "no output is open" : fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace glean::session
