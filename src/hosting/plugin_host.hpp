// SPDX-License-Identifier: BSD-3-Clause
//
// The process that runs a plug-in in C (include/glean/plugin.h): `glean analysis-host`, which drains start.
#pragma once

namespace glean::hosting {

// Serves the drain at the other end of the socket until that is closed. Returns the exit code of the process.
[[nodiscard]] int run_plugin_host(int socket);

}  // namespace glean::hosting
