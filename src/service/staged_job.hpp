// SPDX-License-Identifier: BSD-3-Clause
//
// What a stager has of one job: a node without ranks.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drain/trace.hpp"
#include "plan/node_plan.hpp"
#include "pool/pool.hpp"
#include "service/node.hpp"
#include "service/serve.hpp"
#include "service/staged_outputs.hpp"
#include "service/stager_place.hpp"
#include "service/stager_spill.hpp"
#include "store/posix/system_calls.hpp"
#include "transport/messages.hpp"

namespace glean::service {

using base::Bytes;

class StagedJob {
 public:
  struct Options {
    std::string label;                // of the job, for people
    plan::NodePlan plan;
    StagerPlace place{};
    bool keeps = false;               // the nodes of the job: what is not on the storage
    bool is_anew = false;             // in the place of a stager that is lost, with its pool
    std::string spill_directory{};    // absolute; empty: nothing is spilled
    Bytes spill_budget_bytes = 0;
  };
  // The pool of a job that begins here, which this process uses. It is there before the job begins anywhere: recovery of a job needs the
  // pools of all of its stagers. Throws base::Error. Local.
  [[nodiscard]] static pool::Pool make_pool(const Options& options, const pool::NodeShare& share);
  // As the first process with that pool, or where one has ended that had it (service/stager_place.hpp).
  enum class Begins { as_first_one, as_killed_one };
  // It may write in `directories`, and starts the programs of the job, analyses and triggers, if `runs_programs`. The messages are
  // connected: their tree has the stagers, and this one's place in it. Throws base::Error; then a pool that was just made is gone.
  StagedJob(pool::Pool pool, Begins begins, const std::vector<std::string>& directories, bool runs_programs,
            std::unique_ptr<transport::Messages> messages);
  ~StagedJob();
  StagedJob(const StagedJob&) = delete;
  StagedJob& operator=(const StagedJob&) = delete;

  // How places of other stagers are found that are lost. Before run(); what it calls must live until that is over.
  void find_places_with(nodes::Places places) { node_->exchange().find_places_with(std::move(places)); }
  // What goes on beside its drain until run() is over. Before run().
  void go_on_beside(const BesideDrain& beside) { beside_ = beside(*engine_, pool_); }
  // Something was found. Any thread.
  void wake();
  // Receives, writes and publishes until all clients have left and everything is done. False: what clients had sent of it is left in the
  // pool, because another node is lost, `end_soon` was called, or the storage of some stager refuses a file; `problem()` says why. Blocks.
  [[nodiscard]] bool run();
  // Nothing more is taken: run() returns when all that has come is done, or nothing moves any more. Any thread.
  void end_soon();
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // After run(): all that is left in the pool is what the storage of some stager refuses, and the stagers complete it without the clients.
  [[nodiscard]] bool only_lacks_storage() const { return only_lacks_storage_; }
  // What has become of the outputs so far. Any thread.
  [[nodiscard]] drain::DrainTrace trace() const { return engine_->trace(); }
  [[nodiscard]] const pool::Pool& pool() const { return pool_; }
  // All ranks have closed an output that is to become this file, and the stagers have not published it yet. Any thread.
  [[nodiscard]] bool is_draining(const std::string& final_path) const;
  // What all of these are to become. Any thread.
  [[nodiscard]] std::vector<std::string> draining_paths() const;

 private:
  void begin(const plan::NodePlan& plan, const std::vector<std::string>& directories, bool runs_programs,
             std::unique_ptr<transport::Messages> messages);
  [[nodiscard]] std::string what_is_kept() const;

  pool::Pool pool_;
  store::SystemCalls calls_;
  std::unique_ptr<drain::Engine> engine_;
  std::unique_ptr<StagedOutputs> outputs_;
  StagerSpill spill_;
  std::unique_ptr<Node> node_;
  std::atomic<bool> ends_soon_{false};
  std::string problem_;
  bool only_lacks_storage_ = false;
  std::shared_ptr<void> beside_;   // last: it ends before the engine
};

}  // namespace glean::service
