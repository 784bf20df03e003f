// SPDX-License-Identifier: BSD-3-Clause
//
// Files of ranks that a job has left on its node: `glean recover`, `glean run`, and the next job.
#pragma once

#include <string>
#include <vector>

#include "gather/node_files.hpp"

namespace glean::gather {

struct LeftContainer {
  std::string container;
  std::size_t files = 0;                // that were closed
  Bytes bytes = 0;                      // of them
  std::vector<std::string> unclosed;    // names of those that were not
  std::vector<std::string> kept_as;     // paths that these have now
  std::string state;                    // found, gathered, removed, discarded or unfinished
  std::string problem;
};

struct LeftFiles {
  std::string root;
  std::string state;   // in use, found, complete, discarded or unfinished
  std::vector<LeftContainer> containers;
  [[nodiscard]] bool is_done() const { return state == "complete" || state == "discarded"; }
};

enum class Remaining { look, gather, discard };
// killed: what was open then is not complete. normally: it is, where nothing has it open any more.
enum class Ended { killed, normally };

// What a job that does not run any more has left in `root`: what was closed is gathered; what was not is named, and put beside the
// containers as NAME.unclosed. Does not throw for what fails. Blocks.
[[nodiscard]] LeftFiles recover_files(const std::string& root, Remaining what, Ended how);

// For people.
[[nodiscard]] std::string describe(const LeftContainer& left);

}  // namespace glean::gather
