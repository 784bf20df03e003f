// SPDX-License-Identifier: BSD-3-Clause
//
// The drain: threads that turn what a node's ranks have captured into complete files. Never calls MPI.
//
// The same engine is meant to serve in the aggregator's process, in a helper process and in a stager: all it needs is
// a mapped pool.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "drain/output_drain.hpp"
#include "drain/worker.hpp"
#include "plan/plan.hpp"

namespace glean::drain {

class Engine {
 public:
  // Starts plan.drain_threads threads, and one that watches the clock where the pool says when the job ends. `pool`
  // and `calls` must outlive the engine. Throws when the buffers or threads cannot be had.
  Engine(pool::Pool& pool, const plan::Plan& plan, store::SystemCalls& calls);
  // Stops the threads; the working files of outputs that are not finished are removed. Blocks.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Lets the threads finish what they do, and ends them. What is not finished then is discarded. Blocks.
  void stop();
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
  [[nodiscard]] bool read_journal(int rank);
  void describe(const pool::Record& record, int rank);
  void drop_given_up_descriptions();
  void fail_unreadable_outputs();
  void relieve_if_full();
  void after_change(OutputDrain& output);
  void tell_of_space();
  void finish_job(const Job& job, const base::Error* error);
  void perform(Job job);
  void enter_busy();
  void leave_busy();
  // -- engine_hurry.cpp: before the job ends
  void watch_end_of_job();
  [[nodiscard]] DrainPosition position() const;
  void add_threads();
  [[nodiscard]] OutputDrain* find(const pool::Record& record);

  pool::Pool& pool_;
  plan::Plan plan_;
  store::SystemCalls& calls_;

  mutable std::mutex mutex_;   // everything below, and the outputs
  std::vector<pool::JournalReader> journals_;
  std::vector<std::optional<base::Error>> damages_;  // of journals that cannot be read on
  struct Description {
    std::vector<std::byte> bytes;        // as far as it was read
    std::vector<std::uint32_t> chunks;   // references to where it lies
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Description> descriptions_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<OutputDrain>> outputs_;
  Jobs jobs_;
  int windows_in_flight_ = 0;
  bool space_returned_ = false;
  bool stopping_ = false;
  int busy_threads_ = 0;
  DrainTrace trace_;
  std::vector<std::unique_ptr<Worker>> workers_;   // one of each thread
  std::vector<std::thread> threads_;
  EndOfJob end_of_job_;
  std::condition_variable stop_watching_;
  std::thread watch_;
};

}  // namespace glean::drain
