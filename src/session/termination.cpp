// SPDX-License-Identifier: BSD-3-Clause
#include "session/termination.hpp"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <thread>
#include <vector>

#include "base/signals_blocked.hpp"

namespace glean::session {
namespace {

// One for the process: all sessions of it end together.
struct Termination {
  std::mutex mutex;
  std::vector<const std::function<void()>*> finishers;
  std::thread thread;
  sem_t told;
  bool over = false;   // the last finisher has gone
};

// Never destroyed: a child of the program that calls exit() has it, and not the thread.
Termination& termination() {
  static Termination& one = *new Termination;
  return one;
}

extern "C" void glean_told_to_end(int) { sem_post(&termination().told); }

void wait_and_finish() {
  Termination& all = termination();
  pthread_setname_np(pthread_self(), "glean-term");
  while (sem_wait(&all.told) != 0) {}
  {
    const std::lock_guard lock(all.mutex);
    if (all.over) return;
    for (const auto* finish : all.finishers) (*finish)();
    signal(SIGTERM, SIG_DFL);
    kill(getpid(), SIGTERM);
    pause();   // with the lock: no thread goes on with what is finished
  }
}

// The program's own handler is the program's own business.
bool is_ours_or_default() {
  struct sigaction now {};
  sigaction(SIGTERM, nullptr, &now);
  return now.sa_handler == SIG_DFL || now.sa_handler == glean_told_to_end;
}

// What the handler says there would not be read.
void restore_in_child() {
  if (is_ours_or_default()) signal(SIGTERM, SIG_DFL);
}

void start(Termination& all) {
  static const int registered = pthread_atfork(nullptr, nullptr, restore_in_child);
  static_cast<void>(registered);
  sem_init(&all.told, 0, 0);
  all.over = false;
  {
    const base::SignalsBlocked blocked;
    all.thread = std::thread(wait_and_finish);
  }
  struct sigaction action {};
  action.sa_handler = glean_told_to_end;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

OnTermination::OnTermination(std::function<void()> finish) : finish_(std::move(finish)) {
  Termination& all = termination();
  const std::lock_guard lock(all.mutex);
  if (!is_ours_or_default()) return;
  all.finishers.push_back(&finish_);
  if (all.finishers.size() == 1) start(all);
}

OnTermination::~OnTermination() {
  Termination& all = termination();
  {
    const std::lock_guard lock(all.mutex);
    if (std::erase(all.finishers, &finish_) == 0 || !all.finishers.empty()) return;
    if (is_ours_or_default()) signal(SIGTERM, SIG_DFL);
    all.over = true;
  }
  sem_post(&all.told);
  all.thread.join();
  sem_destroy(&all.told);
}

}  // namespace glean::session
