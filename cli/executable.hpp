// SPDX-License-Identifier: BSD-3-Clause
//
// What can be said of a program without running it: whether a library can be preloaded to it, and which MPI it uses.
#pragma once

#include <string>
#include <vector>

namespace glean::cli {

struct Executable {
  std::string path;
  enum class Kind { dynamic, statically_linked, script, other } kind = Kind::other;
  bool changes_user = false;             // set-user-ID or set-group-ID, or capabilities: nothing can be preloaded
  std::vector<std::string> libraries;    // all that are loaded with it: names, as they are asked for
};

// The file that the shell would run; empty: none.
[[nodiscard]] std::string find_program(const std::string& word);
// Reads the file, and asks its dynamic linker; does not run it. Does not throw: what cannot be read is `other`.
[[nodiscard]] Executable examine(const std::string& path);
// Examines a library for this kind of machine.
[[nodiscard]] Executable examine_library(const std::string& path);

enum class MpiLibrary { none, open_mpi, mpich };
// mpich: and all that has its binary interface.
[[nodiscard]] MpiLibrary mpi_of(const std::vector<std::string>& libraries);
[[nodiscard]] const char* name_of(MpiLibrary mpi);

}  // namespace glean::cli
