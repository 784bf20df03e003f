// SPDX-License-Identifier: BSD-3-Clause
//
// A small pool that lives as long as its test.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "pool/journal.hpp"

namespace glean::pool {

inline std::string unique_pool_name() {
  static std::atomic<int> count = 0;
  return "/glean-test." + std::to_string(getpid()) + "." + std::to_string(count++);
}

inline plan::NodePlan small_plan() {
  plan::NodePlan plan;
  plan.pool_bytes = base::MiB;
  plan.chunk_bytes = 4 * base::KiB;
  plan.journal_bytes_per_rank = 16 * base::KiB;
  plan.request_bytes = 4 * base::KiB;
  plan.depth = 2;
  return plan;
}

// Room for whole outputs of tests.
inline plan::NodePlan roomy_plan(Bytes pool_bytes = 4 * base::MiB, Bytes journal_bytes = 128 * base::KiB) {
  plan::NodePlan plan = small_plan();
  plan.pool_bytes = pool_bytes;
  plan.journal_bytes_per_rank = journal_bytes;
  return plan;
}

inline bool exists(const std::string& name) { return std::filesystem::exists("/dev/shm" + name); }

struct TestPool {
  enum class Drain { here, elsewhere };
  explicit TestPool(int ranks, const plan::NodePlan& plan = small_plan(), Drain drain = Drain::here)
      : pool(Pool::create(unique_pool_name(), plan, ranks)) {
    if (drain == Drain::here) static_cast<void>(pool.claim_drain());
  }
  // The pool of a node among others.
  TestPool(int ranks, const plan::NodePlan& plan, const NodeShare& share)
      : pool(Pool::create(unique_pool_name(), plan, ranks, share)) {
    static_cast<void>(pool.claim_drain());
  }
  ~TestPool() { pool.remove(); }
  TestPool(const TestPool&) = delete;
  TestPool& operator=(const TestPool&) = delete;

  // Before any rank captures.
  void spill_to(const std::string& directory, Bytes budget) {
    directory.copy(pool.header().spill_directory.data(), pool.header().spill_directory.size() - 1);
    pool.header().spill_budget_bytes = budget;
  }
  // As the session does it when an output is opened.
  OutputKey claim_slot() {
    for (std::uint32_t index = 0; index < output_slots; ++index) {
      if (const auto key = pool.open_slot(index)) return *key;
    }
    return {};
  }
  [[nodiscard]] bool journals_are_empty() const {
    for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
      if (pool.journal(rank).head != pool.journal(rank).tail) return false;
    }
    return true;
  }

  Pool pool;
};

}  // namespace glean::pool
