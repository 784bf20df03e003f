// SPDX-License-Identifier: BSD-3-Clause
//
// Fetches what is read later from the storage into the page cache, in the background.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "store/input/row_runs.hpp"
#include "store/posix/input_file.hpp"

namespace glean::store {

class Prefetcher {
 public:
  // `file` must live as long. No thread before the first add().
  explicit Prefetcher(const InputFile& file) : file_(file) {}
  // Gives up what it has not asked the storage for.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Behind what was added before. Where too much waits already, it is left out: read() fetches it. Local, does not wait.
  void add(RowRuns rows);
  static constexpr std::size_t waiting_most = 256;

 private:
  void run();

  const InputFile& file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RowRuns> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace glean::store
