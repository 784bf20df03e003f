// SPDX-License-Identifier: BSD-3-Clause
#include "drain/engine.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "drain/drain_threads.hpp"
#include "drain/retired_files.hpp"
#include "drain/worker.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/published.hpp"

namespace glean::drain {
namespace {

constexpr std::uint64_t nap_ns = 100'000'000;
constexpr std::size_t intervals_max = 4096;
constexpr Bytes kept_share = 4;   // of the chunks, for what has left journals that are too small; twice that while it is written

}  // namespace

Engine::Engine(pool::Pool& pool, const plan::NodePlan& plan, store::SystemCalls& calls, Ranks ranks, Process process)
    : pool_(pool), plan_(plan), calls_(calls), spill_(pool, calls), consumers_(pool),
      analyst_(consumers_, pool, [this](pool::OutputKey key) { analysed(key); }), ranks_(ranks), process_(process),
      damages_(pool.header().journals),
      copier_([this](const Job& job, std::vector<CopyTrace> made) { have_copies(job, std::move(made)); },
              [&pool] {
                pool.header().written_bytes.fetch_add(1, std::memory_order_relaxed);   // ranks that wait see that something moves
                pool::futex_signal(pool.header().progress);
              }) {
  for (int rank = 0; rank < static_cast<int>(pool.header().journals); ++rank) journals_.emplace_back(pool, rank);
  inherits_ = pool.header().drains.fetch_add(1, std::memory_order_relaxed) != 0;
  trace_.threads = plan.drain_threads;
  for (int thread = 0; thread < plan.drain_threads; ++thread) workers_.push_back(make_worker());
  const base::SignalsBlocked blocked;   // threads inherit it
  try {
    while (threads_.size() < workers_.size()) start_thread();
    if (ranks == Ranks::working && pool.header().job_end_realtime_ns != 0) watch_ = std::thread([this] { watch_end_of_job(); });
  } catch (const std::system_error& error) {
    stop();
    throw base::Error(base::Errc::unsupported, std::string("cannot start a drain thread: ") + error.what());
  }
}

std::unique_ptr<Worker> Engine::make_worker() {
  auto writer = store::make_uring_writer(calls_, plan_.depth);
  trace_.io_uring = writer != nullptr;
  if (!writer) writer = store::make_pwrite_writer(calls_);
  return std::make_unique<Worker>(
      plan_, calls_, std::move(writer),
      [this](const Job& job, const store::Assembled& assembled) {
        if (assembled.range_errors == 0) return true;
        const std::lock_guard lock(mutex_);
        job.output->range_error(assembled);
        return !job.output->life().has_failed();
      },
      [this](const Job& job, const base::Error* error) { finish_job(job, error); }, &spill_,
      process_ == Process::of_a_rank ? Worker::From::pool : Worker::From::buffers);
}

// With the lock, or before there are others.
void Engine::start_thread() {
  const int thread = static_cast<int>(threads_.size());
  threads_.emplace_back([this, thread, &worker = *workers_[threads_.size()]] { run(thread, worker); });
  storage_threads_.emplace_back([this, thread] { run_storage_jobs(thread); });
}

Engine::~Engine() { stop(); }

void Engine::stop(Unfinished unfinished) {
  analyst_.stop();
  copier_.stop();   // what it has goes back to the threads
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    leaving_ = unfinished == Unfinished::leave;
  }
  stop_watching_.notify_all();
  if (watch_.joinable()) watch_.join();   // from now on there are no more threads
  for (auto& thread : threads_) {
    pool::futex_signal(pool_.header().work);
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
  workers_.clear();
  {
    const std::lock_guard lock(mutex_);
    has_drained_ = true;
  }
  jobs_.storage_job_came().notify_all();
  for (auto& thread : storage_threads_) thread.join();
  storage_threads_.clear();
  const std::lock_guard lock(mutex_);
  for (auto& [key, output] : outputs_) {
    if (output->life().now() == Life::postponed) output->progress();   // nothing refers to it any more
    if (unfinished == Unfinished::discard && (output->life().is_writing() || output->life().has_failed())) {
      output->life().fail(base::Error(base::Errc::invalid_state, "the drain has ended before '" +
                                                              output->about().description.display_path + "' was complete"));
      output->discard_file();
      output->life().discarded();
      output->finish_failed();
    }
    trace_.outputs.push_back(output->about().trace);
  }
  outputs_.clear();
}

bool Engine::wait_until_idle(double seconds) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return has_read_all_ && outputs_.empty(); });
}

