// SPDX-License-Identifier: BSD-3-Clause
//
// What killed jobs have left on this node.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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
  int in_use_by = 0;                 // a process; 0: none
  std::string session;               // the same in the pools of all nodes of a session; empty: on one node
  int nodes = 1, node = 0;           // of its job, and which of them this one was
  bool is_ending = false;            // each process that uses it was killed or is ending (service/process_life.hpp)
  bool ranks_live = false;           // one goes on; otherwise only the process that drains or recovers it uses it
  bool is_drained = false;           // a process that goes on drains it; a job that has lost that one is about to end
  std::vector<RemainingOutput> outputs;
  std::string problem;               // why it cannot be read; empty: it can
};

// One that ends lives until its claims are gone.
[[nodiscard]] bool any_rank_lives(const pool::Pool& pool);

// The names of all pools of this user on this node.
[[nodiscard]] std::vector<std::string> pool_names();
// Changes nothing. Does not throw for what it finds. Of a pool that this process uses it says no more than that.
[[nodiscard]] Remains look_at(const std::string& pool);

// While the processes that use the pool end; calls `tell` once with one of them. False: they take longer, or another one uses it. Blocks.
[[nodiscard]] bool wait_while_it_ends(const std::string& pool, double seconds, const std::function<void(int)>& tell);

// For as long as it lives no other process touches the pool. Throws invalid_state when another process uses it.
[[nodiscard]] pool::Pool claim_remains(const std::string& pool);

// For the process that drains one of several nodes when the session is closed: says, on node 0, which outputs the storage has
// refused, and leaves it as a note for `glean run`; only all nodes together can try it again. Whether there are any. Local.
[[nodiscard]] bool tell_what_is_kept(const pool::Pool& pool);

// A pool whose making was cut off holds nothing. As long as its maker lives it may be about to claim it. Local.
[[nodiscard]] bool was_never_finished(const std::string& pool);
// Removes the pool of a job that is over, if there is nothing to do in it: no output is unfinished, but on one node for files in place
// that were left open and have all that was captured, and nothing is spilled; that of a stager, if its clients have left. False: it stays,
// because it holds something, recovery of its job needs it, it is in use, or cannot be read. Local.
[[nodiscard]] bool remove_if_finished(const std::string& pool);
// Removes working files and pool; what it held is lost. Throws invalid_state when the pool is in use.
void discard(const std::string& pool, store::SystemCalls& calls);

}  // namespace glean::service
