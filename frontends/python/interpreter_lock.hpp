// SPDX-License-Identifier: BSD-3-Clause
//
// The interpreter's lock while a thread is in a call of C++.
//
// When the interpreter ends it does not wait for daemon threads, and before Python 3.14 it ends one that wants the lock back by unwinding
// its stack, which no destructor survives: std::terminate ends the process. Such a thread stays in its call instead.
#pragma once

#include <Python.h>

namespace glean::python {

class LockReleased {
 public:
  LockReleased() : state_(PyEval_SaveThread()) {}
  ~LockReleased();   // takes the lock, or stays
  LockReleased(const LockReleased&) = delete;
  LockReleased& operator=(const LockReleased&) = delete;

 private:
  PyThreadState* state_;
};

// To be called, with the lock, before the interpreter ends: from now on only this thread comes back from calls. Waits for threads that are
// just about to.
void keep_other_threads_in_calls();

}  // namespace glean::python
