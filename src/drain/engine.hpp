// SPDX-License-Identifier: BSD-3-Clause
//
// The drain: threads that turn what a node's ranks have captured into complete files. Never calls MPI.
//
// The same engine serves in the aggregator's process, in a helper process and in `glean recover`: all it needs is a mapped
// pool. What it knows beyond the pool it can work out again, so another engine goes on where one was killed.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "drain/analyst.hpp"
#include "drain/consumers.hpp"
#include "drain/copier.hpp"
#include "drain/core_yielding.hpp"
#include "drain/output_drain.hpp"
#include "drain/worker.hpp"
#include "plan/node_plan.hpp"
#include "pool/name_log.hpp"

namespace glean::drain {

// Of which the drain is. Its `own` may be killed and followed by another while ranks go on: what the system still writes for it then must
// not lie in the pool, where the other gives it back.
enum class Process { of_a_rank, own };

class Engine {
 public:
  // Starts plan.drain_threads threads, which take up what is in the pool, as many that wait for the storage, and one that watches the
  // clock where the pool says when the job ends. `pool` and `calls` must outlive the engine. Throws when the buffers or threads cannot
  // be had. With Ranks::gone no rank captures any more: outputs are completed with the steps that all ranks have ended, and what
  // the storage refuses stays as it is for another try.
  Engine(pool::Pool& pool, const plan::NodePlan& plan, store::SystemCalls& calls, Ranks ranks = Ranks::working,
         Process process = Process::of_a_rank);
  // stop(Unfinished::discard).
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Lets the threads finish what they do, and ends them. What is not finished then is discarded, or left in the pool for
  // another engine. Blocks.
  enum class Unfinished { discard, leave };
  void stop(Unfinished unfinished = Unfinished::discard);
  // Waits until nothing is open any more: with Ranks::gone it comes to that. False: not within `seconds`. Blocks.
  bool wait_until_idle(double seconds = 1e9);
  // Opens the files of new outputs, as a drain thread does when it comes to it. From any thread. Local.
  void adopt_now();
  // Where other nodes are in the session too: the next of what they write, if any, and that it has arrived at its node. From
  // any thread. Local. Everyone of them is answered.
  // `held`: nodes to which none goes now.
  [[nodiscard]] std::optional<ExchangeBlock> next_block(const std::set<int>& held = {});
  enum class Answer { arrived, refused };
  void answered(const ExchangeBlock& block, Answer answer);
  // While a stager is lost nothing becomes durable: what is kept for that is not given back, even if ranks wait for room.
  void hold_kept(bool holds);
  // That stager has lost what it had: what is kept until it is durable is sent there again.
  void send_again(int node);
  // Or this: it is to be sent again, before what next_block() would return next.
  void take_back(ExchangeBlock block);
  // The checksums of what this node has written of an output, when that is durable, and what it has found out of its steps, for the node
  // that publishes it; nothing if none are wanted. And those of another. From any thread. Local.
  struct Sums {
    std::vector<store::StridedSum> sums;
    bool lost = false;   // not all that was written has one
    std::vector<std::byte> results{};   // analysis::OutputResults; empty: nothing was found
    [[nodiscard]] bool any() const { return !sums.empty() || lost || !results.empty(); }
  };
  [[nodiscard]] std::optional<Sums> take_sums(pool::OutputKey key);
  void add_sums(pool::OutputKey key, const Sums& sums);
  // The program `glean`, which makes files of other formats of complete ones; nothing is needed where this process is that program itself.
  // For all engines of this process, before they begin.
  static void set_converter(std::string program) { Copier::set_program(std::move(program)); }
  // What looks at complete steps. Any thread, as long as the engine lives.
  [[nodiscard]] Consumers& consumers() { return consumers_; }
  // So far; complete after stop(). Local.
  [[nodiscard]] DrainTrace trace() const;

