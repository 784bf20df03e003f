// SPDX-License-Identifier: BSD-3-Clause
//
// What the engine does before the job ends.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>

#include "base/clock.hpp"
#include "base/job_end.hpp"
#include "base/log.hpp"
#include "drain/engine.hpp"
#include "pool/futex.hpp"

namespace glean::drain {
namespace {

constexpr std::chrono::seconds look_interval{1};
constexpr int threads_max = 4;

// A process that knows better may change it while the job runs.
std::uint64_t job_end(pool::PoolHeader& header) {
  return std::atomic_ref(header.job_end_realtime_ns).load(std::memory_order_relaxed);
}

}  // namespace

// A thread of its own: those that drain may hang in a write or an fsync, just when it matters.
void Engine::watch_end_of_job() {
  pthread_setname_np(pthread_self(), "glean-watch");
  pool::PoolHeader& header = pool_.header();
  EndOfJobTrace& trace = trace_.end_of_job;
  bool boosts = false;
  std::unique_lock lock(mutex_);
  trace.end_realtime_ns = job_end(header);
  do {
    const EndOfJob::Look look = end_of_job_.look(position());
    const bool first = look.boost && trace.boosted_ns == 0;
    if (look.boost != boosts) {
      boosts = look.boost;
      header.deadline_boost.store(boosts ? 1 : 0, std::memory_order_release);
      if (boosts) add_threads();
    }
    if (first) trace.boosted_ns = look.forecast.at_ns;
    if (look.warn) ++trace.warnings;
    trace.worst = end_of_job_.worst();
    const int threads = plan_.drain_threads;

    lock.unlock();   // the reader of standard error may be slow
    if (first) {
      base::log(base::LogLevel::info, "the job ends in {:.0f} s: deadline boost, the drain has {} thread(s)",
                look.forecast.seconds_left, threads);
    }
    if (look.warn) base::log(base::LogLevel::warning, warning_text(look.forecast));
    lock.lock();
  } while (!stop_watching_.wait_for(lock, look_interval, [this] { return stopping_; }));
}

// With the lock held.
DrainPosition Engine::position() const {
  pool::PoolHeader& header = pool_.header();
  DrainPosition position;
  position.now_ns = base::now_ns();
  position.seconds_left = 1e-9 * static_cast<double>(static_cast<std::int64_t>(job_end(header) - base::realtime_ns()));
  for (const auto& [key, output] : outputs_) position.waiting_bytes += output->work().waiting_bytes();
  position.written_bytes = header.written_bytes.load(std::memory_order_relaxed);
  position.busy_ns = trace_.busy_ns;
  if (busy_threads_ != 0) position.busy_ns += position.now_ns - trace_.intervals.back().begin_ns;
  return position;
}

// With the lock held. Threads of the application compete with those of the drain for the cores: more of them get more.
void Engine::add_threads() {
  const int cores = plan_.drain_cores.empty() ? cores_of_machine() : static_cast<int>(plan_.drain_cores.size());
  try {
    while (plan_.drain_threads < std::min(cores, threads_max)) {
      workers_.push_back(make_worker());
      start_thread();
      trace_.threads = ++plan_.drain_threads;
      ++trace_.end_of_job.added_threads;
    }
  } catch (const std::exception&) {   // no memory, no thread: those that are there go on
    workers_.resize(threads_.size());
  }
}

}  // namespace glean::drain
