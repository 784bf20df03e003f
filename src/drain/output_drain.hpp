// SPDX-License-Identifier: BSD-3-Clause
//
// The state of one output on its way into its file: what was captured, what is written, what comes next.
//
// No thread of its own and no lock: the engine calls it with its lock held, and does the jobs that it hands out.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "drain/claims.hpp"
#include "drain/output.hpp"
#include "drain/node_share.hpp"
#include "drain/pending_piece.hpp"
#include "drain/retired_files.hpp"
#include "drain/takeover_log.hpp"
#include "pool/description.hpp"
#include "pool/ranks_of_output.hpp"
#include "store/description.hpp"
#include "store/windows/window.hpp"

namespace glean::drain {

class OutputDrain;

struct Job {
  enum class Kind { window, read, synchronize, publish, discard };
  Kind kind = Kind::window;
  OutputDrain* output = nullptr;
  std::shared_ptr<store::Window> window;
  std::uint64_t steps = 0;   // synchronize: how many it has made durable
  // read: a parcel as long as its output has not failed, and what is read of it
  Parcel* parcel = nullptr;
  std::shared_ptr<Parcel> read{};
};
using Jobs = std::deque<Job>;

class OutputDrain {
 public:
  // Opens the working file, and goes on where an earlier drain has stopped. An output whose file cannot be opened has
  // failed; it still takes its records. `inherited`: another drain may have written some of it.
  OutputDrain(pool::Pool& pool, pool::OutputKey key, const pool::DescriptionInPool& description, store::SystemCalls& calls,
              Bytes request_bytes, Jobs& jobs, Parcels& parcels, SpillFiles& spill, Ranks ranks, bool inherited);

  // -- what the ranks have done
  // Reads how far they are. Call it before the journals are read: only then is what it says all there.
  void look_at_ranks();
  void on_put(const pool::Record& record, pool::JournalReader& journal);
  // Whether that can be now: writes of bytes are taken in order (output_bytes.cpp).
  [[nodiscard]] bool takes(const pool::Record& record);
  [[nodiscard]] std::uint64_t next_write() const { return next_write_; }   // to be taken
  [[nodiscard]] bool waits_for_write_before(std::uint64_t write) const;
  // Somebody waits for a write that a rank is just recording, without a word to the drain.
  [[nodiscard]] bool is_about_to_go_on() const { return is_waited_for() && (lacks_writes() || next_phase_); }
  // The next one has been recorded, but its epoch has not been seen: it stands in a journal behind what waits for other nodes.
  [[nodiscard]] bool may_wait_unseen() const { return lacks_writes() && !(kept_waiting_ && kept_waiting_->number == next_write_); }
  void found_waiting(const pool::WriteStamp& write);
  // Those before this one that have not come never will: their ranks are gone.
  void pass_over_to(std::uint64_t write);

  // Queues the windows that are full, or all that there are, although their step is not complete: the pool has run full.
  enum class Relief { full_windows, everything };
  void relieve(Relief relief);
  // Takes records that only recovery would need out of journals that are full, as TakeoverLog::make_room() says.
  void make_room_in_journals(Bytes room_bytes);
  [[nodiscard]] Bytes moved_bytes() const { return log_.chunk_bytes(); }   // of the pool

  // -- results of jobs
  void window_done(const store::Window& window);
  void synchronized(std::uint64_t steps);
  void found_removed() { removed_ = true; }   // by the program: there is nothing to publish
  void published();
  void discarded();               // its file is
  void arrived(const Parcel& parcel);
  void discard_file() noexcept;   // without the lock
  void finish_failed();           // all ranks have left it, or the drain ends
  void job_began() { ++jobs_in_flight_; }   // that is not in the queue
  void job_ended() { --jobs_in_flight_; }
  // The storage is full, and room may come: it is to be tried again.
  [[nodiscard]] bool waits_for_room();
  // First failure wins; what was captured is dropped as soon as no job uses it.
  void fail(const base::Error& error);
  // The same, but when nobody waits for it any more and the storage may come back, everything stays for another try.
  void storage_failed(const base::Error& error);
  // Counts values out of range, and fails the output where the rule says so.
  void range_error(const store::Assembled& assembled);

  // Moves the output on: steps staged, written, synchronised, published. Call after every change.
  void progress();

