// SPDX-License-Identifier: BSD-3-Clause
//
// What `glean stage` and `glean stage status` have in common.
#pragma once

#include <string>
#include <vector>

namespace glean::cli {

struct StageOptions {
  std::vector<std::string> listen, directories;   // empty: the defaults
  std::string address_file = "glean-stage.json";
  std::string key_file;                           // empty: GLEAN_STAGING_KEY, or ~/.glean/stage.key
  std::string memory, job_memory;                 // bytes; empty: the defaults
  std::string spill, spill_budget;                // a directory and bytes; empty: nothing is spilled
  std::string view;                               // where jobs have a live view, as the setting `view` has it; empty: nowhere
  int threads = 1;
  std::string grace = "30s";
  bool once = false;
  bool programs = false;                          // of jobs are started
  // -- of status
  bool json = false, watch = false;
};

[[nodiscard]] std::string key_file_of(const StageOptions& options);
// Why --view cannot be this; empty: it can.
[[nodiscard]] std::string check_view(const std::string& text);

// glean stage status. Exit codes.
[[nodiscard]] int stage_status(const StageOptions& options);

}  // namespace glean::cli
