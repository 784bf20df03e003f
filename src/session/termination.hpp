// SPDX-License-Identifier: BSD-3-Clause
//
// What is done when the process is told to end by SIGTERM, as batch systems do before they kill.
#pragma once

#include <functional>

namespace glean::session {

// As long as it lives: on SIGTERM `finish` is called in a thread of its own while the others go on, and then the process ends
// by the signal. Does nothing where the program handles or ignores SIGTERM itself.
class OnTermination {
 public:
  explicit OnTermination(std::function<void()> finish);
  // After SIGTERM has come it does not return: the process ends.
  ~OnTermination();
  OnTermination(const OnTermination&) = delete;
  OnTermination& operator=(const OnTermination&) = delete;

 private:
  std::function<void()> finish_;
};

}  // namespace glean::session
