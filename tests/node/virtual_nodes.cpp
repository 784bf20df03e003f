// SPDX-License-Identifier: BSD-3-Clause
#include "virtual_nodes.hpp"

#include <unistd.h>

#include <numeric>
#include <thread>

#include "base/clock.hpp"

namespace glean::tests {

VirtualNode::VirtualNode(const plan::NodePlan& plan, int ranks, int first, const pool::NodeShare& share,
                         transport::LocalNetwork& network, store::SystemCalls& calls, transport::LocalNetwork* of_blocks)
    : VirtualNode(plan, ranks, first, share, network.messages(share.node), of_blocks == nullptr ? nullptr : of_blocks->messages(share.node),
                  calls) {}

VirtualNode::VirtualNode(const plan::NodePlan& plan, int ranks, int first, const pool::NodeShare& share,
                         std::unique_ptr<transport::Messages> over, std::unique_ptr<transport::Messages> blocks_over,
                         store::SystemCalls& calls)
    : first_rank(first), made(ranks, plan, share), messages(std::move(over)), blocks(std::move(blocks_over)),
      engine(made.pool, plan, calls), exchange(made.pool, engine, *messages, blocks.get()) {}

pool::OutputKey VirtualNode::describe(pool::Recorder& recorder, const store::OutputDescription& description) {
  const pool::OutputKey key = made.claim_slot();
  recorder.describe(key, description.encode_names(), pool::Recorder::More::follow);
  recorder.describe(key, description.encode_layout(), pool::Recorder::More::none);
  return key;
}

void VirtualNode::put_step(pool::Recorder& recorder, pool::OutputKey key, int rank, const VirtualOutput& output, std::uint64_t step) {
  store::SystemCalls calls;
  capture::FullPoolPolicy policy(made.pool, recorder, rank, calls);
  put_step(recorder, policy, base::WhenFull::block, key, rank, output, step);
}

void VirtualNode::put_step(pool::Recorder& recorder, capture::FullPoolPolicy& policy, base::WhenFull full, pool::OutputKey key, int rank,
                           const VirtualOutput& output, std::uint64_t step) {
  for (const VirtualPut& put : output.puts) {
    if (put.step == step && put.rank == first_rank + rank) VirtualRanks::put(policy, full, key, output, put);
  }
  VirtualRanks(made).report(recorder, key, rank, static_cast<std::uint32_t>(step + 1));
}

void VirtualNode::close(pool::Recorder& recorder, pool::OutputKey key, int rank, const VirtualOutput& output) {
  VirtualRanks(made).report(recorder, key, rank, static_cast<std::uint32_t>(output.steps) | pool::rank_closed);
}

VirtualNodes::VirtualNodes(const std::vector<int>& ranks, plan::FileShare share, const plan::NodePlan& plan,
                           store::SystemCalls& calls, unsigned seed, Blocks blocks)
    : share_(std::move(share)), calls_(calls),
      network_(static_cast<int>(ranks.size()), seed), of_blocks_(static_cast<int>(ranks.size()), seed),
      all_have_opened_(std::accumulate(ranks.begin(), ranks.end(), std::ptrdiff_t{0}, [](std::ptrdiff_t all, int of_node) {
        return all + std::max(1, of_node);
      })) {
  int first = 0;
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    const int node = static_cast<int>(n);
    const pool::NodeShare of_node{"virtual", static_cast<int>(ranks.size()), node};
    nodes_.push_back(std::make_unique<VirtualNode>(plan, ranks[n], first, of_node, network_, calls,
                                                   blocks == Blocks::apart ? &of_blocks_ : nullptr));
    first += ranks[n];
  }
}

int VirtualNodes::ranks() const {
  return nodes_.back()->first_rank + static_cast<int>(nodes_.back()->made.pool.header().ranks);
}

void VirtualNodes::make_pools_full(base::WhenFull full, int chunks_left) {
  full_ = full;
  for (auto& node : nodes_) {
    pool::Pool& pool = node->made.pool;
    std::deque<std::uint32_t> taken;
    while (const auto chunk = pool.take_chunk(pool::Pool::For::capture)) taken.push_back(*chunk);
    for (int left = 0; left < chunks_left; ++left, taken.pop_front()) pool.drop_reference(taken.front());
  }
}

