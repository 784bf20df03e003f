// SPDX-License-Identifier: BSD-3-Clause
//
// A NetCDF file becomes a smaller one, or one with more in it: operators are run on its variables, a window at a time.
#pragma once

#include <string>
#include <vector>

#include "convert/convert.hpp"
#include "store/posix/file.hpp"

namespace glean::convert {

struct Reduced {
  std::string kind;   // "NetCDF", "HDF5", "HDF5 with zfp"
  std::size_t fields = 0;
  Bytes bytes = 0;   // of the file
  std::vector<std::string> notes;
};

// Writes `file`, which is empty, but does not publish it. Memory: some 20 MiB, and more for a formula of many variables. Throws what is
// wrong with the operators, all at once, and what the storage says. Local. Blocks.
[[nodiscard]] Reduced reduce_to(Source& source, const Options& options, store::File& file);

}   // namespace glean::convert
