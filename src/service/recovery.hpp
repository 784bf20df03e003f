// SPDX-License-Identifier: BSD-3-Clause
//
// What killed jobs have left on this node, and finishing it. Safe while other jobs are alive, and twice: whoever recovers a
// pool claims all of it first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "drain/trace.hpp"
#include "pool/pool.hpp"
#include "store/posix/system_calls.hpp"

namespace glean::service {

using base::Bytes;

// An output that its job has not finished.
struct RemainingOutput {
  std::string path;                  // as the application called it
  std::string final_path;
  std::uint64_t steps_complete = 0;  // ended by all ranks
  std::uint64_t steps_begun = 0;     // ended by at least one
  std::vector<int> ranks_behind;     // of the session, that have not ended the first step that is not complete, if another has; of
                                     // bytes: that have not closed it
  bool closed = false;               // by all ranks
  bool is_bytes = false;             // without steps
  bool in_place = false;             // of bytes, written into a file that was there
  bool synchronized = false;         // of bytes, by MPI_File_sync: it is published although not all ranks have closed it
  base::Bytes waiting_bytes = 0;     // captured, and not in the file
  std::string problem;               // why it cannot be completed; empty: it can
};

// A pool, as it lies there.
struct Remains {
  std::string pool;                  // its name
  std::string job;                   // whose it is, for people
  double age_seconds = 0;
  base::Bytes pool_bytes = 0;
  int ranks = 0;
  int in_use_by = 0;                 // a process; 0: nobody
  int nodes = 1, node = 0;           // of its job, and which of them this one was
  bool ranks_live = false;           // otherwise only who drains or recovers it uses it
  bool is_drained = false;           // a process drains it; a job that has lost that one is about to end
  std::vector<RemainingOutput> outputs;
  std::string problem;               // why it cannot be read; empty: it can
};

[[nodiscard]] bool any_rank_lives(const pool::Pool& pool);

// The names of all pools of this user on this node.
[[nodiscard]] std::vector<std::string> pool_names();
// Changes nothing. Does not throw for what it finds. Of a pool that this process uses it says no more than that.
[[nodiscard]] Remains look_at(const std::string& pool);

// For as long as it lives nobody else touches the pool. Throws invalid_state when another process uses it.
[[nodiscard]] pool::Pool claim_remains(const std::string& pool);

struct Recovered {
  std::vector<drain::OutputTrace> outputs;
  std::vector<std::string> restored;   // files that the program had removed or replaced, and that have their names again
  std::vector<std::string> hidden;     // the same where other files have these names: where they are now
  bool pool_removed = false;   // false: something was postponed, and the pool still holds it
};
// For whoever drains `pool` when its ranks are gone, or soon will be: completes what is whole or was promised, removes the working files
// of what is not, and then the pool. `waiting` is called about once a second. Blocks.
[[nodiscard]] Recovered complete(pool::Pool& pool, store::SystemCalls& calls, const std::function<void()>& waiting = [] {});
// Before a pool goes: files that no output of it will settle get their names back, and `recovered` says which have theirs again. Local.
void restore_names(const pool::Pool& pool, store::SystemCalls& calls, Recovered& recovered);
// What it says in the log, for a process that nobody looks at.
void log(const Recovered& recovered);
// For whoever drains when the session is closed: outputs that the storage has refused are tried once more. What it refuses again stays, is
// said, and is left as a note for `glean run`. False: then the pool must stay. Blocks.
[[nodiscard]] bool try_what_is_kept(pool::Pool& pool, store::SystemCalls& calls);
// Of several nodes: says the same of each such output, on node 0; only all nodes together can try it again. Whether there are any. Local.
[[nodiscard]] bool tell_what_is_kept(const pool::Pool& pool);

// complete() of a pool that nobody uses. Throws invalid_state when the pool is in use, io when it cannot be read. Blocks.
// `to`: a directory where the files are to appear instead of their own; empty: none.
[[nodiscard]] Recovered recover(const std::string& pool, store::SystemCalls& calls, const std::function<void()>& waiting,
                                const std::string& to = {});
// Removes the pool of a job that is over, if there is nothing to do in it: no output is unfinished, but on one node for files in place
// that were left open and have all that was captured, and nothing is spilled. False: it stays, because it holds something, is in use, or
// cannot be read. Local.
[[nodiscard]] bool remove_if_finished(const std::string& pool);
// Removes working files and pool; what it held is lost. Throws invalid_state when the pool is in use.
void discard(const std::string& pool, store::SystemCalls& calls);

}  // namespace glean::service