  [[nodiscard]] store::File* file() { return file_.get(); }   // nullptr: it could not be opened
  [[nodiscard]] bool failed() const { return failed_; }
  // Somebody waits to read what is written now. Any thread.
  [[nodiscard]] bool is_read_soon() const;
  [[nodiscard]] bool is_waited_for() const { return output_.slot.waiting_for_writes.load() != 0; }   // writes of it are
  // Somebody wants it to be written. And: no rank will capture anything more of it. As the slot has it now.
  [[nodiscard]] bool is_wanted() const;
  [[nodiscard]] bool is_left_by_all() const;
  [[nodiscard]] bool finished() const { return finished_; }   // nothing refers to it any more
  [[nodiscard]] bool postponed() const { return postponed_; }  // finished for this engine
  // The storage refuses it, and the nodes have not decided whether it is kept: until then all that was captured stays.
  [[nodiscard]] bool undecided() const { return undecided_; }
  [[nodiscard]] bool space_returned() { return std::exchange(output_.space_returned, false); }   // since the last call
  [[nodiscard]] pool::OutputKey key() const { return output_.key; }
  // Of the steps that are written, by all nodes.
  [[nodiscard]] std::uint64_t records() const;
  // Of the file, by what was put or filled in steps that are staged.
  [[nodiscard]] Bytes highest_end() const;
  // The header is this node's to write, and the file to publish.
  [[nodiscard]] bool publishes() const {
    return output_.description.share.publisher == static_cast<std::int64_t>(output_.pool.header().node);
  }
  [[nodiscard]] Bytes waiting_bytes() const { return waiting_bytes_; }   // of the file: put or to be filled, not written
  [[nodiscard]] std::uint64_t steps_written() const { return output_.steps.written; }
  [[nodiscard]] const store::OutputDescription& description() const { return output_.description; }
  [[nodiscard]] Checksums& checksums() { return output_.checksums; }
  [[nodiscard]] const OutputTrace& trace() const { return output_.trace; }
  [[nodiscard]] pool::OutputSlot& slot() const { return output_.slot; }
  // Its file is published although not all ranks have closed it; the second without the lock (output_promise.cpp).
  [[nodiscard]] bool is_unclosed() const { return is_unclosed_; }
  void publish_unclosed();

 private:
  Claims& claims(std::uint32_t variable, std::uint64_t step);
  // Throws overlap.
  void claim(const KeptPut& put);
  void gather(PendingPiece& pending);
  void gather_fill(std::uint32_t variable, std::uint64_t step);
  // -- output_part.cpp: of several files, each is filled where its own ranks may put
  [[nodiscard]] std::vector<Extent> holes_to_fill(std::uint32_t variable, std::uint64_t record, const Claims& claimed);
  void queue_window(std::map<std::uint64_t, store::Window>::iterator it);
  void queue(Job::Kind kind, std::shared_ptr<store::Window> window = nullptr);
  void drop_everything();
  // -- output_takeover.cpp: for the drain that would come after this one, and after the one before
  void take_over(const pool::DescriptionInPool& description);
  void follow_new_name();
  void divide();
  // -- output_refused.cpp
  [[nodiscard]] bool may_be_kept();
  void put_off(const base::Error& error);
  void refuse(const base::Error& error);
  void agree_to_keep(const base::Error& error);
  void look_at_decision();
  void leave_for_later();
  void tell_names(Ending ending);
  void check_notes() const;
  void open_file();
  [[nodiscard]] bool is_to_be_made(std::uint64_t publishing_inode) const;
  void take_moved();
  void take_kept(const pool::Record& record, pool::JournalReader& journal);
  [[nodiscard]] bool is_undone(std::uint64_t step) const { return output_.ranks == Ranks::gone && step >= output_.steps.ended; }
  // Both: whether whoever would come after this drain must still know of the put.
  [[nodiscard]] bool take_claim(const KeptPut& put);
  [[nodiscard]] bool undo(const KeptPut& put);
  // -- output_keeping.cpp
  [[nodiscard]] std::uint64_t kept_for(const KeptPut& put) const;
  void written(const PendingPiece& pending);
  void settle(std::uint64_t step);
  void judge_without_ranks(const pool::RanksOfOutput& ranks);
  void skip_empty_steps();
  void stage_steps();
  // What was closed before is durable, so that a file which was there may change. False: not yet, or the output has failed or is postponed.
  [[nodiscard]] bool may_change_file();
  // Room in the file for all that is known of. False: the output has failed, or is postponed, or room may come.
  [[nodiscard]] bool reserve();
  void complete();
  void refuse_uneven_steps();
  void give_up_removed();
  void part_written(PendingPiece& pending, Bytes bytes);
  // -- output_bytes.cpp
  void on_bytes(const pool::Record& record, pool::JournalReader& journal);
  [[nodiscard]] bool lacks_writes() const;
  void bytes_written(const PendingPiece& pending);
  void look_at_phases();
  void open_phases();
  void gather_write(PendingPiece& pending);
  void settle_writes();
  void pass(std::uint64_t first, std::uint64_t end);
  void tell_written();
  void is_written(std::uint64_t window);
  void write_bytes();
  void queue_windows_of_bytes();
  void drop_writes();
  [[nodiscard]] bool locks_name();
  void judge_bytes_without_ranks(bool all_closed);
  // -- output_promise.cpp: what the program was told is safe stays, whatever fails or dies
  // It was there before, or others have it open, too, and it has its final name.
  [[nodiscard]] bool is_in_place() const;
  [[nodiscard]] bool has_promised_bytes() const;
  [[nodiscard]] std::uint64_t promised_steps() const;
  [[nodiscard]] bool is_left_unclosed() const;
  [[nodiscard]] bool keep_promised() noexcept;
  void tell_of_unclosed(const std::optional<std::string>& path);
  // -- output_epochs.cpp: of bytes that several nodes write
  [[nodiscard]] bool is_epoch_open(std::uint64_t epoch);
  void saw_epoch(const pool::WriteStamp& write);
  void tell_written_epoch();
  // -- where other nodes are in the session too
  void look_at_nodes();
  void tell_other_nodes();
  [[nodiscard]] std::uint64_t all_steps() const { return nodes_ ? nodes_->steps_ended() : output_.steps.complete; }
  [[nodiscard]] bool is_mine(std::uint64_t window) { return !nodes_ || nodes_->is_mine(window); }
  void complete_part();
  [[nodiscard]] bool has_dropped_all() const;
  void finish(const char* trace_state, pool::OutputState state);

