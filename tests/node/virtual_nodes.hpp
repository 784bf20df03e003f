// SPDX-License-Identifier: BSD-3-Clause
//
// A session of several nodes in one process: threads play the ranks, and the nodes exchange as they do over MPI.
#pragma once

#include <barrier>
#include <memory>
#include <string>
#include <vector>

#include "nodes/exchange.hpp"
#include "virtual_ranks.hpp"
#include "transport/local_messages.hpp"

namespace glean::tests {

struct VirtualNode {
  VirtualNode(const plan::NodePlan& plan, int ranks, int first_rank, const pool::NodeShare& share,
              transport::LocalNetwork& network, store::SystemCalls& calls, transport::LocalNetwork* of_blocks = nullptr);

  // The same, over any messages.
  VirtualNode(const plan::NodePlan& plan, int ranks, int first_rank, const pool::NodeShare& share,
              std::unique_ptr<transport::Messages> messages, std::unique_ptr<transport::Messages> blocks, store::SystemCalls& calls);

  // -- the single calls that a session consists of
  pool::OutputKey describe(pool::Recorder& recorder, const store::OutputDescription& description);
  void put_step(pool::Recorder& recorder, pool::OutputKey key, int rank, const VirtualOutput& output, std::uint64_t step);
  void put_step(pool::Recorder& recorder, capture::FullPoolPolicy& policy, base::WhenFull full, pool::OutputKey key, int rank,
                const VirtualOutput& output, std::uint64_t step);
  void close(pool::Recorder& recorder, pool::OutputKey key, int rank, const VirtualOutput& output);

  int first_rank;
  pool::TestPool made;
  std::unique_ptr<transport::Messages> messages, blocks;
  drain::Engine engine;
  nodes::Exchange exchange;
  std::vector<pool::OutputKey> keys;
};

class VirtualNodes {
 public:
  // `ranks[n]`: of node n, perhaps none. `share`: of every output. Blocks may go over messages of their own.
  enum class Blocks { with_the_rest, apart };
  VirtualNodes(const std::vector<int>& ranks, plan::FileShare share, const plan::NodePlan& plan, store::SystemCalls& calls, unsigned seed,
               Blocks blocks = Blocks::with_the_rest);

  [[nodiscard]] int ranks() const;   // of all nodes
  // From now on puts do that when a pool is full, of which only so many chunks are left for them.
  void make_pools_full(base::WhenFull full, int chunks_left);
  // All ranks put all outputs, step by step, and close them; waits until they are finished. The errors of ranks.
  std::vector<std::string> run(const std::vector<VirtualOutput>& outputs);
  [[nodiscard]] VirtualNode& node(int index) { return *nodes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] int nodes() const { return static_cast<int>(nodes_.size()); }
  // The figures of all ranks, after run().
  [[nodiscard]] const capture::FullPoolPolicy::Figures& figures() const { return figures_; }

 private:
  void run_rank(VirtualNode& node, int rank, const std::vector<VirtualOutput>& outputs);
  void run_without_ranks(VirtualNode& node, const std::vector<VirtualOutput>& outputs);
  void open(VirtualNode& node, pool::Recorder& recorder, const VirtualOutput& output, std::uint64_t job_output);

  plan::FileShare share_;
  store::SystemCalls& calls_;
  base::WhenFull full_ = base::WhenFull::block;
  std::mutex figures_mutex_;
  capture::FullPoolPolicy::Figures figures_;
  transport::LocalNetwork network_, of_blocks_;
  std::barrier<> all_have_opened_;
  std::vector<std::unique_ptr<VirtualNode>> nodes_;
};

}  // namespace glean::tests
