// SPDX-License-Identifier: BSD-3-Clause
//
// Machine files that come with the project, and the user's own.
#pragma once

#include <string>
#include <vector>

#include "topology/machine.hpp"

namespace glean::topology {

// Where files are looked for by name, the first one first: the directory that GLEAN_MACHINES names, the one beside the running
// program (../share/glean/machines), and that of the installation. Local.
[[nodiscard]] std::vector<std::string> machine_directories();

// Names of the machines there, each once, ascending. Local, reads directories.
[[nodiscard]] std::vector<std::string> machine_names(const std::vector<std::string>& directories = machine_directories());

// A machine by its name, or by the path of its file: what has a '/' or ends in ".toml". Local, reads one file.
// Throws not_found where there is none, naming the nearest one that there is; invalid_config where the file is wrong.
[[nodiscard]] Machine load_machine(const std::string& name_or_path,
                                   const std::vector<std::string>& directories = machine_directories());

}  // namespace glean::topology