  DrainedOutput output_;
  TakeoverLog log_;
  std::unique_ptr<NodeShare> nodes_;         // where there are several
  std::unique_ptr<store::File> file_;
  Bytes request_bytes_;
  Jobs& jobs_;
  Parcels& parcels_;
  std::vector<std::uint32_t> description_chunks_;
  std::unordered_map<const pool::Record*, std::unique_ptr<PendingPiece>> pieces_;
  std::map<std::uint64_t, store::Window> gathered_;   // by index
  std::map<std::pair<std::uint32_t, std::uint64_t>, Claims> claims_;
  std::map<std::uint64_t, std::uint64_t> unwritten_;   // pieces and fills of a step
  std::uint64_t records_ = 0;   // of staged steps
  Bytes settled_end_ = 0;       // of staged steps
  Bytes highest_end_ = 0;       // of all
  // What a step that is not staged has put.
  struct StepReach {
    Bytes end = 0;
    bool has_records = false;
  };
  std::map<std::uint64_t, StepReach> reaches_;
  std::vector<std::unique_ptr<store::VariableLayout>> zeros_;   // for what is undone
  std::map<std::uint32_t, std::vector<Extent>> fillable_;   // of a part, by variable: elements of a record
  // -- of bytes
  std::uint64_t next_write_ = 0;        // to be taken, a number
  std::uint64_t writes_written_ = 0;    // all of lower numbers
  std::uint64_t told_written_ = 0;      // as ranks were last told
  // Those that may be in the file and are wanted there are, of all lower numbers. Read by any thread.
  std::atomic<std::uint64_t> done_up_to_ = 0;
  std::uint64_t open_phase_ = 0;        // writes of later ones wait
  struct NextPhase {
    std::uint64_t phase, number;
  };
  std::optional<NextPhase> next_phase_;                   // to be opened when all of lower numbers have been taken
  std::map<std::uint64_t, PendingPiece*> unwritten_writes_;   // by stamp
  std::map<std::uint64_t, TakenRecord> done_writes_;             // by stamp: later ones than some of these
  std::map<std::uint64_t, std::uint64_t> passed_writes_;  // numbers [first, second), not adjacent: retired, or there are none
  std::set<std::uint64_t> full_windows_, windows_on_their_way_;
  bool closed_here_ = false;            // by all ranks of the node
  std::map<std::uint64_t, std::uint64_t> epochs_;         // of writes that were taken, by the first of each
  std::optional<pool::WriteStamp> kept_waiting_;          // by writes of other nodes: the next to be taken
  Bytes waiting_bytes_ = 0;
  Bytes unreserved_bytes_ = 0;     // put or to be filled since the file was last made longer
  bool part_queued_ = false;
  int jobs_in_flight_ = 0;
  bool synchronizing_ = false;
  bool fixed_filled_ = false;
  bool last_job_queued_ = false;
  bool failed_ = false;
  bool discarded_ = false;
  std::uint64_t lacks_room_since_ns_ = 0, written_when_room_lacked_ = 0;
  bool follows_nothing_ = false;   // that is not durable
  bool abandoned_ = false;
  bool failed_elsewhere_ = false;   // said by its slot: a put, or another node
  bool dropped_ = false;   // no step was kept
  bool finished_ = false;
  bool postponed_ = false;
  bool was_kept_ = false;    // the storage had refused it before
  bool undecided_ = false;   // and postponed until the nodes have decided
  std::vector<TakenRecord> unread_;   // records that came meanwhile
  bool superseded_ = false;
  bool removed_ = false;
  bool is_unclosed_ = false;
  std::optional<std::string> kept_as_;   // of a failed output, what was promised is
  bool judged_ = false;
};

}  // namespace glean::drain
