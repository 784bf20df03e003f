// SPDX-License-Identifier: BSD-3-Clause
//
// Finds and loads the module that has HDF5 (store/hdf5/module.hpp).
#pragma once

#include "mesh/definitions.hpp"
#include "store/format/file_image.hpp"

namespace glean::session {

// By the module, which is loaded the first time, so that a program that writes no HDF5 has none of it. Throws unsupported where there is no
// such module; what the module throws. Blocks.
[[nodiscard]] store::FileImage hdf5_image_by_module(const mesh::Definitions& definitions, base::RangeRule range);

}  // namespace glean::session
