// SPDX-License-Identifier: BSD-3-Clause
#include "store/input/prefetcher.hpp"

#include <algorithm>
#include <utility>

#include "base/signals_blocked.hpp"

namespace glean::store {

namespace {

// Between two looks whether it is to end: what a slow storage delivers meanwhile.
constexpr Bytes asked_at_once = base::MiB;

}  // namespace

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Prefetcher::add(RowRuns rows) {
  const std::lock_guard lock(mutex_);
  if (rows.rows().row_count() == 0 || waiting_.size() >= waiting_most) return;
  waiting_.push_back(std::move(rows));
  if (!thread_.joinable()) {
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  }
  changed_.notify_one();
}

void Prefetcher::run() {
  std::unique_lock lock(mutex_);
  const auto fetch = [&](base::Extent extent) {
    lock.unlock();
    file_.will_need(extent);
    lock.lock();
  };
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
    if (ends_) return;
    const RowRuns rows = std::move(waiting_.front());
    waiting_.pop_front();
    for (std::uint64_t row = 0; row < rows.rows().row_count() && !ends_;) {
      const RowRuns::Run run = rows.close_rows(row, fetched_gap_most, asked_at_once);
      for (Bytes at = rows.begin_of(row); at < run.end && !ends_; at += asked_at_once) fetch({at, std::min(at + asked_at_once, run.end)});
      row = run.next;
    }
  }
}

}  // namespace glean::store
