// SPDX-License-Identifier: BSD-3-Clause
//
// glean on every node of a job: mpirun --map-by ppr:1:node glean recover.
#pragma once

#include <memory>

#include "drain/recovery_of_nodes.hpp"

namespace glean::cli {

// The processes that a launcher has started with this one, or nobody. Starts MPI if there are some; until it is destroyed.
[[nodiscard]] std::unique_ptr<drain::Companions> find_companions();

// Ends all of several, and this one: others may be waiting for it.
[[noreturn]] void end_all(int exit_code);

}  // namespace glean::cli
