// SPDX-License-Identifier: BSD-3-Clause
//
// The write order of a raw output: bytes, written where and as often as ranks like (MPI-IO). Its writes are numbered in the order in which
// they were made, by all ranks of the node, and taken in this order; they take effect in the order of their stamps (pool::WriteStamp): the
// latest write of a byte wins. A stamp begins with the collective count of the rank (one node, pool/collective_count.hpp) or with the tick
// of the node's Lamport clock (several, LamportClock). On one node the writes of ranks that are ahead wait here until the others have made
// as many collective calls.
//
// What a rank has written itself (place `file`) is in the file when its record comes, as all before it are, and those after it are not. A
// number that it has given up has such a record of no bytes.
//
// A record is retired when its write and all of lower stamps are in the file: so a drain that takes over writes the rest again, in order,
// over whatever is there. Where stagers write it and the node keeps what is not durable, a record stays until it is: from there on the node
// sends all of its writes again, tick by tick with the other nodes, to a stager that has lost what it had.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "drain/kept_puts.hpp"
#include "drain/lamport_clock.hpp"
#include "drain/output_life.hpp"
#include "drain/write_order.hpp"

namespace glean::drain {

class Stream final : public WriteOrder {
 public:
  Stream(DrainedOutput& output, OutputWork& work, OutputLife& life, OutputFile& file, KeptPuts& kept);

  void take_over() override;
  void look(const pool::RanksOfOutput& ranks) override;
  void judge(const pool::RanksOfOutput& ranks) override;
  [[nodiscard]] bool takes(const pool::Record& record) override;
  void on_put(const TakenRecord& taken) override;
  [[nodiscard]] bool lacks_writes() const override;
  void progress() override;
  void written(PendingPiece& pending) override;
  [[nodiscard]] bool may_publish() override;
  void drop() override;
  void tell_nodes() override;
  void send_again(int node) override;
  [[nodiscard]] bool has_promise() const override;
  [[nodiscard]] bool is_left_unclosed() const override;
  [[nodiscard]] bool shares_file() const override { return true; }

  // -- writes that are in no journal
  [[nodiscard]] std::uint64_t next_write() const { return next_write_; }   // to be taken
  [[nodiscard]] bool waits_for_write_before(std::uint64_t write) const { return life_.is_writing() && next_write_ < write; }
  // Those before this one that have not come never will: their ranks are gone.
  void pass_over_to(std::uint64_t write);
  // The next one has been recorded, but its clock has not been seen: it stands in a journal behind what waits for other nodes.
  [[nodiscard]] bool may_wait_unseen() const { return again_.empty() && lacks_writes() && !clock_->keeps_waiting(next_write_); }
  void found_waiting(const pool::WriteStamp& write) { clock_->found_waiting(write); }

  // -- on a stager: a rank wants what was written before some tick to be on the storage, and it may not be
  [[nodiscard]] bool wants_synchronized() const { return clock_ && clock_->wants_synchronized(); }

  // -- ranks that wait. As the slot has it now; any thread.
  [[nodiscard]] bool is_waited_for() const { return output_.slot.writes.waiting.load() != 0; }
  // A rank waits for a write that another rank is just recording, without a word to the drain.
  [[nodiscard]] bool is_about_to_go_on() const { return is_waited_for() && (lacks_writes() || next_count_); }
  [[nodiscard]] bool is_read_soon() const { return output_.slot.writes.read_up_to.load(std::memory_order_acquire) > done_up_to_; }
  [[nodiscard]] bool is_wanted() const { return output_.slot.writes.write_up_to.load(std::memory_order_acquire) > done_up_to_; }
  // No rank will capture anything more of it.
  [[nodiscard]] bool is_left_by_all() const { return pool::ranks_of_output(output_.pool, output_.key.slot).all_closed; }

 private:
  [[nodiscard]] std::unique_ptr<PendingPiece> pending_of(const TakenRecord& taken, store::Piece piece) const;
  void gather(PendingPiece& pending);
  void send_next_again();
  void count_again();
  void look_at_counts();
  void open_counts();
  void settle();
  void pass(std::uint64_t first, std::uint64_t end);
  void tell_written();

  DrainedOutput& output_;
  OutputWork& work_;
  OutputLife& life_;
  OutputFile& file_;
  KeptPuts& kept_;
  std::optional<LamportClock> clock_;   // where several nodes write it
  std::uint64_t next_write_ = 0;        // to be taken, a number
  std::uint64_t writes_written_ = 0;    // all of lower numbers
  std::uint64_t told_written_ = 0;      // as ranks were last told
  // Those that may be in the file and are wanted there are, of all lower numbers. Read by any thread.
  std::atomic<std::uint64_t> done_up_to_ = 0;
  std::uint64_t open_count_ = 0;        // collective count: writes of later ones wait
  struct NextCount {
    std::uint64_t count, number;
  };
  std::optional<NextCount> next_count_;                   // to be opened when all of lower numbers have been taken
  std::map<std::uint64_t, PendingPiece*> unwritten_;      // by stamp
  std::map<std::uint64_t, TakenRecord> done_;             // by stamp: later ones than some of these
  std::map<std::uint64_t, std::uint64_t> passed_;         // numbers [first, second), not adjacent: retired, or there are none
  std::map<std::uint64_t, PendingPiece*> again_;          // of those unwritten, by stamp: to be sent again when their turn comes,
  std::set<int> again_to_;                                // to these stagers
  bool consumers_know_ = false;                           // that it is complete
  bool closed_here_ = false;                              // by all ranks of the node
};

}  // namespace glean::drain
