// SPDX-License-Identifier: BSD-3-Clause
//
// A process that runs a user's analysis: started, asked step by step, bounded in time, memory and output, and ended. Whatever the program
// in it does, the process that asks goes on.
#pragma once

#include <sys/types.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace glean::hosting {

// The process has died or was ended: why, in words.
struct HostLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct HostTerms {
  std::vector<std::string> words;   // the command
  base::Bytes memory_bytes = 0;     // of its data and heap; 0: unlimited
  // A line that it has printed. From the thread that calls.
  std::function<void(const std::string& line)> said{};
  // It is ended at once.
  std::function<bool()> is_stopping{};
};

class HostProcess {
 public:
  // Starts it. Nothing that is interposed in this process is in that one, no file of this one is open there, and it does not take part in
  // the MPI job. Throws HostLost when it cannot be started.
  explicit HostProcess(HostTerms terms);
  // It has a moment to end by itself.
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  // Sends the message and waits for the answer. Throws HostLost when it dies, does not answer in time, or answers what is no message: it is
  // ended then. Blocks.
  [[nodiscard]] std::string ask(const std::string& message, double seconds);
  // Takes what it has printed meanwhile. Does not wait.
  void listen();

 private:
  void start();
  // Waits for so long at most. False: the other end of the socket is closed.
  bool exchange(std::string& unsent, int wait_ms);
  void read_output();
  void say_lines(bool all);
  void kill_it();
  [[noreturn]] void lose(const std::string& why);
  [[nodiscard]] std::string how_it_ended();
  [[nodiscard]] bool has_answer() const;

  HostTerms terms_;
  pid_t process_ = 0;
  int socket_ = -1, output_ = -1;
  std::string received_;
  std::string line_;    // that has begun
  std::string last_;    // lines that it has printed, for the message when it is lost
};

}  // namespace glean::hosting
