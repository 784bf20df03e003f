// SPDX-License-Identifier: BSD-3-Clause
//
// Lets PnetCDF make the metadata of a file, in memory, and tells where the data will be.
#pragma once

#include "mesh/definitions.hpp"
#include "store/format/cdf/cdf.hpp"

namespace glean::store {

// What PnetCDF writes on this process alone (MPI_COMM_SELF): the header equals the one that it would write on any number of processes.
// Fill values are described, not written. Needs no file system: the file is memory of this process. Local, blocks. Throws with
// PnetCDF's message, naming the dimension, variable or attribute that it refused.
[[nodiscard]] FileImage make_netcdf_image(CdfVersion version, const mesh::Definitions& definitions, base::RangeRule range);

}  // namespace glean::store
