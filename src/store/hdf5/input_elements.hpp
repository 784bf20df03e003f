// SPDX-License-Identifier: BSD-3-Clause
//
// Elements that only the library can read: chunked, compressed, of uncommon types, or parts of others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mesh/box.hpp"
#include "store/hdf5/input_driver.hpp"
#include "store/input/contents.hpp"

namespace glean::store {

// Reads a box, which lies in the variable and has elements, as the variable's own type, native. `variable`: of read_hdf5_contents(), with
// `by_library`. `record` is ignored where it has no steps. Throws with HDF5's message. Local, blocks; of one thread at a time.
void read_hdf5_elements(Hdf5Source source, const FileContents::Variable& variable, std::uint64_t record, const mesh::Box& box,
                        std::byte* values);

}  // namespace glean::store
