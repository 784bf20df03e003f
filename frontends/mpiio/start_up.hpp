// SPDX-License-Identifier: BSD-3-Clause
//
// What a process says of itself when MPI starts, to `glean run`, which has started it, and to people.
#pragma once

#include "session/core.hpp"

namespace glean::mpiio {

// Where `glean run` looks whether the library has come alive: GLEAN_RUN_DIRECTORY. A process that has loaded the library appends
// its program to the file `loaded`; one that has initialized MPI through it makes the file `alive`, or `other`, with the program's
// MPI in it. Without the directory, or on another host, nothing is written.
//
// Once MPI is initialized. False: the program has another MPI than this library, and not even handles can be looked at. Local.
[[nodiscard]] bool come_alive() noexcept;

// Waits until all ranks of MPI_COMM_WORLD are here. Those whose program was started without the library never come, and could not even be
// told: this says so after some seconds, and ends the job after pool.deadline. Collective, blocks.
void wait_for_all_ranks() noexcept;

// One line of rank 0, if `glean run` has started it: that MPI-IO is captured. Local.
void announce(session::Core& core) noexcept;

}  // namespace glean::mpiio
