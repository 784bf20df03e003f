// SPDX-License-Identifier: BSD-3-Clause
//
// publisher LIBRARY PATH WHEN COMMAND...: plays a job whose ranks have written PATH, and runs the command, which the library is
// preloaded to. The file is there
//   closed   a moment after all ranks have closed it, which they have before the command
//   alone    the same, but only the rank that starts the command has closed it so far
//   open     when the command has ended: no rank has closed it
//   failed   never: all ranks have closed it before the command, and a moment after it cannot be completed
//   absent   when the command has ended: the rank that starts it has never had it open
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "pool/published.hpp"
#include "pool/test_pool.hpp"
#include "store/description.hpp"

using namespace glean;

namespace {

void publish(pool::Pool& pool, const pool::OutputKey& key, const std::string& path) {
  const std::string working = path + ".part";
  std::FILE* file = std::fopen(working.c_str(), "w");
  if (file == nullptr || std::fputs("all of it\n", file) < 0 || std::fclose(file) != 0 || std::rename(working.c_str(), path.c_str()) != 0) {
    std::perror("publisher");
    std::_Exit(3);
  }
  pool.slot(key.slot).state.store(pool::OutputState::published, std::memory_order_release);
  pool::futex_signal(pool.header().progress);
}

void fail(pool::Pool& pool, const pool::OutputKey& key) {
  pool::fail(pool.slot(key.slot), 1, "no room", "");
  pool.slot(key.slot).state.store(pool::OutputState::failed, std::memory_order_release);
  pool::futex_signal(pool.header().progress);
}

}  // namespace

int main(int, char** arguments) {
  const std::string library = arguments[1], path = arguments[2], when = arguments[3];
  pool::TestPool made(2);
  const pool::OutputKey key = made.claim_slot();
  pool::mark_path(made.pool.slot(key.slot), path);
  store::OutputDescription description;
  description.display_path = path;
  description.names = {path + ".part", path};
  made.pool.slot(key.slot).description = pool::write_parts(made.pool, key, description.encode_names())->newest;
  const auto close = [&](int rank, std::uint32_t flags) { made.pool.rank_progress(key.slot, rank) = flags; };
  const bool soon = when == "closed" || when == "alone" || when == "failed";
  if (soon) close(0, pool::rank_closed);
  if (when == "absent") close(0, pool::rank_closed | pool::rank_absent);
  if (when == "closed" || when == "failed") close(1, pool::rank_closed);

  const pid_t child = fork();
  if (child == 0) {
    setenv("LD_PRELOAD", library.c_str(), 1);
    setenv("GLEAN_RUN_POOL", (made.pool.name() + " 0 60").c_str(), 1);
    execvp(arguments[4], arguments + 4);
    std::perror("publisher");
    _exit(127);
  }
  if (soon) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (when == "failed") fail(made.pool, key);
    else publish(made.pool, key, path);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
