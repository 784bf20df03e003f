// SPDX-License-Identifier: BSD-3-Clause
//
// What processes that a drain starts for the user get of its environment.
#pragma once

#include <string>
#include <vector>

namespace glean::hosting {

// "NAME=value", without what would make the process capture its files or join the MPI job.
[[nodiscard]] std::vector<std::string> environment_outside_job();

// For posix_spawn(): the texts, and nullptr behind them.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& texts);

}  // namespace glean::hosting
