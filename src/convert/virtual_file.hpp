// SPDX-License-Identifier: BSD-3-Clause
//
// One name for an HDF5 output that was written to several files: a file whose datasets are virtual, and have their elements in the parts.
#pragma once

#include <string>
#include <vector>

#include "store/parts/join.hpp"

namespace glean::convert {

// Writes `output` as store::join() does, of metadata only: groups, attributes, scales and datasets are those of the joined file, to which
// it is the same for all who read it with HDF5. It names the parts relative to its directory. `Joined::bytes`: of this file. Throws
// unsupported where the parts are not HDF5, and what HDF5 or the storage says; leaves nothing then. Local. Blocks.
store::Joined join_virtually(store::SystemCalls& calls, const std::vector<store::Part>& parts, const std::string& output);

}  // namespace glean::convert