void Engine::adopt_now() {
  const std::lock_guard lock(mutex_);
  if (!stopping_) adopt_outputs();
}

DrainTrace Engine::trace() const {
  const std::lock_guard lock(mutex_);
  DrainTrace trace = trace_;
  if (!trace.intervals.empty() && trace.intervals.back().end_ns == 0) trace.intervals.back().end_ns = base::now_ns();
  for (const auto& [key, output] : outputs_) trace.outputs.push_back(output->about().trace);
  return trace;
}

void Engine::run(int thread, Worker& worker) {
  place_drain_thread(plan_.drain_cores, thread);
  pthread_setname_np(pthread_self(), "glean-drain");
  std::unique_lock lock(mutex_);
  bool busy = false;
  for (;;) {
    const std::uint32_t seen = pool_.header().work.load(std::memory_order_acquire);
    const bool waits = !leaving_ && leaves_cores_to_ranks();
    std::optional<Job> job = leaving_ || waits ? std::nullopt : next_job();
    if (job) {
      if (!std::exchange(busy, true)) enter_busy();
      lock.unlock();
      if (job->kind == Job::Kind::window) worker.write(*job);
      else read_spilled(*job);
      worker.poll();
    } else if (worker.busy()) {
      lock.unlock();
      worker.wait();
    } else if (stopping_ && (leaving_ || !has_storage_jobs())) {
      break;
    } else {
      if (std::exchange(busy, false)) leave_busy();
      const bool is_soon = std::any_of(outputs_.begin(), outputs_.end(), [](const auto& each) {
        return each.second->stream() != nullptr && each.second->stream()->is_about_to_go_on();
      });
      lock.unlock();
      pool::futex_wait(pool_.header().work, seen, waits ? CoreYielding::between_looks_ns : is_soon ? short_nap_ns : nap_ns);
    }
    lock.lock();
  }
  if (busy) leave_busy();
  trace_.requests += worker.counters();
  trace_.from_pool_bytes += worker.from_pool_bytes();
  for (std::size_t i = 0; i < trace_.request_sizes.size(); ++i) trace_.request_sizes[i] += worker.request_sizes()[i];
  trace_.cpu_ns += thread_cpu_ns();
}

std::optional<Job> Engine::next_job() {
  read_journals();
  try_again_with_room();
  relieve_if_full();
  if (auto read = next_read()) return read;
  std::optional<Job> job = jobs_.take_window();
  if (!job) return std::nullopt;
  ++windows_in_flight_;
  // Others may sleep while there is more to do.
  if (jobs_.has_windows() && plan_.drain_threads > 1) pool::futex_signal(pool_.header().work);
  return job;
}

void Engine::read_journals() {
  const std::size_t to_send = blocks_.queue.size();
  // An output may be described while the journals are read; the second look finds it.
  for (int look = 0; look < 2; ++look) {
    adopt_outputs();
    const std::size_t known = outputs_.size();
    for (auto& [key, output] : outputs_) output->look_at_ranks();
    const bool complete = read_all_journals();
    if (complete && outputs_.size() == known) break;
  }
  if (blocks_.queue.size() > to_send) pool::futex_signal(pool_.header().progress);   // for the exchange, which sends them
  if (ranks_ == Ranks::working) pass_over_lost_writes();
  if (pool_.is_shared() && !blocked_.empty()) look_behind_what_waits();
  tell_of_space();
  for (auto it = outputs_.begin(); it != outputs_.end();) after_change(*(it++)->second);
  has_read_all_ = true;
  tell_if_idle();
}

