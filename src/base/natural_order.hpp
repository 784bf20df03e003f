// SPDX-License-Identifier: BSD-3-Clause
//
// The order that people expect of numbered names.
#pragma once

#include <string_view>

namespace glean::base {

// "chk_9" < "chk_10": digits are compared as numbers of any length, the rest byte by byte. Names that differ only in
// leading zeros are ordered too. Negative, 0 or positive, as strcmp.
[[nodiscard]] int natural_compare(std::string_view a, std::string_view b);

}  // namespace glean::base
