// SPDX-License-Identifier: BSD-3-Clause
//
// glean analysis-host: the process that runs a plug-in of a user's. Drains start it, people do not.
#include "cli/verbs.hpp"
#include "hosting/plugin_host.hpp"

namespace glean::cli {
namespace {

constexpr int socket_of_drain = 3;

}  // namespace

void add_analysis_host(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("analysis-host", "Run a plug-in for a drain (drains call it)");
  verb->group("");   // not shown
  verb->callback([&exit_code] { exit_code = hosting::run_plugin_host(socket_of_drain); });
}

}  // namespace glean::cli