// A rank or thread that waits for it sleeps on one of the two.
void Engine::tell_if_idle() {
  const bool is_idle = has_read_all_ && outputs_.empty();
  if (std::exchange(was_idle_, is_idle) || !is_idle) return;
  idle_.notify_all();
  pool::futex_signal(pool_.header().progress);
}

bool Engine::read_all_journals() {
  for (;;) {
    const std::uint64_t before = records_read_;
    bool complete = true;
    blocked_.clear();
    for (int rank = 0; rank < static_cast<int>(journals_.size()); ++rank) complete = read_journal(rank) && complete;
    // What one rank has written may wait for what another has; without ranks, for what will never be recorded.
    if (!blocked_.empty() && records_read_ != before) continue;
    if (ranks_ == Ranks::gone && pass_over_unrecorded_writes()) continue;
    return complete && blocked_.empty();
  }
}

bool Engine::read_journal(int rank) {
  auto& journal = journals_[static_cast<std::size_t>(rank)];
  auto& damage = damages_[static_cast<std::size_t>(rank)];
  if (damage) return true;
  try {
    while (const pool::Record* record = journal.peek()) {
      const pool::OutputKey key{record->slot, record->generation};
      OutputDrain* output = find(key);
      if (output == nullptr && ranks_ == Ranks::working && !is_finished(key) && !postponed_.contains(key)) return false;
      if (output != nullptr && !output->takes(*record)) {
        const std::uint64_t number = pool::WriteStamp::of(record->step).number;
        auto& first = blocked_.try_emplace(output, number).first->second;
        first = std::min(first, number);
        return true;
      }
      journal.advance();
      ++records_read_;
      if (output != nullptr) output->on_put(*record, journal);
      else if (!postponed_.contains(key)) spill_.retire(*record, journal);   // of an output that is finished
    }
  } catch (const base::Error& error) {
    const bool of_a_rank = rank < static_cast<int>(pool_.header().ranks);
    damage.emplace(error.code(), (of_a_rank ? "journal of rank " + std::to_string(pool_.job_rank(rank))
                                            : std::string("journal of what other nodes have sent")) + ": " + error.what());
    for (auto& [key, output] : outputs_) output->life().fail(*damage);
  }
  return true;
}

// It has failed, or else all that was recorded of it would have been looked at before.
bool Engine::is_finished(pool::OutputKey key) const {
  const pool::OutputSlot& slot = pool_.slot(key.slot);
  return slot.generation.load(std::memory_order_acquire) != key.generation ||
         slot.state.load(std::memory_order_acquire) != pool::OutputState::open;
}

OutputDrain* Engine::find(pool::OutputKey key) {
  const auto it = outputs_.find(key);
  return it == outputs_.end() ? nullptr : it->second.get();
}

void Engine::adopt_outputs() {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool_.slot(index);
    const pool::OutputState state = slot.state.load(std::memory_order_acquire);
    // A state that none can be is of an output that something has happened to: it fails, and is not passed over.
    const bool is_damaged = ranks_ == Ranks::gone && state > pool::OutputState::opening;
    if (state != pool::OutputState::open && !is_damaged) continue;
    const pool::OutputKey key{index, slot.generation.load(std::memory_order_acquire)};
    if (find(key) != nullptr) continue;
    if (!postponed_.contains(key)) adopt(key);
    else if (pool::is_tried_again(slot)) adopt_again(key);
  }
}

void Engine::adopt(pool::OutputKey key, Adoption adoption) {
  pool::DescriptionInPool description;
  try {
    description = pool::read_description(pool_, key);
    // Its rank is at it, unless there is none any more.
    if (!description.complete && ranks_ == Ranks::working) return;
  } catch (const base::Error&) {
    description = {};   // cannot be decoded either, which fails the output
  }
  const bool is_anew = pool_.slot(key.slot).nodes.is_opened_anew.load(std::memory_order_acquire) != 0;
  const bool is_inherited = (inherits_ && !has_read_all_) || is_anew;
  auto output = std::make_unique<OutputDrain>(pool_, key, description, calls_, plan_.request_bytes, jobs_, blocks_, spill_, consumers_,
                                              analyst_, ranks_, is_inherited);
  const bool is_new = !is_inherited && adoption == Adoption::first;
  analyst_.opened(output->about(), is_new);
  if (is_new) consumers_.opened(output->about());
  for (const auto& damage : damages_) {
    if (damage) output->life().fail(*damage);
  }
  outputs_.emplace(key, std::move(output));
  was_idle_ = false;
}

