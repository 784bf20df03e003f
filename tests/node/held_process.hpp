// SPDX-License-Identifier: BSD-3-Clause
//
// A process that was killed and is not gone yet: a debugger holds it at its end, where it has its files, locks and sockets still.
#pragma once

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace glean::tests {

class HeldProcess {
 public:
  HeldProcess() = default;
  ~HeldProcess() { end(); }
  HeldProcess(const HeldProcess&) = delete;
  HeldProcess& operator=(const HeldProcess&) = delete;

  // A process that has prepared itself and then waits, and that this one debugs. False: it could not, or that is not allowed here.
  [[nodiscard]] bool start(const std::function<bool()>& prepare) {
    process_ = fork();
    if (process_ == 0) {
      if (!prepare() || ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
      raise(SIGSTOP);
      for (;;) pause();
    }
    int status = 0;
    if (waitpid(process_, &status, 0) != process_ || !WIFSTOPPED(status)) return false;
    return ptrace(PTRACE_SETOPTIONS, process_, nullptr, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL) == 0 &&
           ptrace(PTRACE_CONT, process_, nullptr, nullptr) == 0;
  }
  void kill_and_hold() const {
    kill(process_, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(process_, &status, 0), process_);
    ASSERT_EQ(status >> 8, SIGTRAP | (PTRACE_EVENT_EXIT << 8));
  }
  void end() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    ptrace(PTRACE_CONT, process_, nullptr, nullptr);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  [[nodiscard]] pid_t id() const { return process_; }

 private:
  pid_t process_ = 0;
};

}  // namespace glean::tests
