// SPDX-License-Identifier: BSD-3-Clause
//
// The state of one output on its way into its file: what was captured, what is written, what comes next.
//
// No thread of its own and no lock: the engine calls it with its lock held, and does the jobs that it hands out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "drain/checksums.hpp"
#include "drain/claims.hpp"
#include "drain/description.hpp"
#include "drain/spill.hpp"
#include "drain/trace.hpp"
#include "drain/window.hpp"
#include "pool/description.hpp"

namespace glean::drain {

class OutputDrain;

struct Job {
  enum class Kind { window, synchronize, publish, discard };
  Kind kind = Kind::window;
  OutputDrain* output = nullptr;
  std::shared_ptr<Window> window;
  std::uint64_t steps = 0;   // synchronize: how many it has made durable
};
using Jobs = std::deque<Job>;

// Whether the ranks still capture. `gone`: they do not and will not.
enum class Ranks { working, gone };

class OutputDrain {
 public:
  // Opens the working file, and goes on where an earlier drain has stopped. An output whose file cannot be opened has
  // failed; it still takes its records. `inherited`: another drain may have written some of it.
  OutputDrain(pool::Pool& pool, pool::OutputKey key, const pool::DescriptionInPool& description, store::SystemCalls& calls,
              Bytes request_bytes, Jobs& jobs, SpillFiles& spill, Ranks ranks, bool inherited);

  // -- what the ranks have done
  // Reads how far they are. Call it before the journals are read: only then is what it says all there.
  void look_at_ranks();
  void on_put(const pool::Record& record, pool::JournalReader& journal, int rank);

  // Queues the windows that are full, or all that there are, although their step is not complete: the pool has run full.
  enum class Relief { full_windows, everything };
  void relieve(Relief relief);
  // Gives up records that only recovery would need, of journals that are full.
  void forget_kept_records();

  // -- results of jobs
  void window_done(const Window& window);
  void synchronized(std::uint64_t steps);
  void published();
  void discarded();               // its file is
  void discard_file() noexcept;   // without the lock
  void finish_failed();           // all ranks have left it, or the drain ends
  void job_ended() { --jobs_in_flight_; }
  // First failure wins; what was captured is dropped as soon as no job uses it.
  void fail(const base::Error& error);
  // The same, but when nobody waits for it any more and the storage may come back, everything stays for another try.
  void storage_failed(const base::Error& error);
  // Counts values out of range, and fails the output where the rule says so.
  void range_error(const Assembled& assembled);

  // Moves the output on: steps staged, written, synchronised, published. Call after every change.
  void progress();

  [[nodiscard]] store::File* file() { return file_.get(); }   // nullptr: it could not be opened
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool finished() const { return finished_; }   // nothing refers to it any more
  [[nodiscard]] bool postponed() const { return postponed_; }  // finished for this engine
  [[nodiscard]] bool space_returned();                        // since the last call
  [[nodiscard]] pool::OutputKey key() const { return key_; }
  // Of the steps that are written.
  [[nodiscard]] std::uint64_t records() const { return std::min(records_, steps_written_); }
  // Of the file, by what was put or filled in steps that are staged.
  [[nodiscard]] Bytes highest_end() const { return settled_end_; }
  [[nodiscard]] Bytes waiting_bytes() const { return waiting_bytes_; }   // of the file: put or to be filled, not written
  [[nodiscard]] std::uint64_t steps_written() const { return steps_written_; }
  [[nodiscard]] const OutputDescription& description() const { return description_; }
  [[nodiscard]] Checksums& checksums() { return checksums_; }
  [[nodiscard]] const OutputTrace& trace() const { return trace_; }
  [[nodiscard]] pool::OutputSlot& slot() const { return slot_; }

 private:
  static constexpr std::uint64_t no_step = ~0ull;   // what belongs to the file as a whole

