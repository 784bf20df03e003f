// SPDX-License-Identifier: BSD-3-Clause
//
// Recovery as a user asks for it: of all pools of this node, or of those with a name, alone or with the processes on other nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "service/recovery.hpp"

namespace glean::service {

struct RecoverRequest {
  bool dry_run = false;                 // only look
  bool discard = false;                 // remove what is there, with the data
  std::optional<double> wait_seconds;   // for what a process drains, at most; nothing: not at all
  bool without_stagers = false;         // those whose pools are not here are gone for good
  std::string to;                       // a directory where files are to appear instead of their own; empty: none
  std::vector<std::string> pools;       // only these; empty: all that no process uses
};

// What became of a pool.
struct PoolResult {
  Remains found;
  std::vector<drain::OutputTrace> outputs;
  std::vector<std::string> restored, hidden;   // as Recovered has them
  std::string state;     // found, recovered, drained, discarded, in use, unfinished
  std::string problem;
  bool waited_in_vain = false;
};

// `tell`: what is said meanwhile. Of pools of several nodes a process gets results for its own part. Throws not_found where a named
// pool is on no node, invalid_state where one is in use. Collective, blocks.
[[nodiscard]] std::vector<PoolResult> recover_pools(const RecoverRequest& request, Companions& companions, store::SystemCalls& calls,
                                                    const std::function<void(const std::string&)>& tell);

}  // namespace glean::service
