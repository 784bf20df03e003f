// SPDX-License-Identifier: BSD-3-Clause
//
// Dimension scales: the datasets that have the coordinates along a dimension.
#pragma once

#include <hdf5.h>

#include "mesh/definitions.hpp"

namespace glean::store {

// A variable that has one dimension, whose name it has, is the scale of that dimension, and is attached to all datasets of `file` that
// have the dimension. Not if those are more than a thousand: the scale lists them in an attribute, which has less than 64 KiB.
void attach_scales(hid_t file, const mesh::Definitions& definitions);

}  // namespace glean::store
