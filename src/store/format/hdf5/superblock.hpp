// SPDX-License-Identifier: BSD-3-Clause
//
// The superblock of an HDF5 file, as far as it tells whether the file is one, and complete ("HDF5 File Format Specification", II.A).
#pragma once

#include <optional>

#include "store/posix/input_file.hpp"

namespace glean::store {

struct Hdf5Superblock {
  base::Bytes begin = 0;   // in the file; in front of it others may have something
  base::Bytes end = 0;     // of the file, as the library states it when it closes one
};

// Nothing where there is no superblock of a version that is known. Throws what the system says. Blocks.
[[nodiscard]] std::optional<Hdf5Superblock> find_hdf5_superblock(const InputFile& file);

}  // namespace glean::store
