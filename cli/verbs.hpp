// SPDX-License-Identifier: BSD-3-Clause
//
// The verbs of the command `glean`. Each adds itself to the command line and sets `exit_code` when it was asked for.
#pragma once

#include <CLI/CLI.hpp>

namespace glean::cli {

enum ExitCode : int {
  success = 0,
  found_a_failure = 1,   // `doctor`: something has to be mended; `latest`: nothing is complete;
                         // `recover`: something is not in its file; `verify`: a file differs
  bad_input = 2,         // a command line or configuration that cannot be
  no_checksums = 3,      // `verify`: a file has none
};

void add_config(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_drain(CLI::App& app, int& exit_code);
void add_latest(CLI::App& app, int& exit_code);
void add_recover(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);

}  // namespace glean::cli
