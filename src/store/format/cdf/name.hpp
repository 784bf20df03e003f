// SPDX-License-Identifier: BSD-3-Clause
//
// The names of dimensions, variables and attributes, as NetCDF has them.
#pragma once

#include <string>
#include <string_view>

namespace glean::store {

// What is wrong with a name, such as "it is empty"; nothing if it may be used. PnetCDF also refuses what is not UTF-8.
[[nodiscard]] std::string flaw_of_cdf_name(std::string_view name);

}  // namespace glean::store
