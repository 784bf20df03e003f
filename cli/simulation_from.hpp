// SPDX-License-Identifier: BSD-3-Clause
//
// glean simulate --from: a run that was reported, on another machine or with more ranks.
#pragma once

#include <cstdint>
#include <string>

namespace glean::cli {

struct FromOptions {
  std::string report;
  std::string machine;
  std::string ranks;             // empty: as in the run
  int ranks_per_node = 0;        // 0: as in the run
  std::int64_t stagers = 0;      // 0: the fewest that are enough
  std::string interval;          // empty: as in the run
  std::string format = "text";   // or json
};

// Prints it. Throws invalid_argument for what cannot be.
void simulate_from(const FromOptions& options);

}  // namespace glean::cli
