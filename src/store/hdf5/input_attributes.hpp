// SPDX-License-Identifier: BSD-3-Clause
//
// Attributes of HDF5 objects, as attributes of this library.
#pragma once

#include <hdf5.h>

#include <string>

#include "store/input/contents.hpp"

namespace glean::store {

// All attributes of an object, in the order in which they were made if the file keeps that. `prefix` is put before their names;
// `variable`: whose they are, -1 of the file. What marks dimension scales, and what netCDF-4 keeps for itself, is left out; what no type
// can hold becomes unreadable. Throws with HDF5's message.
void add_hdf5_attributes(hid_t object, const std::string& prefix, int variable, FileContents& contents);

}  // namespace glean::store
