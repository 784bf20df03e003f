// SPDX-License-Identifier: BSD-3-Clause
//
// What is in an HDF5 file, and where: asked of the library, so that most data can be read without it.
#pragma once

#include "store/hdf5/input_driver.hpp"
#include "store/input/contents.hpp"

namespace glean::store {

// Datasets are variables whose names are their paths, sorted; of a dataset whose elements have several parts each part that can be read is
// a variable ("DATASET.PART"). A first dimension without a limit counts steps. Where contiguous elements, and steps as this library writes
// them, lie is said; others are read by the library (read_hdf5_elements). What no type can hold is `unreadable`. Links to other files are
// not followed. Throws with HDF5's message. Local; of one thread at a time.
[[nodiscard]] FileContents read_hdf5_contents(Hdf5Source source);

}  // namespace glean::store
