// SPDX-License-Identifier: BSD-3-Clause
//
// The thread of a writer in threaded rbIO.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace nekcem {

// Does one job after the other in a thread. One job may wait while another is done, so that memory has a limit.
class WriteThread {
 public:
  WriteThread() : thread_([this] { work(); }) {}
  ~WriteThread();
  WriteThread(const WriteThread&) = delete;
  WriteThread& operator=(const WriteThread&) = delete;

  // Blocks while another job waits. Throws what an earlier job has thrown.
  void hand_over(std::function<void()> job);
  // Blocks until all jobs are done. Throws what one of them has thrown.
  void finish();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> waiting_;
  bool busy_ = false, ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;   // last: it uses all others
};

}  // namespace nekcem
