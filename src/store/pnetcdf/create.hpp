// SPDX-License-Identifier: BSD-3-Clause
//
// Lets PnetCDF write the metadata of a file and tells where the data will be.
#pragma once

#include <string>

#include "mesh/definitions.hpp"
#include "store/layout.hpp"

namespace glean::store {

// Creates `path` (replacing what is there) with all metadata, on this process alone (MPI_COMM_SELF), closes it,
// and returns where PnetCDF placed the variables. The header equals the one that PnetCDF would write on any number
// of processes. Fill values are described, not written. Local, blocks. Throws with PnetCDF's message, naming the
// dimension, variable or attribute that it refused.
[[nodiscard]] FileLayout create_netcdf(const std::string& path, Format format, const mesh::Definitions& definitions,
                                       base::RangeRule range);

}  // namespace glean::store
