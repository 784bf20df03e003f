// SPDX-License-Identifier: BSD-3-Clause
//
// Files of ranks that were to be gathered in containers, and are still on this node.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gather/left_files.hpp"

namespace glean::cli {

// Of all jobs that do not run any more.
[[nodiscard]] std::vector<gather::LeftFiles> recover_rank_files(gather::Remaining what);
void print_rank_files(const std::vector<gather::LeftFiles>& jobs);
[[nodiscard]] nlohmann::ordered_json rank_files_to_json(const std::vector<gather::LeftFiles>& jobs);

// When the command of `glean run` has ended: what it has left open, or could not gather, is gathered if it has ended without an error.
// Returns a line for each container that is not complete.
[[nodiscard]] std::vector<std::string> finish_rank_files(const std::string& run_directory, bool has_failed);

}  // namespace glean::cli
