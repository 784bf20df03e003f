// SPDX-License-Identifier: BSD-3-Clause
//
// Why a command that `glean run` starts is not captured, or will not be.
#pragma once

#include <string>
#include <vector>

#include "cli/executable.hpp"

namespace glean::cli {

// The user's own hints, in PNETCDF_HINTS, make PnetCDF from 1.15 on write past MPI-IO.
[[nodiscard]] bool asks_pnetcdf_for_gio();

struct RunFinding {
  std::string what;
  std::string advice;   // empty: none
};

// The programs of the command: what is given to launchers, shells and the like as well. `words` as the shell would have them.
[[nodiscard]] std::vector<Executable> programs_of(const std::vector<std::string>& words);
// What of them cannot be captured, as far as can be seen before they run. `library`: that is preloaded.
[[nodiscard]] std::vector<RunFinding> examine_programs(const std::vector<Executable>& programs, const Executable& library);

// Processes of the command may run on other hosts, for all that can be seen: there a directory of this host alone is not seen.
[[nodiscard]] bool may_reach_other_hosts(const std::vector<std::string>& words);

// What the processes have left in the directory of the run (frontends/mpiio/start_up.hpp).
struct RunNotes {
  bool alive = false;                // a process has initialized MPI, and the library saw it
  std::string other_mpi;             // the MPI of a program that has another one
  std::vector<std::string> loaded;   // programs that have loaded the library
};
[[nodiscard]] RunNotes read_notes(const std::string& directory);
// None of the programs has left word, neither the library's nor the program's: they may have run where nothing can be left.
[[nodiscard]] bool nothing_is_seen(const std::vector<Executable>& programs, const RunNotes& notes);
// When the command has ended, or `has_failed`: why nothing was captured. Empty: it was, or `known`, of examine_programs(), says why.
[[nodiscard]] std::vector<RunFinding> explain(const std::vector<Executable>& programs, const Executable& library, const RunNotes& notes,
                                              const std::vector<RunFinding>& known, bool has_failed);

}  // namespace glean::cli
