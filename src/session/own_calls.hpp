// SPDX-License-Identifier: BSD-3-Clause
//
// What this thread asks of the C library by way of the MPI library, for a call of GLEAN's: a front end that interposes such calls lets it
// through at once. The file may be one that the drain can open only when the call has returned.
#pragma once

namespace glean::session {

class OwnCalls {
 public:
  OwnCalls() { ++depth_; }
  ~OwnCalls() { --depth_; }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;
  // Local; may be asked in a signal handler.
  [[nodiscard]] static bool are_here() { return depth_ != 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace glean::session
