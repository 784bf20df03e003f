// SPDX-License-Identifier: BSD-3-Clause
//
// Files that the program has left open when it finalizes MPI: they are closed for it, and what became of them is said once it is known.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

namespace glean::mpiio {

class CapturedFile;

struct LeftOpen {
  std::string path;
  bool is_in_place = false;
  bool was_removed = false;    // by the program: it does not appear, as without GLEAN
  bool has_failed = false;     // as far as this node knows
  struct stat file {};         // under its working name
};

// Closes them without the other ranks. Returns those of which this rank is to speak: of each the first rank that has opened it.
[[nodiscard]] std::vector<LeftOpen> close_left_open(const std::vector<std::shared_ptr<CapturedFile>>& files);

// When the session has ended: which of them are complete, and which do not appear.
void tell_of(const std::vector<LeftOpen>& files);

}  // namespace glean::mpiio
