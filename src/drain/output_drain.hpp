// SPDX-License-Identifier: BSD-3-Clause
//
// One output on its way into its file, as the engine sees it: put together of its work, its file, its life and its write order.
//
// No thread of its own and no lock: the engine calls it with its lock held, and does the jobs that it hands out.
#pragma once

#include <memory>
#include <vector>

#include "drain/kept_puts.hpp"
#include "drain/node_share.hpp"
#include "drain/output_life.hpp"
#include "drain/stream.hpp"
#include "drain/takeover_log.hpp"
#include "drain/write_order.hpp"
#include "pool/description.hpp"

namespace glean::drain {

class OutputDrain {
 public:
  // Opens the working file, and goes on where an earlier drain has stopped. An output whose file cannot be opened has
  // failed; it still takes its records. `inherited`: another drain may have written some of it.
  OutputDrain(pool::Pool& pool, pool::OutputKey key, const pool::DescriptionInPool& description, store::SystemCalls& calls,
              Bytes request_bytes, Jobs& jobs, ExchangeBlocks& blocks, SpillFiles& spill, Consumers& consumers, Analyst& analyst,
              Ranks ranks, bool inherited);

  // -- what the ranks have done
  // Reads how far they are. Call it before the journals are read: only then is what it says all there.
  void look_at_ranks();
  [[nodiscard]] bool takes(const pool::Record& record);   // now
  void on_put(const pool::Record& record, pool::JournalReader& journal);

  // -- results of jobs
  void window_done(const store::Window& window);
  void synchronized(const Job& job);
  void published();
  void arrived(const ExchangeBlock& block);   // where it is written
  void block_leaves() { ++blocks_away_; }
  void block_is_back() { --blocks_away_; }   // answered or not
  // That stager has lost all that it had, and its place begins with nothing.
  void send_again(int node);
  void discard_file() noexcept;         // without the lock
  void finish_failed();                 // all ranks have left it, or the drain ends
  // Counts values out of range, and fails the output where the rule says so.
  void range_error(const store::Assembled& assembled);

  // Moves the output on: steps staged, written, synchronised, published. Call after every change.
  void progress();

  [[nodiscard]] DrainedOutput& about() { return output_; }
  [[nodiscard]] TakeoverLog& log() { return log_; }
  [[nodiscard]] KeptPuts& kept() { return kept_; }
  [[nodiscard]] OutputWork& work() { return work_; }
  [[nodiscard]] OutputFile& file() { return file_; }
  [[nodiscard]] OutputLife& life() { return life_; }
  [[nodiscard]] Stream* stream() { return stream_; }   // of a raw output; else nullptr
  // As all nodes have written it: how many records there are, and how far what was put or filled reaches.
  [[nodiscard]] std::uint64_t records() const;
  [[nodiscard]] Bytes highest_end() const;

 private:
  void take_over(const pool::DescriptionInPool& description);
  void step();
  void write();
  void complete();
  [[nodiscard]] bool is_published_elsewhere() const;
  void part_written(PendingPiece& pending, Bytes bytes);
  void drop_everything();

  DrainedOutput output_;
  std::unique_ptr<NodeShare> nodes_;   // where several nodes write it
  TakeoverLog log_;
  KeptPuts kept_{output_};
  OutputWork work_;
  OutputFile file_;
  OutputLife life_;
  std::unique_ptr<WriteOrder> order_;
  Stream* stream_ = nullptr;            // the order, of a raw output
  std::vector<TakenRecord> unread_;     // that came while the nodes decided whether the output is kept
  bool is_judged_ = false;              // ranks are gone
  bool is_synchronizing_ = false;
  int blocks_away_ = 0;                 // to other nodes, which read them from the pool
};

}  // namespace glean::drain
