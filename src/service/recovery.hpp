// SPDX-License-Identifier: BSD-3-Clause
//
// Finishing what killed jobs have left, on one node or on several: together, because what one has captured another one writes, and a
// step counts only if all of its parts are there. Safe while other jobs are alive, and twice: the process that recovers a
// pool claims all of it first.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drain/trace.hpp"
#include "service/remains.hpp"
#include "transport/messages.hpp"

namespace glean::service {

struct Recovered {
  std::vector<drain::OutputTrace> outputs;
  std::vector<std::string> restored;   // files that the program had removed or replaced, and that have their names again
  std::vector<std::string> hidden;     // the same where other files have these names: where they are now
  bool pool_removed = false;   // false: something was postponed, and the pool still holds it
};
// For the process that drains `pool` when its ranks are gone, or soon will be: completes what is whole or was promised, removes the working
// files of what is not, and then the pool. `waiting` is called about once a second. Blocks.
[[nodiscard]] Recovered complete(pool::Pool& pool, store::SystemCalls& calls, const std::function<void()>& waiting = [] {});
// Before a pool goes: files that no output of it will settle get their names back, and `recovered` says which have theirs again. Local.
void restore_names(const pool::Pool& pool, store::SystemCalls& calls, Recovered& recovered);
// What it says in the log, for a process that no user watches.
void log(const Recovered& recovered);
// For the process that drains when the session is closed: outputs that the storage has refused are tried once more. What it refuses again
// stays, is said, and is left as a note for `glean run`. False: then the pool must stay. Blocks.
[[nodiscard]] bool try_what_is_kept(pool::Pool& pool, store::SystemCalls& calls);
// complete() of a pool that no process uses. Throws invalid_state when the pool is in use, io when it cannot be read. Blocks.
// `to`: a directory where the files are to appear instead of their own; empty: none.
[[nodiscard]] Recovered recover(const std::string& pool, store::SystemCalls& calls, const std::function<void()>& waiting,
                                const std::string& to = {});

// --- of several nodes

// The processes that recover: one alone, which sees the pools of all nodes, or one on each node.
class Companions {
 public:
  virtual ~Companions() = default;
  [[nodiscard]] virtual int self() const = 0;
  [[nodiscard]] virtual int count() const = 0;
  // What each of them brings, in their order. Collective, blocks.
  [[nodiscard]] virtual std::vector<std::string> from_all(const std::string& mine) = 0;
  // Those of `nodes`, which this process has, over a network of their own between the nodes of a job; process_of[n] has
  // node n. They may not outlive this. Collective.
  [[nodiscard]] virtual std::vector<std::unique_ptr<transport::Messages>> messages(const std::vector<int>& nodes,
                                                                                   const std::vector<int>& process_of) = 0;
  // This process needs nothing more of the others for the job that is recovered. True: none does. Until then it asks again, and
  // answers what they ask meanwhile. Does not block.
  [[nodiscard]] virtual bool none_needs_more() = 0;
};

[[nodiscard]] std::unique_ptr<Companions> no_companions();

// What became of a pool that belongs to those of other nodes.
struct RecoveredPool {
  std::string pool;
  Recovered recovered;
  std::string problem;   // why nothing was done; empty: it was
};

// Completes what is whole in the pools of jobs of several nodes, as recover() does for one node. `pools`: those that this
// process sees and none uses; the result is about them, but only the process that was to do the work says what was done.
// `waiting` is called about once a second. What keeps one process from beginning keeps all, and is a problem of their pools.
// Throws what happens later, and then the others may wait for this process: end them. What is not done stays in the pools
// either way. Collective, blocks.
// `stagers_are_lost`: those whose pools no process sees are gone for good; what they had the nodes of the job have kept, or it fails.
[[nodiscard]] std::vector<RecoveredPool> recover_nodes(const std::vector<std::string>& pools, Companions& companions,
                                                       store::SystemCalls& calls, const std::function<void()>& waiting,
                                                       bool stagers_are_lost = false);

}  // namespace glean::service
