// SPDX-License-Identifier: BSD-3-Clause
//
// Lets HDF5 make the metadata of a file, in memory, and decides where the data will be.
#pragma once

#include "mesh/definitions.hpp"
#include "store/format/file_image.hpp"

namespace glean::store {

// Needs no file system and no other process. The bytes depend on the definitions and on the version of the library only. Throws with
// HDF5's message, naming the dimension, variable or attribute that it refused. Local; of one thread at a time, and of none while another
// thread of the process is inside the same library.
[[nodiscard]] FileImage make_hdf5_image(const mesh::Definitions& definitions, base::RangeRule range);

}  // namespace glean::store
