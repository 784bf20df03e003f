// SPDX-License-Identifier: BSD-3-Clause
//
// The ranks come to the constructor of a session. There is no pool yet in which they could see each other: on a node they do by sockets
// without a file, which go when their process ends.
#pragma once

#include <mpi.h>

#include <functional>
#include <map>
#include <string>

namespace glean::session {

// Returns when all ranks of `comm` are in this call. Where ranks do not come for the deadline of the settings, it throws timeout on all
// that have waited and names the missing ones, as far as this node knows; a rank that comes later is told at once. From then on no session
// can be made of `comm`. `settings`: of the program; only a rank that waits for long looks at them. Does nothing for a communicator that
// cannot be one of a session. Collective, two barriers.
void arrive(MPI_Comm comm, const std::function<std::map<std::string, std::string>()>& settings);

}  // namespace glean::session
