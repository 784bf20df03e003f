// SPDX-License-Identifier: BSD-3-Clause
//
// What an output gives the engine's threads to do.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "drain/exchange_block.hpp"
#include "store/windows/window.hpp"

namespace glean::drain {

class OutputDrain;

struct Job {
  enum class Kind { window, read, synchronize, publish, discard };
  Kind kind = Kind::window;
  OutputDrain* output = nullptr;
  std::shared_ptr<store::Window> window;
  std::uint64_t steps = 0, tick = 0;   // synchronize: how many it has made durable; of a raw output, what was written before this tick
  bool has_copies = false;   // publish: those that were to be made of it are made, or cannot be
  // read: a block as long as its output has not failed, and what is read of it
  ExchangeBlock* block = nullptr;
  std::shared_ptr<ExchangeBlock> read{};
};

// What is to be done, in order, by two kinds of threads: windows by those that drain, the others by those that wait for the storage. With
// the engine's lock held.
class Jobs {
 public:
  void add(Job job) {
    of(job).push_back(std::move(job));
    tell_of_storage_jobs();
  }
  void add_first(Job job) {
    of(job).push_front(std::move(job));
    tell_of_storage_jobs();
  }
  [[nodiscard]] std::optional<Job> take_window() { return take(windows_); }
  [[nodiscard]] std::optional<Job> take_storage_job() { return take(storage_jobs_); }
  [[nodiscard]] bool has_windows() const { return !windows_.empty(); }
  [[nodiscard]] bool has_storage_jobs() const { return !storage_jobs_.empty(); }
  // Those of that output that nothing has begun. Returns how many.
  std::size_t drop(const OutputDrain* output) {
    const auto is_its = [output](const Job& job) { return job.output == output; };
    return std::erase_if(windows_, is_its) + std::erase_if(storage_jobs_, is_its);
  }
  // Notified when a job for the storage has come.
  [[nodiscard]] std::condition_variable& storage_job_came() { return storage_job_came_; }

 private:
  [[nodiscard]] std::deque<Job>& of(const Job& job) { return job.kind == Job::Kind::window ? windows_ : storage_jobs_; }
  void tell_of_storage_jobs() {
    if (has_storage_jobs()) storage_job_came_.notify_one();
  }
  [[nodiscard]] static std::optional<Job> take(std::deque<Job>& jobs) {
    if (jobs.empty()) return std::nullopt;
    std::optional<Job> job = std::move(jobs.front());
    jobs.pop_front();
    return job;
  }

  std::deque<Job> windows_, storage_jobs_;
  std::condition_variable storage_job_came_;
};

}  // namespace glean::drain
