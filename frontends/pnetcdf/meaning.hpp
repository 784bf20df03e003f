// SPDX-License-Identifier: BSD-3-Clause
//
// What the program has defined, as the PnetCDF library knows it.
#pragma once

#include <cstdint>
#include <optional>

#include "store/meaning.hpp"

namespace glean::pnetcdf {

// Asks the library for dimensions, variables, attributes, and where it has placed the variables. None where it does not say. `count`: of
// the times that definitions have ended. Local, in data mode.
[[nodiscard]] std::optional<store::Meaning> inquire_meaning(int ncid, std::uint32_t count);

}  // namespace glean::pnetcdf
