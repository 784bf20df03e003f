// SPDX-License-Identifier: BSD-3-Clause
#include "write_thread.hpp"

#include <utility>

namespace nekcem {

WriteThread::~WriteThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WriteThread::hand_over(std::function<void()> job) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  waiting_ = std::move(job);
  changed_.notify_all();
}

void WriteThread::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_ && !busy_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WriteThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return waiting_ || ending_; });
    if (!waiting_) return;
    const std::function<void()> job = std::exchange(waiting_, nullptr);
    busy_ = true;
    changed_.notify_all();
    lock.unlock();
    std::exception_ptr failure;
    try {
      job();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) failure_ = failure;
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace nekcem
