// SPDX-License-Identifier: BSD-3-Clause
//
// Which files are steps of one series.
#pragma once

#include <string>

namespace glean::view {

// "plt_#.nc" of "plt_0012.nc"; names without a number stay as they are. Endings do not count: "x.h5" has no number.
[[nodiscard]] std::string series_name(const std::string& file_name);

}  // namespace glean::view
