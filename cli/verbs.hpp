// SPDX-License-Identifier: BSD-3-Clause
//
// The verbs of the command `glean`. Each adds itself to the command line and sets `exit_code` when it was asked for.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace glean::cli {

enum ExitCode : int {
  success = 0,
  found_a_failure = 1,   // `container`: something differs, or could not be read or written; `convert`: a file could not be;
                         // `doctor`: something has to be mended; `join`: it cannot be; `latest`: nothing is complete; `recover`: something
                         // is not in its file; `stage`: something is left in memory, or a process does not answer; `verify`: a file differs
  bad_input = 2,         // a command line or configuration that cannot be
  no_checksums = 3,      // `verify`, `container verify`: a file has none
  waited_in_vain = 4,    // `recover --wait`: a pool is still in use
};

// Says what went wrong on standard error; the exit code that it means.
[[nodiscard]] ExitCode say(const std::exception& error);

// What an option says, such as 64KiB. Throws invalid_argument.
[[nodiscard]] base::Bytes bytes_of(const std::string& text, const char* option);

// For CLI11's check(), which would print the largest number that there is.
struct WholeNumber : CLI::Validator {
  explicit WholeNumber(int least) : CLI::Validator("") {
    func_ = [least](std::string& text) {
      int value = 0;
      const bool is_number = CLI::detail::lexical_cast(text, value);
      if (is_number && value >= least) return std::string();
      return "it takes a whole number from " + std::to_string(least) + " on, not '" + text + "'";
    };
  }
};

void add_analysis_host(CLI::App& app, int& exit_code);
void add_calibrate(CLI::App& app, int& exit_code);
void add_config(CLI::App& app, int& exit_code);
// ls, cat, extract, pack, map and verify.
void add_container(CLI::App& app, int& exit_code);
void add_convert(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_drain(CLI::App& app, int& exit_code);
void add_join(CLI::App& app, int& exit_code);
void add_latest(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_recover(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
// `command`: what follows `--`, word by word.
void add_run(CLI::App& app, const std::vector<std::string>& command, int& exit_code);
void add_simulate(CLI::App& app, int& exit_code);
void add_stage(CLI::App& app, int& exit_code);
void add_topology(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_view(CLI::App& app, int& exit_code);

}  // namespace glean::cli