void Engine::relieve_if_full() {
  // Without ranks only what other nodes send can want room.
  if (ranks_ == Ranks::gone && !pool_.is_shared()) return;
  if (pool_.header().waiting_for_space.load(std::memory_order_seq_cst) == 0) {
    kept_in_the_way_since_ns_ = 0;
    return;
  }
  consumers_.make_room();
  // Whole windows first; when there are none, and none on their way, whatever can be written.
  for (const auto relief : {Relief::full_windows, Relief::everything}) {
    if (jobs_.has_windows() || (relief == Relief::everything && windows_in_flight_ != 0)) return;
    for (auto it = outputs_.begin(); it != outputs_.end();) {
      OutputDrain& output = *(it++)->second;
      output.life().hand_out(relief);
      if (!output.life().is_writing()) after_change(output);   // it could not make room in the file, but it can in the pool
    }
  }
  if (jobs_.has_windows()) return;
  if (waits_for_kept()) return;
  // Records that only recovery would need must not keep a rank from going on.
  Bytes room = pool_.header().chunk_count * pool_.header().chunk_bytes / kept_share;
  for (const auto& [key, output] : outputs_) room -= std::min(room, output->log().chunk_bytes());
  for (auto& [key, output] : outputs_) {
    const Bytes before = output->log().chunk_bytes();
    if (output->life().is_writing()) output->log().make_room(room + before, output->work().end());
    room -= std::min(room, output->log().chunk_bytes() - std::min(output->log().chunk_bytes(), before));
  }
  for (auto& [key, output] : outputs_) space_returned_ |= std::exchange(output->about().space_returned, false);
  tell_of_space();
}

void Engine::after_change(OutputDrain& output) {
  output.progress();
  space_returned_ |= std::exchange(output.about().space_returned, false);
  if (output.life().has_ended()) {
    trace_.outputs.push_back(output.about().trace);
    consumers_.ended(output.about());
    analyst_.ended(output.about().key);
    const pool::OutputKey key = output.about().key;
    if (output.life().now() == Life::kept) postponed_.insert(key);
    outputs_.erase(key);
    tell_if_idle();
  }
  tell_of_space();
}

void Engine::tell_of_space() {
  if (std::exchange(space_returned_, false)) pool_.announce_space();
}

void Engine::finish_job(const Job& job, const base::Error* error) {
  const std::lock_guard lock(mutex_);
  OutputDrain& output = *job.output;
  if (job.kind == Job::Kind::window) --windows_in_flight_;
  if (error != nullptr && waits_for_room(job, *error)) return;
  if (job.kind == Job::Kind::read) --reads_in_flight_;
  output.work().job_ended();
  if (dynamic_cast<const DamagedSpill*>(error) != nullptr) {
    output.life().fail(*error);   // no other try would find more
  } else if (error != nullptr) {
    output.life().storage_failed(*error);
  } else if (job.kind == Job::Kind::discard) {
    output.life().discarded();
  } else if (!output.life().has_failed()) {
    if (job.kind == Job::Kind::window) output.window_done(*job.window);
    if (job.kind == Job::Kind::read && output.life().is_writing()) has_read(job);
    if (job.kind == Job::Kind::synchronize) output.synchronized(job);
    if (job.kind == Job::Kind::publish) output.published();
  }
  after_change(output);
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
  // A short pause is not worth a line.
  if (intervals.size() > 1 && last.begin_ns - intervals[intervals.size() - 2].end_ns < 1'000'000) {
    intervals[intervals.size() - 2].end_ns = last.end_ns;
    intervals.pop_back();
  } else if (intervals.size() > intervals_max) {
    intervals.pop_back();
  }
}

}  // namespace glean::drain
