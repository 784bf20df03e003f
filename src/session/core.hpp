// SPDX-License-Identifier: BSD-3-Clause
//
// What the ranks of a session share: communicator, settings, the node's pool, the drain.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "drain/ladder.hpp"
#include "glean/glean.hpp"
#include "plan/plan.hpp"
#include "pool/journal.hpp"
#include "report/report.hpp"
#include "session/past_outputs.hpp"
#include "session/call_watch.hpp"
#include "session/node_drain.hpp"
#include "session/pool_outputs.hpp"

namespace glean::session {

class Backend;

class Core {
 public:
  // Collective over `comm`, which is duplicated; throws on all ranks or none. Blocks while the pool's memory is touched.
  Core(MPI_Comm comm, const std::map<std::string, std::string>& settings);
  // Without close() or leave() before, what was captured is lost. Local.
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bool is_root() const { return rank_ == 0; }
  [[nodiscard]] const base::Settings& settings() const { return configuration_.settings; }   // on the root
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] double deadline_seconds() const { return deadline_seconds_; }
  // Throws invalid_state when no collective call can be made any more. Local.
  void require_usable(const char* call) const;

  // The pool and what lies in it; none where nothing can be captured. Not after the session is closed.
  [[nodiscard]] bool has_pool() const { return pool_ != nullptr; }
  [[nodiscard]] pool::Pool& pool() { return *pool_; }
  [[nodiscard]] pool::Recorder& recorder() { return *recorder_; }
  [[nodiscard]] drain::Ladder& ladder() { return *ladder_; }
  [[nodiscard]] PoolOutputs& outputs() { return *outputs_; }
  // Where there is a pool: that this rank is in a collective call.
  [[nodiscard]] std::unique_ptr<InCall> in_call(Call call) {
    return pool_ ? std::make_unique<InCall>(*pool_, rank_, call) : nullptr;
  }
  // Sees to it that somebody drains. Local; on rank 0 one system call, elsewhere nothing.
  void keep_draining() {
    if (drain_) drain_->keep_alive();
  }

  [[nodiscard]] bool root_is_gone() const { return outputs_ && outputs_->root_is_gone(); }

  // Open outputs that do not use the pool, in the order in which all ranks have created them. Local.
  void enlist(Backend* backend) { direct_.push_back(backend); }
  void delist(Backend* backend) noexcept { std::erase(direct_, backend); }
  [[nodiscard]] const std::vector<Backend*>& direct() const { return direct_; }
  // What became of the outputs that are finished.
  [[nodiscard]] PastOutputs& past() { return past_; }

  // Waits for all outputs. Collective, blocks.
  void wait(Level level, double seconds);
  // Completes what was closed, gives up what was not, reports, and gives the pool back. Collective, blocks. After a
  // timeout the session is still open, and this can be called again.
  void close();
  // Ends the session of this rank without the others: completes what all ranks have closed. For when MPI is finalized or
  // the other ranks are somewhere else. Local, blocks on rank 0.
  void leave() noexcept;

  // -- what the report needs
  report::RankFigures& figures() { return figures_; }
  std::vector<report::PassthroughFigures>& passthrough() { return passthrough_; }
  [[nodiscard]] Statistics statistics() const;

 private:
  void join(const std::map<std::string, std::string>& settings);
  [[nodiscard]] bool is_one_node() const;
  void set_up_pool();
  void prepare_to_spill();
  void release() noexcept;
  void write_report();

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int ranks_ = 1;
  base::Configuration configuration_;
  double deadline_seconds_ = 300;
  plan::Plan plan_;
  std::uint64_t begin_ns_ = base::now_ns();
  double begin_realtime_seconds_ = 0;
  std::unique_ptr<pool::Pool> pool_;
  std::unique_ptr<pool::Recorder> recorder_;
  store::SystemCalls rank_calls_;
  std::unique_ptr<drain::Ladder> ladder_;
  PastOutputs past_;
  std::unique_ptr<PoolOutputs> outputs_;
  std::unique_ptr<NodeDrain> drain_;   // on rank 0
  std::unique_ptr<CallWatch> watch_;   // on rank 0
  std::vector<Backend*> direct_;
  report::RankFigures figures_;
  std::vector<report::PassthroughFigures> passthrough_;
  base::Bytes pool_budget_bytes_ = 0;       // stay when the pool is gone
  base::Bytes pool_high_water_bytes_ = 0;
  bool closed_ = false;
};

// Adds the time of a call to the blocked time of this rank.
class Blocked {
 public:
  explicit Blocked(Core& core) : core_(core), begin_ns_(base::now_ns()) {}
  ~Blocked() { core_.figures().blocked_ns += base::now_ns() - begin_ns_; }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

 private:
  Core& core_;
  std::uint64_t begin_ns_;
};

}  // namespace glean::session
