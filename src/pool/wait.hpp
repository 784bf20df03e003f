// SPDX-License-Identifier: BSD-3-Clause
//
// One wait for what other processes or threads do: until a condition holds, for at most so long. All waits of a rank for the drain, for
// room and for other ranks of its node are made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "pool/atomic.hpp"

namespace glean::pool {

class Wait {
 public:
  // Sleeps on `word`, which changes when the condition may hold, for `nap_ns` at a time.
  Wait(Atomic<std::uint32_t>& word, double seconds, std::uint64_t nap_ns);

  // The time starts anew whenever this number changes.
  Wait& restart_with(std::function<std::uint64_t()> progress);
  // Is called before each nap. What it throws ends the wait.
  Wait& meanwhile(std::function<void()> call) {
    meanwhile_ = std::move(call);
    return *this;
  }

  // False: the time is over. Can be called again, for another condition: the time goes on. Blocks.
  template <class Condition>
  [[nodiscard]] bool until(Condition holds) {
    for (;;) {
      // Sequentially consistent, as a drain that looks whether a rank waits: one of them sees the other.
      const std::uint32_t seen = word_.load(std::memory_order_seq_cst);
      if (holds()) return true;
      if (is_over()) return false;
      if (meanwhile_) meanwhile_();
      nap(seen);
    }
  }
  [[nodiscard]] bool is_over();
  // "300s", or "300s without progress" where it can start anew.
  [[nodiscard]] std::string text() const;

 private:
  void nap(std::uint32_t seen) const;

  Atomic<std::uint32_t>& word_;
  double seconds_;
  std::uint64_t nap_ns_;
  std::uint64_t limit_ns_, left_ns_;
  std::uint64_t since_ns_ = base::now_ns();
  std::function<std::uint64_t()> progress_;
  std::uint64_t seen_progress_ = 0;
  std::function<void()> meanwhile_;
};

}  // namespace glean::pool
