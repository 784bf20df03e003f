// SPDX-License-Identifier: BSD-3-Clause
//
// The outputs in the node's pool as one rank sees them: how far the drain is, and what went wrong.
//
// What went wrong stands in shared memory, and ranks look at it at different times. So no rank acts on what it alone has
// seen: the ranks agree which outputs have failed, and with that all of them have been told.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "nodes/exchange.hpp"
#include "glean/glean.hpp"
#include "pool/journal.hpp"
#include "pool/ranks_of_output.hpp"
#include "pool/wait.hpp"
#include "session/collective_calls.hpp"
#include "session/past_outputs.hpp"

namespace glean::session {

// One output that is open or draining.
struct PoolOutput {
  pool::OutputKey key;
  std::uint32_t job_slot = 0;           // of the root's pool: the same on all nodes
  OutputName name;
  std::uint32_t steps_ended = 0;        // by this rank
  bool closed = false;                  // by this rank
  bool has_closing_step = false;        // the last of steps_ended, which has attributes only and is none of the program's
  bool abandoned = false;               // by this rank, which is not interested in its fate
  bool all_dropped = false;             // closed, and all of its steps were dropped
  std::uint64_t steps_dropped = 0;      // of those that this rank has begun
  std::optional<base::Error> failure;   // what all ranks have been told
  std::string told{};                   // by its close, of what makes it fail: this rank
  std::shared_ptr<const void> lock{};   // that others see as long as it is written
};

class PoolOutputs {
 public:
  // `pool`, `comm`, `calls` and `past` must live as long. What is let go of is told to `past`.
  PoolOutputs(pool::Pool& pool, MPI_Comm comm, CollectiveCalls& calls, int node_rank, double deadline_seconds, PastOutputs& past,
              std::function<void()> keep_draining);
  ~PoolOutputs();
  PoolOutputs(const PoolOutputs&) = delete;
  PoolOutputs& operator=(const PoolOutputs&) = delete;

  // On the aggregator of one of several nodes. nullptr: no more.
  void set_exchange(const nodes::Exchange* exchange) { exchange_ = exchange; }

  // A slot for a new output that becomes `final_path`. Aggregators only. Blocks while all slots are in use, and while an
  // earlier output of that name drains: the later one must win. Throws timeout, and invalid_state when the earlier one
  // is not even closed.
  [[nodiscard]] pool::OutputKey claim_slot(const std::string& final_path);
  // The slot was claimed for nothing. Aggregators only.
  void release_slot(pool::OutputKey key);
  [[nodiscard]] std::shared_ptr<PoolOutput> add(pool::OutputKey key, std::uint32_t job_slot, const OutputName& name);

  // This rank ends a step, closes or abandons. Local, one system call (of the caller, which rings the drain).
  void end_step(PoolOutput& output, std::uint64_t step);
  // `with_attributes`: this is a step, too.
  void close(PoolOutput& output, bool with_attributes);
  void abandon(PoolOutput& output);
  // The node's aggregator was killed. Local, one system call.
  [[nodiscard]] bool root_is_gone() const;
  // On several nodes: so was the process that drains this one, and none can go on for it, because what it was exchanging with the others is
  // gone; or the others cannot be reached. Local, one system call.
  [[nodiscard]] std::optional<base::Error> drain_is_lost() const;
  // If that is what all ranks have agreed on, this node knows it from now on: another may have seen it first. Local.
  void hear_of_loss(const base::Error& error);
  // So was one of them, or another rank that had not closed the output, or any output. What a rank then does on its way out is no
  // decision of the program: nothing is marked as abandoned or failed, and the steps that all ranks have ended are recovered.
  // Local, a system call for each rank.
  [[nodiscard]] bool has_lost_a_rank(const PoolOutput& output) const;
  [[nodiscard]] bool has_lost_a_rank() const;
  // Gives up all that is not closed. Returns their paths. Local.
  std::vector<std::string> abandon_open();

  // Waits until `only` (nullptr: every output) is at `level`, then agrees. `seconds` < 0: the configured deadline, which
  // starts anew whenever the drain makes progress. `misuse`: as Backend::wait. Collective, blocks, one reduction.
  struct Verdict {
    std::optional<base::Error> error;   // the same on all ranks
    bool timed_out = false;
    bool drain_is_lost = false;         // of some node
  };
  [[nodiscard]] Verdict wait(PoolOutput* only, Level level, double seconds, const std::optional<base::Error>& misuse,
                             Call call = Call::wait);

  // Whether what this rank has ended is at `level`, as its node knows it; false when it has failed. Local, does not wait.
  [[nodiscard]] bool has_reached(PoolOutput& output, Level level);

