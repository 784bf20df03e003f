// SPDX-License-Identifier: BSD-3-Clause
//
// How a session uses its node: a value that is computed the same by every rank, printed and stored.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/settings.hpp"
#include "topology/node.hpp"

namespace glean::plan {

using base::Bytes;

struct NodeRequest {
  int ranks_on_node = 1;
  bool gathers_files = false;   // files that ranks write for themselves lie in shared memory, too (setting into)
};

struct NodePlan {
  Bytes pool_bytes = 0;              // all of the node's shared memory, the budget, but for the next
  Bytes gathered_bytes = 0;          // of files that are gathered in containers: half of it, or nothing
  Bytes chunk_bytes = 0;             // unit of allocation, a multiple of the page
  Bytes journal_bytes_per_rank = 0;  // part of pool_bytes
  int aggregator_node_rank = 0;      // whose process drains the node
  int drain_threads = 1;
  std::vector<int> drain_cores;      // thread i runs on drain_cores[i % size]; empty: anywhere
  Bytes request_bytes = 0;           // file domains start at multiples of it
  int depth = 4;                     // requests in flight per thread
  friend bool operator==(const NodePlan&, const NodePlan&) = default;

  // Memory of the aggregator's process beyond the pool: buffers for requests.
  [[nodiscard]] Bytes drain_buffer_bytes() const {
    return static_cast<Bytes>(drain_threads) * static_cast<Bytes>(depth) * request_bytes;
  }
};

// What the pool needs for itself: header, outputs, and how far each rank is with each (pool/shared.hpp).
constexpr Bytes outputs_table(Bytes ranks) { return 176 * base::KiB + ranks * 516; }

// Pure. The budget is settings.pool.budget_bytes, or a quarter of the memory available, at most half of the shared
// memory available and at most 1 GiB. A chunk is 1 MiB, less where ranks would not have at least eight each. The
// journal takes at most an eighth of the budget. Throws invalid_config, with the smallest budget that works, when a
// given one is too small for the ranks (one page-sized chunk and the smallest journal each), and no_space when shared
// memory cannot hold it.
[[nodiscard]] NodePlan plan_node(const topology::Node& node, const NodeRequest& request, const base::Settings& settings);

// A few lines for people: every figure and why.
[[nodiscard]] std::string explain(const NodePlan& plan);

}  // namespace glean::plan
