// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of the program that use outputs take turns.
#pragma once

#include <mutex>

namespace glean::session {

class OneAtATime {
 public:
  void lock() {
    ++taken_here_;
    mutex_.lock();
  }
  void unlock() {
    mutex_.unlock();
    --taken_here_;
  }
  // Whether this thread holds it or waits for it: asked by what may run in a signal handler, which would wait for itself. Local.
  [[nodiscard]] static bool is_taken_here() { return taken_here_ != 0; }

 private:
  std::mutex mutex_;
  static inline thread_local int taken_here_ = 0;
};

}  // namespace glean::session