  // The closed outputs that have failed and of which no rank knows, as a set of slots. Local.
  [[nodiscard]] std::uint64_t failed_unnoticed() const;
  // Makes the failures in `slots` known: returns those of which not all ranks have been told, as one error on all ranks. Collective, one
  // broadcast and two reductions each.
  [[nodiscard]] std::optional<base::Error> announce(std::uint64_t slots);

  // Waits until the outputs that all ranks have closed (of several nodes, that this one has) are finished, or nothing moves for so
  // long. Local: for a rank that cannot talk to the others any more. Returns the errors.
  [[nodiscard]] std::vector<std::string> wait_alone(double deadline_seconds);
  // Some that all ranks of this node have closed are not finished. Local, a system call for each of them.
  [[nodiscard]] bool any_incomplete() const;
  // The others, that ranks of this node have not closed, have failed. Local.
  void fail_open(const std::string& why);

  // As this rank sees it now. Local.
  [[nodiscard]] OutputStatus status(const PoolOutput& output) const;
  [[nodiscard]] std::vector<OutputStatus> statuses() const;   // oldest first
  // The newest output of that name that this rank has not given up; nullptr: none. Local.
  [[nodiscard]] std::shared_ptr<PoolOutput> find(const std::string& final_path) const;
  // Those that this rank has closed, or not, and has not given up, oldest first. Local.
  enum class ByThisRank { closed, open };
  [[nodiscard]] std::vector<std::shared_ptr<PoolOutput>> list(ByThisRank which) const;
  // Waits until the output can be read as InputOptions says, and returns where. Throws what Session::open_input throws.
  // A working file is renamed or removed when the drain is ready to. Local, blocks.
  [[nodiscard]] std::string wait_to_read(PoolOutput& output, const InputOptions& options);

  // Lets go of what is finished; on an aggregator its slots can be used again. On several nodes every rank calls it after an output
  // was created: an earlier one of its slot is known of until then. Local.
  void forget_finished();
  // Which ranks are missing, and what the drain still has to do. Local.
  [[nodiscard]] std::string diagnose() const;

 private:
  [[nodiscard]] std::uint64_t progress() const;
  // For so long, or for the deadline, which starts anew with the progress of the drain.
  [[nodiscard]] pool::Wait waiting(double seconds) const;
  [[nodiscard]] std::optional<base::Error> wait_for(PoolOutput& output, Level level, pool::Wait& wait);
  // Waits for any condition. nullopt: it holds, or the output has failed.
  template <class Condition>
  [[nodiscard]] std::optional<base::Error> wait_until(PoolOutput& output, pool::Wait& wait, Condition holds);
  void ask_for_durable_steps(PoolOutput& output);
  [[nodiscard]] bool is_published(const PoolOutput& output) const;   // given that it has not failed
  void promise(const PoolOutput& output);
  [[nodiscard]] CollectiveCalls::Brought bring_together(std::uint64_t slots, std::uint32_t flags, double seconds);
  // By another node, which may not have said so yet. A system call.
  [[nodiscard]] bool is_renamed(const PoolOutput& output) const;
  [[nodiscard]] bool reached(const PoolOutput& output, Level level) const;
  [[nodiscard]] bool is_current(const PoolOutput& output) const;
  [[nodiscard]] bool are_all_held_open() const;
  [[nodiscard]] bool is_over(const PoolOutput& output) const;
  // -- pool_status.cpp
  [[nodiscard]] pool::RanksOfOutput ranks_of(const PoolOutput& output) const;
  [[nodiscard]] bool is_whole(const PoolOutput& output) const;   // closed by all ranks of the node, abandoned by none
  [[nodiscard]] std::uint64_t failed(const PoolOutput& output) const;   // its slot, or no slot
  [[nodiscard]] base::Error error_in_slot(const PoolOutput& output) const;
  [[nodiscard]] std::string diagnose(const PoolOutput& output) const;
  void report_progress(const PoolOutput& output, std::uint32_t flags);

  pool::Pool& pool_;
  MPI_Comm comm_;
  CollectiveCalls& calls_;
  int rank_;    // on the node
  int ranks_;   // of the node
  double deadline_seconds_;
  std::function<void()> keep_draining_;   // called while waiting
  PastOutputs& past_;
  const nodes::Exchange* exchange_ = nullptr;
  // Blocks go over MPI, and so only in the calls of this rank.
  [[nodiscard]] bool waits_for_calls() const { return exchange_ != nullptr && exchange_->waits_for_calls(); }
  std::vector<std::shared_ptr<PoolOutput>> outputs_;
};

}  // namespace glean::session
