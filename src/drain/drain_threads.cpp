// SPDX-License-Identifier: BSD-3-Clause
#include "drain/drain_threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <ctime>

namespace glean::drain {

void place_drain_thread(const std::vector<int>& cores, int thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cores.empty()) {
    for (long core = 0; core < sysconf(_SC_NPROCESSORS_CONF) && core < CPU_SETSIZE; ++core) CPU_SET(core, &set);
  } else {
    CPU_SET(cores[static_cast<std::size_t>(thread) % cores.size()], &set);
  }
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

std::uint64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace glean::drain
