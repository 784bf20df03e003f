// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that wait for the storage: an fsync may take as long as it likes, and what was captured of other outputs meanwhile has to be in
// the page cache when a rank wants to read it.
#include <pthread.h>

#include <chrono>

#include "drain/drain_threads.hpp"
#include "drain/engine.hpp"
#include "pool/futex.hpp"

namespace glean::drain {

void Engine::run_storage_jobs(int thread) {
  place_drain_thread(plan_.drain_cores, thread);
  pthread_setname_np(pthread_self(), "glean-sync");
  std::unique_lock lock(mutex_);
  while (!has_drained_) {
    if (leaving_ || !jobs_.has_storage_jobs()) {
      jobs_.storage_job_came().wait(lock);
      continue;
    }
    if (leaves_cores_to_ranks()) {
      jobs_.storage_job_came().wait_for(lock, std::chrono::nanoseconds(CoreYielding::between_looks_ns));
      continue;
    }
    const std::optional<Job> job = jobs_.take_storage_job();
    ++storage_jobs_in_progress_;
    enter_busy();
    lock.unlock();
    perform(*job);
    lock.lock();
    --storage_jobs_in_progress_;
    leave_busy();
    pool::futex_signal(pool_.header().work);   // what comes of it is for those that drain
  }
  trace_.cpu_ns += thread_cpu_ns();
}

void Engine::perform(Job job) {
  if (job.kind == Job::Kind::discard) {
    job.output->discard_file();
    return finish_job(job, nullptr);
  }
  const auto& description = job.output->about().description;
  try {
    const WrittenSoFar written = note_written(job);
    if (job.output->about().is_elsewhere()) return finish_job(job, nullptr);   // it has been sent
    if (job.output->stream() != nullptr) {
      if (waits_for_older(job)) {   // which the threads that drain have to write
        pool::futex_wait(pool_.header().work, pool_.header().work.load(std::memory_order_acquire), short_nap_ns);
        return;
      }
      if (!stays_unpublished(job)) {
        if (waits_for_copies(job)) return;
        publish_tables(job);
        publish_bytes(job);
      }
    } else if (!complete_records(job, written)) {
      return;
    }
  } catch (const base::Error& error) {
    const base::Error named(error.code(), "'" + description.display_path + "': " + error.what(), error.hint());
    return finish_job(job, &named);
  }
  const auto replaced = replaced_by_copy(job);
  finish_job(job, nullptr);
  if (replaced) remove(*replaced);
}

}  // namespace glean::drain
