// SPDX-License-Identifier: BSD-3-Clause
//
// The files of a workload as a program writes them with PnetCDF.
#pragma once

#include <string>

#include "checkpoint/workload.hpp"

namespace glean::benchmarks {

enum class PnetcdfCalls { blocking, nonblocking };

// Collective over MPI_COMM_WORLD. Throws what PnetCDF says.
void write_with_pnetcdf(const File& file, const std::string& path, PnetcdfCalls calls);

}  // namespace glean::benchmarks
