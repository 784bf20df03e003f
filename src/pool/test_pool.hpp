// SPDX-License-Identifier: BSD-3-Clause
//
// A small pool that lives as long as its test.
#pragma once

#include <unistd.h>

#include <atomic>
#include <string>

#include "pool/journal.hpp"

namespace glean::pool {

inline std::string unique_pool_name() {
  static std::atomic<int> count = 0;
  return "/glean-test." + std::to_string(getpid()) + "." + std::to_string(count++);
}

inline plan::Plan small_plan() {
  plan::Plan plan;
  plan.pool_bytes = base::MiB;
  plan.chunk_bytes = 4 * base::KiB;
  plan.journal_bytes_per_rank = 16 * base::KiB;
  plan.request_bytes = 4 * base::KiB;
  plan.depth = 2;
  return plan;
}

struct TestPool {
  explicit TestPool(int ranks, const plan::Plan& plan = small_plan())
      : pool(Pool::create(unique_pool_name(), plan, ranks)) {
    pool.header().aggregator_pid = getpid();
  }
  ~TestPool() { pool.remove(); }
  TestPool(const TestPool&) = delete;
  TestPool& operator=(const TestPool&) = delete;

  // As the session does it when an output is opened.
  OutputKey claim_slot() {
    for (std::uint32_t index = 0; index < output_slots; ++index) {
      OutputSlot& slot = pool.slot(index);
      if (slot.state != OutputState::free) continue;
      slot.steps_staged = slot.steps_written = slot.steps_synchronized = slot.synchronize_up_to = 0;
      slot.range_errors = 0;
      slot.error_claimed = slot.error = 0;
      for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) pool.rank_progress(index, rank) = 0;
      slot.generation.fetch_add(1);
      slot.state = OutputState::open;
      return {index, slot.generation};
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
