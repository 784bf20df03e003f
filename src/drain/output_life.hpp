// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of an output: it is written and published, fails, or is kept for another try because the storage refuses it.
//
//   writing ─► completing (several nodes) ─► publishing ─► finished
//      │ any of these
//      ├─► failed ─► discarded ─► finished
//      ├─► postponed ─► kept
//      └─► undecided (several nodes) ─► postponed or failed
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "drain/output_file.hpp"
#include "drain/output_work.hpp"
#include "drain/retired_files.hpp"

namespace glean::drain {

enum class Life {
  writing,
  completing,   // several nodes: this node's part is whole, and is made durable or waits for those of others
  publishing,   // the last job is queued
  failed,       // jobs in flight end, then the file is discarded
  discarded,    // the file is; ranks may not have left it
  undecided,    // the storage refuses it, and the nodes have not decided whether it is kept: all that was captured stays
  postponed,    // the storage refuses it: jobs in flight end, and all that was captured stays
  kept,         // the same, and nothing refers to it any more
  finished,     // nothing refers to it any more: the slot may be another output's
};

// Why it is not published.
enum class Failure { error, elsewhere, abandoned, dropped, removed };   // elsewhere: another node has said so

class OutputLife {
 public:
  OutputLife(DrainedOutput& output, OutputWork& work, OutputFile& file, std::vector<std::uint32_t> description_chunks)
      : output_(output), work_(work), file_(file), description_chunks_(std::move(description_chunks)) {}

  [[nodiscard]] Life now() const { return life_; }
  [[nodiscard]] bool is_writing() const { return life_ <= Life::publishing; }
  [[nodiscard]] bool has_failed() const { return life_ == Life::failed || life_ == Life::discarded; }
  [[nodiscard]] bool has_ended() const { return life_ == Life::kept || life_ == Life::finished; }
  void move_on(Life to) { life_ = to; }   // to completing, and to publishing

  // The slot says what becomes of it: a put has failed, or another node; the program has removed it; the nodes have decided.
  void look();
  void look_at_abandoned();   // by ranks
  // First failure wins; what was captured is dropped as soon as no job uses it.
  void fail(const base::Error& error, Failure why = Failure::error);
  // There is no file, and no error.
  void give_up(Failure why);
  // It fails, but when no rank waits for it any more and the storage may come back, everything stays for another try.
  void storage_failed(const base::Error& error);
  // The drain before had left it for this try. Before it is opened.
  void retry();
  [[nodiscard]] bool is_retried() const { return is_retried_; }

  // Queues windows, if the file may change now and has room.
  void hand_out(Relief relief);
  // Room in the file for all that is known of. False: the output has failed, or is postponed, or room may come.
  [[nodiscard]] bool reserve();
  // The storage is full, and room may come: it is to be tried again.
  [[nodiscard]] bool waits_for_room();

  void published();
  void discarded();
  void finish_failed();           // all ranks have left it, or the drain ends
  void leave_for_later();
  [[nodiscard]] Failure failure() const { return failure_; }

 private:
  [[nodiscard]] bool may_change_file();
  [[nodiscard]] bool may_be_kept() const;
  void put_off(const base::Error& error, Life life);
  void refuse(const base::Error& error);
  void agree_to_keep(const base::Error& error);
  void finish(const char* trace_state, pool::OutputState state);
  void tell_names(Ending ending);

  DrainedOutput& output_;
  OutputWork& work_;
  OutputFile& file_;
  std::vector<std::uint32_t> description_chunks_;
  Life life_ = Life::writing;
  Failure failure_ = Failure::error;
  bool is_retried_ = false;
  bool follows_nothing_ = false;   // that is not durable
  std::uint64_t lacks_room_since_ns_ = 0, written_when_room_lacked_ = 0;
};

}  // namespace glean::drain
