// SPDX-License-Identifier: BSD-3-Clause
//
// Where the header of a classic NetCDF file has the values of attributes that change.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mesh/definitions.hpp"
#include "store/layout.hpp"

namespace glean::store {

// For FileLayout::attributes. `header`: the whole of it, as a library has made it of these definitions. Throws unsupported, naming an
// attribute that it has under another name. Pure.
[[nodiscard]] std::vector<VariableLayout> cdf_attribute_places(std::span<const std::byte> header, const mesh::Definitions& definitions);

}  // namespace glean::store
