// SPDX-License-Identifier: BSD-3-Clause
#include "plan/node_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"

namespace glean::plan {
namespace {

using base::exact_bytes;
using base::GiB;
using base::KiB;
using base::MiB;
using base::readable_bytes;

constexpr Bytes budget_max = GiB;           // of the default
constexpr Bytes chunk_max = MiB;
constexpr Bytes chunks_per_rank = 8;
constexpr Bytes journal_min = 16 * KiB;     // about a hundred puts
constexpr Bytes journal_max = MiB;          // about eight thousand; more would only delay noticing a slow disk
constexpr Bytes journal_share = 8;          // at most 1/8 of the budget

Bytes smallest_budget(const topology::Node& node, Bytes ranks) {
  const Bytes page = node.page_bytes;
  const Bytes journal = base::align_up(journal_min, page);
  // More chunks than ranks, and what pages round up.
  const Bytes needed = outputs_table(ranks) + ranks * (journal + 3 * page) + 2 * page;
  return base::align_up(std::max(journal_share * ranks * journal, needed), page);
}

Bytes default_budget(const topology::Node& node, Bytes ranks) {
  const Bytes budget =
      std::min({node.memory_available_bytes / 4, node.shared_memory_available_bytes / 2, budget_max});
  if (budget < smallest_budget(node, ranks)) {
    throw base::Error(base::Errc::no_space,
                      fmt::format("no room for a pool of {} ranks: {} of memory, {} of shared memory are free on {}",
                                  ranks, readable_bytes(node.memory_available_bytes),
                                  readable_bytes(node.shared_memory_available_bytes), node.host_name),
                      fmt::format("free some memory, enlarge /dev/shm, or give at least pool.budget = \"{}\"",
                                  exact_bytes(smallest_budget(node, ranks))));
  }
  return base::align_down(budget, budget >= MiB ? MiB : node.page_bytes);
}

Bytes given_budget(const topology::Node& node, Bytes ranks, Bytes given) {
  const Bytes smallest = smallest_budget(node, ranks);
  if (given < smallest) {
    throw base::Error(base::Errc::invalid_config,
                      fmt::format("pool.budget = {} is too small for {} ranks on a node", exact_bytes(given), ranks),
                      fmt::format("the smallest that works is \"{}\"", exact_bytes(smallest)));
  }
  const Bytes free = std::min(node.shared_memory_available_bytes, node.memory_available_bytes);
  if (given > free) {
    throw base::Error(base::Errc::no_space,
                      fmt::format("pool.budget = {} does not fit: {} of memory and {} of shared memory are free on {}",
                                  exact_bytes(given), readable_bytes(node.memory_available_bytes),
                                  readable_bytes(node.shared_memory_available_bytes), node.host_name),
                      "lower pool.budget or enlarge /dev/shm");
  }
  return base::align_down(given, node.page_bytes);
}

}  // namespace

NodePlan plan_node(const topology::Node& node, const NodeRequest& request, const base::Settings& settings) {
  const Bytes ranks = static_cast<Bytes>(std::max(request.ranks_on_node, 1));
  const Bytes page = node.page_bytes;
  NodePlan plan;
  plan.pool_bytes = settings.pool.budget_bytes == 0 ? default_budget(node, ranks)
                                                    : given_budget(node, ranks, settings.pool.budget_bytes);
  if (request.gathers_files) {
    const Bytes budget = plan.pool_bytes;
    plan.pool_bytes = std::max(base::align_down(budget / 2, page), smallest_budget(node, ranks));
    plan.gathered_bytes = budget - plan.pool_bytes;
  }
  const Bytes journal = std::min(plan.pool_bytes / journal_share / ranks, journal_max);
  plan.journal_bytes_per_rank = base::align_down(journal, page);
  const Bytes room = plan.pool_bytes - outputs_table(ranks) - ranks * plan.journal_bytes_per_rank;
  plan.chunk_bytes = std::max(chunk_max, page);
  while (plan.chunk_bytes > page && room / plan.chunk_bytes < chunks_per_rank * ranks) plan.chunk_bytes /= 2;
  plan.drain_threads = settings.drain.threads;
  plan.drain_cores = settings.drain.cores;
  plan.request_bytes = settings.drain.request_bytes;
  plan.depth = settings.drain.depth;
  return plan;
}

std::string explain(const NodePlan& plan) {
  const std::string cores =
      plan.drain_cores.empty() ? "any core" : fmt::format("cores {}", fmt::join(plan.drain_cores, ","));
  return fmt::format(
      "pool      {}: all shared memory of the node (pool.budget)\n"
      "chunks    {}: what a rank takes at a time, so that each has at least eight if the pool allows\n"
      "journal   {} per rank, inside the pool: what was captured, for the drain\n"
      "drain     {} thread{} in the process of node rank {}, on {} (drain.threads, drain.cores)\n"
      "requests  {}, starting at multiples of it in the file (drain.request)\n"
      "depth     {} requests in flight per thread, {} of buffers outside the pool (drain.depth)\n",
      readable_bytes(plan.pool_bytes), readable_bytes(plan.chunk_bytes), readable_bytes(plan.journal_bytes_per_rank),
      plan.drain_threads, plan.drain_threads == 1 ? "" : "s", plan.aggregator_node_rank, cores,
      readable_bytes(plan.request_bytes), plan.depth, readable_bytes(plan.drain_buffer_bytes()));
}

}  // namespace glean::plan
