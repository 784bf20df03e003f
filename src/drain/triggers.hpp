// SPDX-License-Identifier: BSD-3-Clause
//
// What is done when a user's condition on a step holds: a message to the program at once, and in a thread of its own a file and a command.
// No drain waits for any of it.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/settings.hpp"

namespace glean::drain {

struct Fired {
  base::TriggerSettings trigger;
  std::string output, file;   // as the program has named it; what it becomes
  std::uint64_t step = 0, node = 0;
  std::string number;         // that made it hold
  double value = 0;
};

class Triggers {
 public:
  // `pool`: where messages go.
  explicit Triggers(std::string pool) : pool_(std::move(pool)) {}
  ~Triggers() { stop(); }
  Triggers(const Triggers&) = delete;
  Triggers& operator=(const Triggers&) = delete;

  // Any thread. Does not wait.
  void fire(Fired fired);
  // What has been fired is begun, as far as there is time for it; commands that run go on by themselves. Blocks for some seconds at most.
  void stop();

 private:
  void run();
  void perform(const Fired& fired);
  void mark(const Fired& fired) const;
  void start(const Fired& fired);
  void reap();

  std::string pool_;
  std::mutex mutex_;
  std::condition_variable has_more_;
  std::deque<Fired> fired_;
  bool is_stopping_ = false;
  std::vector<pid_t> running_;   // its thread's
  std::thread thread_;           // started with the first
};

}  // namespace glean::drain
