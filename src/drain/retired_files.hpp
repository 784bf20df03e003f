// SPDX-License-Identifier: BSD-3-Clause
//
// Files that the program has removed or replaced after it closed others, and that live on under hidden names until those are durable
// (pool/name_log.hpp): letting them go, or giving them their names back.
#pragma once

#include <string>
#include <vector>

#include "pool/name_log.hpp"
#include "store/posix/system_calls.hpp"

namespace glean::drain {

// How an output has ended. kept: it is not published, and what was captured of it stays in the pool for another try.
enum class Ending { durable, failed, kept };

struct Retired {
  int let_go = 0;                      // files whose fence is durable: they are removed
  std::vector<std::string> restored;   // files that have their names again
  std::vector<std::string> hidden;     // those whose names other files have got: where they are
};

// Tells the log of names that an output has ended, before its slot is another's: files that waited for nothing else are let go, or
// are restored. Local; a system call where there is no log. Does not throw.
Retired settle_names(const pool::Pool& pool, store::SystemCalls& calls, pool::OutputKey output, Ending ending) noexcept;
// What is left when nothing will be settled any more: all of it is restored. Local.
Retired restore_all(const pool::Pool& pool, store::SystemCalls& calls) noexcept;
// Whether files wait for outputs other than this one, and none of those has failed: room may come. Local.
[[nodiscard]] bool room_may_come(const pool::Pool& pool, pool::OutputKey output) noexcept;

// Hidden files in a directory whose session is over and whose pool is gone: those get their names back. `any_host`: also those of jobs
// on other hosts, of which this host cannot know whether they run. Local. Throws not_found, permission.
enum class OfHosts { this_one, any };
[[nodiscard]] Retired restore_in(const std::string& directory, store::SystemCalls& calls, OfHosts hosts);

}  // namespace glean::drain