 private:
  [[nodiscard]] std::unique_ptr<Worker> make_worker();
  void start_thread();
  void run(int thread, Worker& worker);
  // Reads the journals and hands out the next job, if there is one. With the lock held.
  [[nodiscard]] std::optional<Job> next_job();
  void read_journals();
  // Whether all of it could be read: false when it speaks of an output that is not described yet.
  [[nodiscard]] bool read_all_journals();
  [[nodiscard]] bool read_journal(int rank);
  [[nodiscard]] bool is_finished(pool::OutputKey key) const;
  [[nodiscard]] bool stays_unpublished(const Job& job);
  [[nodiscard]] bool waits_for_copies(const Job& job);
  void have_copies(Job job, std::vector<CopyTrace> made);
  void analysed(pool::OutputKey key);
  void publish_tables(const Job& job);
  void leave_out_copies(const Job& job, const std::string& why);
  struct Replaced { std::string path; std::uint64_t inode = 0, device = 0; };
  [[nodiscard]] std::optional<Replaced> replaced_by_copy(const Job& job) const;
  void remove(const Replaced& replaced);
  struct WrittenSoFar { std::uint64_t records = 0; Bytes end = 0; };
  WrittenSoFar note_written(Job& job) const;
  [[nodiscard]] bool complete_records(const Job& job, const WrittenSoFar& written);
  void publish_bytes(const Job& job);
  [[nodiscard]] bool takes_its_name(const Job& job);
  [[nodiscard]] bool waits_for_room(const Job& job, const base::Error& error);
  void try_again_with_room();
  void tell_kept(const pool::NameLog& log, const std::string& final_path) const;
  [[nodiscard]] bool waits_for_older(const Job& job);
  void adopt_outputs();
  enum class Adoption { first, again };   // again: consumers have seen it
  void adopt(pool::OutputKey key, Adoption adoption = Adoption::first);
  void adopt_again(pool::OutputKey key);
  void relieve_if_full();
  [[nodiscard]] bool waits_for_kept();
  void after_change(OutputDrain& output);
  void tell_if_idle();
  void tell_of_space();
  void finish_job(const Job& job, const base::Error* error);
  void enter_busy();
  void leave_busy();
  // -- engine_storage_jobs.cpp
  void run_storage_jobs(int thread);
  [[nodiscard]] bool has_storage_jobs() const { return jobs_.has_storage_jobs() || storage_jobs_in_progress_ != 0; }
  void perform(Job job);
  // -- engine_lost_writes.cpp: of bytes
  void pass_over_lost_writes();
  [[nodiscard]] bool pass_over_unrecorded_writes();
  void look_behind_what_waits();
  bool pass_over_gaps(const std::map<OutputDrain*, std::uint64_t>& ends);
  [[nodiscard]] std::vector<pool::WriteStamp> recorded(pool::OutputKey output, std::uint64_t from) const;
  // -- engine_exchange_blocks.cpp: what other nodes write
  [[nodiscard]] std::optional<Job> next_read();
  void read_spilled(const Job& job);
  void has_read(const Job& job);
  // -- engine_core_yielding.cpp
  [[nodiscard]] bool leaves_cores_to_ranks();
  [[nodiscard]] static int cores_of_machine();
  // -- engine_deadline_boost.cpp: before the job ends
  void watch_end_of_job();
  [[nodiscard]] DrainPosition position() const;
  void add_threads();
  [[nodiscard]] OutputDrain* find(pool::OutputKey key);

  pool::Pool& pool_;
  plan::NodePlan plan_;
  store::SystemCalls& calls_;
  SpillFiles spill_;
  Consumers consumers_;
  Analyst analyst_;
  Ranks ranks_;
  Process process_;

  mutable std::mutex mutex_;   // everything below, and the outputs
  std::vector<pool::JournalReader> journals_;
  std::vector<std::optional<base::Error>> damages_;  // of journals that cannot be read on
  std::uint64_t records_read_ = 0;
  std::map<OutputDrain*, std::uint64_t> blocked_;   // by writes of bytes that have not come, or by other nodes; the first that is there
  std::map<pool::OutputKey, std::unique_ptr<OutputDrain>> outputs_;
  std::set<pool::OutputKey> postponed_;   // what the storage has refused
  Jobs jobs_;
  std::deque<Job> without_room_;   // that the storage had no room for
  std::size_t ended_when_room_was_lacking_ = 0;   // outputs
  bool holds_kept_ = false;
  std::uint64_t kept_in_the_way_since_ns_ = 0;   // ranks wait for room that only what is kept for stagers could make; 0: they do not
  ExchangeBlocks blocks_;
  int reads_in_flight_ = 0;
  int read_and_sent_ = 0;   // not answered
  std::uint64_t looked_for_lost_writes_ns_ = 0;
  int windows_in_flight_ = 0, storage_jobs_in_progress_ = 0;
  bool space_returned_ = false;
  bool stopping_ = false;
  bool has_drained_ = false;    // no thread drains any more
  bool leaving_ = false;        // whatever is left to do
  bool inherits_ = false;       // the outputs that it finds
  bool has_read_all_ = false;   // at least once
  std::condition_variable idle_;
  bool was_idle_ = false;
  int busy_threads_ = 0;
  DrainTrace trace_;
  std::vector<std::unique_ptr<Worker>> workers_;   // one of each thread that drains
  std::vector<std::thread> threads_, storage_threads_;
  CoreYielding core_yielding_;
  EndOfJob end_of_job_;
  std::condition_variable stop_watching_;
  std::thread watch_;
  Copier copier_;
};

}  // namespace glean::drain
