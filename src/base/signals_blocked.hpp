// SPDX-License-Identifier: BSD-3-Clause
//
// Around the start of a thread, which inherits it: signals are for the program's own threads.
#pragma once

#include <pthread.h>

#include <csignal>

namespace glean::base {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace glean::base
