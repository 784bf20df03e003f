// SPDX-License-Identifier: BSD-3-Clause
//
// Datatypes as bytes, kept with the datatype as long as it lives: a program writes with the same again and again.
#pragma once

#include <mpi.h>

#include <memory>

#include "flat_type.hpp"

namespace glean::mpiio {

// Null when it cannot be flattened, which is said. Any thread.
[[nodiscard]] std::shared_ptr<const FlatType> flat_type(MPI_Datatype datatype);

}  // namespace glean::mpiio
