// SPDX-License-Identifier: BSD-3-Clause
#include "drain/engine.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>

#include "base/clock.hpp"
#include "drain/worker.hpp"
#include "pool/futex.hpp"

namespace glean::drain {
namespace {

constexpr std::uint64_t nap_ns = 100'000'000;
constexpr std::size_t intervals_max = 4096;

std::pair<std::uint32_t, std::uint32_t> key_of(const pool::Record& record) { return {record.slot, record.generation}; }

// A launcher may have bound the rank, and with it every thread that it starts, to one core.
void place_thread(const std::vector<int>& cores, int thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cores.empty()) {
    for (long core = 0; core < sysconf(_SC_NPROCESSORS_CONF) && core < CPU_SETSIZE; ++core) CPU_SET(core, &set);
  } else {
    CPU_SET(cores[static_cast<std::size_t>(thread) % cores.size()], &set);
  }
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// The application's signal handlers run in the application's threads.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

std::uint64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

Engine::Engine(pool::Pool& pool, const plan::Plan& plan, store::SystemCalls& calls)
    : pool_(pool), plan_(plan), calls_(calls), damaged_(pool.header().ranks, false) {
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) journals_.emplace_back(pool, rank);
  trace_.threads = plan.drain_threads;
  for (int thread = 0; thread < plan.drain_threads; ++thread) threads_.emplace_back([this, thread] { run(thread); });
}

Engine::~Engine() { stop(); }

void Engine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  for (auto& thread : threads_) {
    pool::futex_signal(pool_.header().work);
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
  for (auto& [key, output] : outputs_) {
    if (output->file() != nullptr) output->file()->discard();
    output->discarded();
    trace_.outputs.push_back(output->trace());
  }
  outputs_.clear();
}

DrainTrace Engine::trace() const {
  const std::lock_guard lock(mutex_);
  DrainTrace trace = trace_;
  for (const auto& [key, output] : outputs_) trace.outputs.push_back(output->trace());
  return trace;
}

void Engine::run(int thread) {
  block_signals();
  place_thread(plan_.drain_cores, thread);
  pthread_setname_np(pthread_self(), "glean-drain");
  Worker worker(
      plan_, calls_,
      [this](const Job& job, const Assembled& assembled) {
        if (assembled.range_errors == 0) return true;
        const std::lock_guard lock(mutex_);
        job.output->range_error(assembled);
        return !job.output->failed();
      },
      [this](const Job& job, const base::Error* error) { finish_job(job, error); });

  std::unique_lock lock(mutex_);
  enter_busy();
  for (;;) {
    const std::uint32_t seen = pool_.header().work.load(std::memory_order_acquire);
    std::optional<Job> job = next_job();
    if (job) {
      lock.unlock();
      if (job->kind == Job::Kind::window) worker.write(*job);
      else perform(*job);
      worker.poll();
    } else if (worker.busy()) {
      lock.unlock();
      worker.wait();
    } else if (stopping_) {
      break;
    } else {
      leave_busy();
      lock.unlock();
      pool::futex_wait(pool_.header().work, seen, nap_ns);
      lock.lock();
      enter_busy();
      continue;
    }
    lock.lock();
  }
  leave_busy();
  const auto counters = worker.counters();
  trace_.requests.direct_requests += counters.direct_requests;
  trace_.requests.direct_bytes += counters.direct_bytes;
  trace_.requests.buffered_requests += counters.buffered_requests;
  trace_.requests.buffered_bytes += counters.buffered_bytes;
  for (std::size_t i = 0; i < trace_.request_sizes.size(); ++i) trace_.request_sizes[i] += worker.request_sizes()[i];
  trace_.io_uring = worker.uses_io_uring();
  trace_.cpu_ns += thread_cpu_ns();
}

std::optional<Job> Engine::next_job() {
  read_journals();
  relieve_if_full();
  if (jobs_.empty()) return std::nullopt;
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  if (job.kind == Job::Kind::window) ++windows_in_flight_;
  // Others may sleep while there is more to do.
  if (!jobs_.empty() && plan_.drain_threads > 1) pool::futex_signal(pool_.header().work);
  return job;
}

void Engine::read_journals() {
  // A description may stand in a journal that was read a moment before it came; the second look finds it.
  for (int look = 0; look < 2; ++look) {
    const std::size_t known = outputs_.size();
    for (auto& [key, output] : outputs_) output->look_at_ranks();
    bool complete = true;
    for (int rank = 0; rank < static_cast<int>(journals_.size()); ++rank) complete = read_journal(rank) && complete;
    if (complete && outputs_.size() == known) break;
  }
  for (auto it = outputs_.begin(); it != outputs_.end();) after_change(*(it++)->second);
}

bool Engine::read_journal(int rank) {
  auto& journal = journals_[static_cast<std::size_t>(rank)];
  if (damaged_[static_cast<std::size_t>(rank)]) return true;
  try {
    while (const pool::Record* record = journal.peek()) {
      OutputDrain* output = find(*record);
      if (record->kind != pool::RecordKind::describe && output == nullptr) return false;
      journal.advance();
      if (record->kind == pool::RecordKind::describe) describe(*record, rank);
      else output->on_put(*record, journal, rank);
    }
  } catch (const base::Error& error) {
    damaged_[static_cast<std::size_t>(rank)] = true;
    for (auto& [key, output] : outputs_) {
      output->fail(base::Error(error.code(), "journal of rank " + std::to_string(rank) + ": " + error.what()));
    }
  }
  return true;
}

OutputDrain* Engine::find(const pool::Record& record) {
  const auto it = outputs_.find(key_of(record));
  return it == outputs_.end() ? nullptr : it->second.get();
}

void Engine::describe(const pool::Record& record, int rank) {
  Description& description = descriptions_[key_of(record)];
  auto& journal = journals_[static_cast<std::size_t>(rank)];
  description.records.push_back(&record);
  description.bytes.resize(record.elements);
  if (record.first_element + record.payload_bytes <= description.bytes.size()) {
    std::memcpy(description.bytes.data() + record.first_element, pool_.at(record.payload_offset),
                record.payload_bytes);
  }
  description.received += record.payload_bytes;
  if (description.received < record.elements) return;

  auto output = std::make_unique<OutputDrain>(pool_, pool::OutputKey{record.slot, record.generation},
                                              description.bytes, calls_, plan_.request_bytes, jobs_);
  for (const auto* part : description.records) output->keep(*part, journal);
  outputs_.emplace(key_of(record), std::move(output));
  descriptions_.erase(key_of(record));
}

void Engine::relieve_if_full() {
  if (pool_.header().waiting_for_space.load(std::memory_order_seq_cst) == 0) return;
  // Whole windows first; when there are none, and none on their way, whatever can be written.
  for (const auto relief : {OutputDrain::Relief::full_windows, OutputDrain::Relief::everything}) {
    if (!jobs_.empty() || (relief == OutputDrain::Relief::everything && windows_in_flight_ != 0)) return;
    for (auto& [key, output] : outputs_) output->relieve(relief);
  }
}

void Engine::after_change(OutputDrain& output) {
  output.progress();
  if (output.space_returned()) {
    pool_.header().space.fetch_add(1, std::memory_order_seq_cst);
    if (pool_.header().waiting_for_space.load(std::memory_order_seq_cst) != 0) {
      pool::futex_signal(pool_.header().space);
    }
  }
  if (!output.finished()) return;
  trace_.outputs.push_back(output.trace());
  outputs_.erase({output.key().slot, output.key().generation});
}

void Engine::finish_job(const Job& job, const base::Error* error) {
  const std::lock_guard lock(mutex_);
  OutputDrain& output = *job.output;
  if (job.kind == Job::Kind::window) --windows_in_flight_;
  output.job_ended();
  if (error != nullptr) {
    output.fail(*error);
  } else if (job.kind == Job::Kind::discard) {
    output.discarded();
  } else if (!output.failed()) {
    if (job.kind == Job::Kind::window) output.window_done(*job.window);
    if (job.kind == Job::Kind::synchronize) output.synchronized(job.steps);
    if (job.kind == Job::Kind::publish) output.published();
  }
  after_change(output);
}

void Engine::perform(Job job) {
  store::File* file = job.output->file();
  const auto& description = job.output->description();
  if (job.kind == Job::Kind::discard) {
    if (file != nullptr) file->discard();
    return finish_job(job, nullptr);
  }
  try {
    std::uint64_t records = 0;
    Bytes end = 0;
    {
      const std::lock_guard lock(mutex_);
      records = job.output->records();
      end = job.output->highest_end();
      job.steps = job.output->steps_written();
    }
    const auto patch = store::record_count_patch(description.layout.format, records);
    if (records != 0) file->write({patch.bytes.data(), patch.size}, patch.offset);
    if (job.kind == Job::Kind::synchronize) {
      file->synchronize();
    } else {
      file->truncate(store::final_size(description.layout, records, end));
      file->publish();
    }
  } catch (const base::Error& error) {
    const base::Error named(error.code(), "'" + description.display_path + "': " + error.what(), error.hint());
    return finish_job(job, &named);
  }
  finish_job(job, nullptr);
}

void Engine::enter_busy() {
  if (busy_threads_++ != 0) return;
  trace_.intervals.push_back({base::now_ns(), 0});
}

void Engine::leave_busy() {
  if (--busy_threads_ != 0) return;
  auto& intervals = trace_.intervals;
  auto& last = intervals.back();
  last.end_ns = base::now_ns();
  trace_.busy_ns += last.end_ns - last.begin_ns;
  // A look that found nothing is not worth a line; neither is a short pause.
  if (last.end_ns - last.begin_ns < 20'000) {
    intervals.pop_back();
  } else if (intervals.size() > 1 && last.begin_ns - intervals[intervals.size() - 2].end_ns < 1'000'000) {
    intervals[intervals.size() - 2].end_ns = last.end_ns;
    intervals.pop_back();
  } else if (intervals.size() > intervals_max) {
    intervals.pop_back();
  }
}

}  // namespace glean::drain
