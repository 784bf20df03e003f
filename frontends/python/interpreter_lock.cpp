// SPDX-License-Identifier: BSD-3-Clause
#include "interpreter_lock.hpp"

#include <unistd.h>

#include <atomic>
#include <thread>

namespace glean::python {

namespace {

std::atomic<std::thread::id> ending{};   // the thread that ends the interpreter
std::atomic<int> returning = 0;          // threads that have not seen it end, and wait for the lock

bool must_stay() {
  const std::thread::id by = ending;
  return by != std::thread::id{} && by != std::this_thread::get_id();
}

}  // namespace

LockReleased::~LockReleased() {
  ++returning;
  if (must_stay()) {
    --returning;
    while (true) pause();   // the process ends under it
  }
  PyEval_RestoreThread(state_);
  --returning;
}

void keep_other_threads_in_calls() {
  ending = std::this_thread::get_id();
  PyThreadState* const state = PyEval_SaveThread();
  while (returning != 0) std::this_thread::yield();
  PyEval_RestoreThread(state);
}

}  // namespace glean::python