void VirtualNodes::open(VirtualNode& node, pool::Recorder& recorder, const VirtualOutput& output, std::uint64_t job_output) {
  store::OutputDescription description = output.description;
  description.share = share_;
  description.ranks_write = full_ == base::WhenFull::synchronous;
  node.keys.push_back(node.describe(recorder, description));
  node.made.pool.slot(node.keys.back().slot).nodes.job_output = job_output;
  node.engine.adopt_now();   // all open the file
}

// Rank 0 of a node opens outputs and talks to the other nodes.
void VirtualNodes::run_rank(VirtualNode& node, int rank, const std::vector<VirtualOutput>& outputs) {
  const bool is_aggregator = rank == 0;
  const auto move_on = [&] {
    const bool moved = is_aggregator && node.exchange.progress();
    return (is_aggregator && node.exchange.move_blocks()) || moved;
  };
  pool::Recorder recorder(node.made.pool, rank, 60, [&] { return node.exchange.diagnose(); }, move_on);
  capture::FullPoolPolicy policy(node.made.pool, recorder, rank, calls_);
  std::uint64_t most_steps = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    most_steps = std::max(most_steps, outputs[o].steps);
    if (is_aggregator) open(node, recorder, outputs[o], o + 1);
  }
  all_have_opened_.arrive_and_wait();   // creating an output is collective
  for (std::uint64_t step = 0; step < most_steps; ++step) {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (step >= outputs[o].steps) continue;
      node.put_step(recorder, policy, full_, node.keys[o], rank, outputs[o], step);
      move_on();
    }
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    node.close(recorder, node.keys[o], rank, outputs[o]);
    policy.leave(node.keys[o]);
  }
  {
    const std::lock_guard lock(figures_mutex_);
    figures_.spilled_pieces += policy.figures().spilled_pieces;
    figures_.synchronous_puts += policy.figures().synchronous_puts;
  }
  if (!is_aggregator) return;
  const std::uint64_t deadline = base::now_ns() + 60'000'000'000;
  for (const auto key : node.keys) {
    while (node.made.pool.slot(key.slot).nodes.job_output != 0) {
      if (!move_on()) usleep(100);
      if (base::now_ns() > deadline) throw base::Error(base::Errc::timeout, "an output is not finished: " + node.exchange.diagnose());
    }
  }
}

// No rank captures there: the node writes what others send, as a process outside of the job would.
void VirtualNodes::run_without_ranks(VirtualNode& node, const std::vector<VirtualOutput>& outputs) {
  pool::Recorder recorder(node.made.pool, 0, 60, [&] { return node.exchange.diagnose(); });
  for (std::size_t o = 0; o < outputs.size(); ++o) open(node, recorder, outputs[o], o + 1);
  all_have_opened_.arrive_and_wait();
  const std::uint64_t deadline = base::now_ns() + 60'000'000'000;
  do {
    const bool moved = node.exchange.progress();
    if (!node.exchange.move_blocks() && !moved) usleep(100);
    if (base::now_ns() > deadline) throw base::Error(base::Errc::timeout, "an output is not finished: " + node.exchange.diagnose());
  } while (node.exchange.holds_any());
}

std::vector<std::string> VirtualNodes::run(const std::vector<VirtualOutput>& outputs) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks() + this->nodes()));
  std::vector<std::thread> threads;
  for (const auto& output : outputs) output.create_working_file();
  for (auto& node : nodes_) {
    if (node->made.pool.header().ranks == 0) {
      threads.emplace_back([&, &error = errors[static_cast<std::size_t>(ranks()) + node->made.pool.header().node]] {
        try {
          run_without_ranks(*node, outputs);
        } catch (const base::Error& thrown) {
          error = thrown.what();
        }
      });
    }
    for (int rank = 0; rank < static_cast<int>(node->made.pool.header().ranks); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          run_rank(*node, rank, outputs);
        } catch (const base::Error& error) {
          errors[static_cast<std::size_t>(node->first_rank + rank)] = error.what();
        }
      });
    }
  }
  for (auto& thread : threads) thread.join();
  std::erase(errors, "");
  return errors;
}

}  // namespace glean::tests
