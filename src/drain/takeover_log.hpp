// SPDX-License-Identifier: BSD-3-Clause
//
// What a drain leaves in the pool for the one that goes on when it is killed: which puts are in the file already, of steps that are not
// complete, or of variables whose holes are filled at the end.
//
// A put stays in its journal, as a record without a payload. Where a journal is too small for one step, its records move into chunks of
// the pool, puts side by side joined (docs/formats/pool.md), and beyond that they are given up.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "drain/logged_puts.hpp"
#include "drain/output.hpp"

namespace glean::drain {

class TakeoverLog {
 public:
  explicit TakeoverLog(DrainedOutput& output) : output_(output) {}

  // -- what the drain before has left
  // Reads what is in chunks. Throws io.
  void read();
  // What was in chunks. The caller looks at each put, and keeps those that are still of use; the next call finds none.
  [[nodiscard]] std::vector<LoggedPut> take_inherited() { return std::exchange(inherited_, {}); }
  [[nodiscard]] bool has_inherited() const { return !inherited_.empty(); }
  // A record that the drain before was just logging when it was killed is in the chunks, too.
  [[nodiscard]] bool is_in_chunks(const pool::Record& record) const {
    return record.state == pool::RecordState::logging && logging_is_done_;
  }

  // -- what this one leaves, until that step is written; no_step: as long as the output is there
  void keep(std::uint64_t until, const TakenRecord& taken) { in_journals_[until].push_back(taken); }
  void keep(std::uint64_t until, LoggedPut put) { in_chunks_[until].push_back(std::move(put)); }
  // What was kept until that step or an earlier one is given back.
  void release(std::uint64_t last_step);
  void release_chunks_if_unused();

  // Takes records out of journals that are full. What they say goes into chunks, of which they may have `room_bytes`; if that is not
  // enough, it is given up, with a warning. `highest_end`: of the file, by all that was put.
  void make_room(Bytes room_bytes, Bytes highest_end);
  [[nodiscard]] Bytes chunk_bytes() const { return chunks_.size() * output_.pool.header().chunk_bytes; }   // of the pool

 private:
  using Records = std::map<std::uint64_t, std::vector<TakenRecord>>;
  [[nodiscard]] Records take_those_in_full_journals();
  enum class Logged { done, no_room, no_free_chunk };
  [[nodiscard]] Logged log(const Records& leaving, Bytes room_bytes);
  void give_up(Bytes highest_end);

  DrainedOutput& output_;
  Records in_journals_;                                         // by the step that they are kept for
  std::map<std::uint64_t, std::vector<LoggedPut>> in_chunks_;   // the same, of what is in chunks and in no journal any more
  std::vector<std::uint32_t> chunks_;
  std::vector<LoggedPut> inherited_;      // not looked at yet
  bool logging_is_done_ = false;          // what the drain before was just logging is in the chunks
  std::uint64_t crowded_since_ns_ = 0;    // when there was no free chunk; 0: there was
};

}  // namespace glean::drain
