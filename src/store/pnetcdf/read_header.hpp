// SPDX-License-Identifier: BSD-3-Clause
//
// Lets PnetCDF read the metadata of a file that is there.
#pragma once

#include <cstdint>
#include <string>

#include "store/layout.hpp"

namespace glean::store {

struct Header {
  FileLayout layout;           // `fill` is false everywhere: files do not say
  std::uint64_t records = 0;   // that the header counts
};

// Reads the header on this process alone (MPI_COMM_SELF); the data may be missing. Offsets and shapes are what the header
// says: FileLayout::decode(layout.encode()) tells whether any file can be so. Local, blocks. Throws with PnetCDF's
// message.
[[nodiscard]] Header read_netcdf(const std::string& path);

}  // namespace glean::store
