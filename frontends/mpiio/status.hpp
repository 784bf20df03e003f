// SPDX-License-Identifier: BSD-3-Clause
//
// What the program learns of a write that was captured: a status, or a request that is complete.
#pragma once

#include <mpi.h>

#include "base/bytes.hpp"

namespace glean::mpiio {

// MPI_Get_count and MPI_Get_elements of the datatype that was written are right then. `status` may be MPI_STATUS_IGNORE.
void set_status(MPI_Status* status, base::Bytes bytes);

// A request that any wait or test of MPI takes.
[[nodiscard]] MPI_Request completed_request(base::Bytes bytes);

}  // namespace glean::mpiio
