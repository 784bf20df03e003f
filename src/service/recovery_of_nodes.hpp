// SPDX-License-Identifier: BSD-3-Clause
//
// Finishing what a killed job has left on several nodes: together, because what one has captured another one writes, and a
// step counts only if all of its parts are there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "service/recovery.hpp"
#include "transport/messages.hpp"

namespace glean::service {

using base::Bytes;

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
  [[nodiscard]] virtual bool nobody_needs_more() = 0;
};

[[nodiscard]] std::unique_ptr<Companions> nobody_else();

// Of a pool that another node's pool belongs to.
struct RecoveredPool {
  std::string pool;
  Recovered recovered;
  std::string problem;   // why nothing was done; empty: it was
};

// Completes what is whole in the pools of jobs of several nodes, as recover() does for one node. `pools`: those that this
// process sees and nobody uses; the result is about them, but only the process that was to do the work says what was done.
// `waiting` is called about once a second. What keeps one process from beginning keeps all, and is a problem of their pools.
// Throws what happens later, and then the others may wait for this process: end them. What is not done stays in the pools
// either way. Collective, blocks.
[[nodiscard]] std::vector<RecoveredPool> recover_nodes(const std::vector<std::string>& pools, Companions& companions,
                                                       store::SystemCalls& calls, const std::function<void()>& waiting);

}  // namespace glean::service
