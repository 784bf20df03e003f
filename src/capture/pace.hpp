// SPDX-License-Identifier: BSD-3-Clause
//
// How far this rank may be ahead of others in the collective calls on raw outputs. What it has captured ahead of them stays in the
// pool until they have come (pool/collective_count.hpp): they must find room there, too. A rank that waits here has asked for nothing that
// others wait for, and does not hold Core::one_at_a_time(). Waiting is what the calls of MPI-IO may do anyway; but threads of a program may
// come to the calls on several files in an order that differs from rank to rank. So where several threads have come here, each waits before
// each write, and for the ranks of its own file only: nothing is captured ahead of others then.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "pool/journal.hpp"
#include "pool/pool.hpp"

namespace glean::capture {

class Pace {
 public:
  // Both must live as long. `rank`: of the node. `poll` lets messages of this rank go on: others may need them to come.
  Pace(pool::Pool& pool, const pool::Recorder& recorder, int rank, double deadline_seconds, std::function<void()> poll);

  // The collective count of this rank.
  [[nodiscard]] std::uint32_t collective_count(std::uint32_t slot) const;
  // This rank begins, or ends, a collective call on that output. Any thread.
  void count_collective(std::uint32_t slot);
  // Before this rank captures so many bytes for that output in so many writes: blocks until others have come as far, in all outputs, if it
  // would have more than its share of half of the chunks, or of its journal, ahead of them. At the deadline it goes on, and says so: there
  // may be room all the same. Any thread.
  void keep(std::uint32_t slot, base::Bytes bytes, std::uint64_t writes);
  // Until all ranks of that output have come as far as this one: to the count that is returned. Blocks, and says so every now and then.
  // Throws timeout at the deadline. Any thread.
  std::uint32_t wait_for_ranks(std::uint32_t slot) const;
  // Waits likewise; nothing if `gives_up` is true before, and at the deadline.
  [[nodiscard]] std::optional<std::uint32_t> wait_for_ranks(std::uint32_t slot, const std::function<bool()>& gives_up) const;

 private:
  void saw_thread();
  [[nodiscard]] bool has_several_threads() const { return has_several_threads_.load(std::memory_order_relaxed); }
  enum class End { came, gave_up, late };
  struct Waited {
    End end;
    std::uint32_t collective_count;
    std::string late;   // who is missing, and for how long
  };
  template <class GivesUp> Waited wait(std::uint32_t slot, double seconds, const GivesUp& gives_up) const;
  [[nodiscard]] std::uint64_t signs_of_life(std::uint32_t slot, std::uint32_t collective_count) const;
  [[nodiscard]] bool is_any_gone(std::uint32_t slot, std::uint32_t collective_count) const;
  [[nodiscard]] std::string where_they_are(std::uint32_t slot, std::uint32_t collective_count) const;

  pool::Pool& pool_;
  const pool::Recorder& recorder_;
  int rank_;
  double deadline_seconds_;
  std::function<void()> poll_;
  std::uint64_t share_;                      // chunks
  std::atomic<std::uint64_t> before_ = 0;    // chunks that it had taken when all had come as far
  std::atomic<std::thread::id> first_thread_{};
  std::atomic<bool> has_several_threads_ = false;
  std::atomic<bool> goes_ahead_ = false;     // others did not come in time
};

}  // namespace glean::capture
