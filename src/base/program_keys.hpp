// SPDX-License-Identifier: BSD-3-Clause
//
// Keys of the user's own analysis (docs/analysis.md): which programs look at the steps of an output, and what they may take. They stand
// behind the other keys of base/keys.hpp.
#pragma once

#include <span>

#include "base/keys.hpp"

namespace glean::base {

[[nodiscard]] std::span<const Key> program_key_table();

}  // namespace glean::base
