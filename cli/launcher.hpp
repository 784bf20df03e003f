// SPDX-License-Identifier: BSD-3-Clause
//
// What launchers of parallel programs say to the processes that they start. Their variables pass through shells, `timeout` and
// containers, and so they reach a process that the launcher has not started itself.
#pragma once

#include <functional>
#include <string>

namespace glean::cli {

// The value of a variable, or null, as std::getenv gives it.
using Environment = std::function<const char*(const char*)>;

struct Launcher {
  enum class Kind { none, open_mpi, pmi, slurm };

  Kind kind = Kind::none;
  int count = 1;          // processes that it has started together
  std::string variable;   // which says so; empty: none does
  std::string value;
  // Open MPI cannot be started among them: the launcher has set up nothing by which it finds the others.
  bool lacks_pmi = false;

  // "3 processes that srun has started (SLURM_STEP_NUM_TASKS=3)".
  [[nodiscard]] std::string describe() const;
  // What to do where MPI could not be started among them.
  [[nodiscard]] std::string advice() const;
};

// Pure. A job script and the shell of an allocation are alone, though Slurm says there how many tasks a step would have: a step
// has SLURM_STEP_NUM_TASKS. Of several launchers, one inside of the other, the inner one counts.
[[nodiscard]] Launcher find_launcher(const Environment& environment);

}  // namespace glean::cli