  Claims& claims(std::uint32_t variable, std::uint64_t step);
  // Throws overlap.
  void claim(const pool::Record& record, const mesh::Box& box, int rank);
  void saw_capture(const pool::Record& record);
  void gather(PendingPiece& pending);
  void gather_fill(std::uint32_t variable, std::uint64_t step);
  void queue_window(std::map<std::uint64_t, Window>::iterator it);
  void queue(Job::Kind kind, std::shared_ptr<Window> window = nullptr);
  void drop_everything();
  // -- output_takeover.cpp: for the drain that would come after this one, and after the one before
  void take_over(const pool::DescriptionInPool& description);
  void check_notes() const;
  void open_file();
  void take_kept(const pool::Record& record, pool::JournalReader& journal, const mesh::Box& box, int rank);
  void undo(const pool::Record& record, pool::JournalReader& journal, const mesh::Box& box, int rank);
  void written(const PendingPiece& pending);
  void settle(std::uint64_t step);
  void release_kept(std::uint64_t step);
  void judge_without_ranks(std::uint32_t steps, std::uint32_t most, bool all_closed);
  void retire(const pool::Record& record, pool::JournalReader& journal);
  void skip_empty_steps();
  void stage_steps();
  // Room in the file for all that is known of. False: the output has failed, or is postponed.
  [[nodiscard]] bool reserve();
  void complete();
  void refuse_uneven_steps();
  void finish(const char* trace_state, pool::OutputState state);

  pool::Pool& pool_;
  pool::OutputKey key_;
  pool::OutputSlot& slot_;
  store::SystemCalls& calls_;
  OutputDescription description_;
  std::unique_ptr<store::File> file_;
  Bytes request_bytes_;
  Jobs& jobs_;
  SpillFiles& spill_;
  Ranks ranks_;
  bool inherited_;

  Checksums checksums_;
  std::vector<std::uint32_t> description_chunks_;
  std::unordered_map<const pool::Record*, std::unique_ptr<PendingPiece>> pieces_;
  std::map<std::uint64_t, Window> gathered_;   // by index
  std::map<std::pair<std::uint32_t, std::uint64_t>, Claims> claims_;
  std::map<std::uint64_t, std::uint64_t> unwritten_;   // pieces and fills of a step
  std::uint64_t steps_complete_ = 0;                   // ended by all ranks
  std::uint64_t steps_begun_ = 0;                      // ended by at least one
  bool all_closed_ = false;
  std::uint64_t steps_staged_ = 0;
  std::uint64_t steps_written_ = 0;
  std::uint64_t steps_synchronized_ = 0;
  std::uint64_t records_ = 0;   // of staged steps
  Bytes settled_end_ = 0;       // of staged steps
  Bytes highest_end_ = 0;       // of all
  // What a step that is not staged has put.
  struct StepReach {
    Bytes end = 0;
    bool has_records = false;
  };
  std::map<std::uint64_t, StepReach> reaches_;
  // Records whose payload is in the file, but of which the holes to fill, or what to undo, can be told. By the step that
  // they are kept for; no_step: as long as the output.
  struct Kept {
    const pool::Record* record;
    pool::JournalReader* journal;
  };
  std::map<std::uint64_t, std::vector<Kept>> kept_;
  std::vector<std::unique_ptr<store::VariableLayout>> zeros_;   // for what is undone
  Bytes waiting_bytes_ = 0;
  Bytes unreserved_bytes_ = 0;     // put or to be filled since the file was last made longer
  int jobs_in_flight_ = 0;
  bool synchronizing_ = false;
  bool fixed_filled_ = false;
  bool last_job_queued_ = false;
  bool failed_ = false;
  bool discarded_ = false;
  bool abandoned_ = false;
  bool dropped_ = false;   // no step was kept
  bool finished_ = false;
  bool postponed_ = false;
  bool superseded_ = false;
  bool judged_ = false;
  bool space_returned_ = false;
  OutputTrace trace_;
};

}  // namespace glean::drain
