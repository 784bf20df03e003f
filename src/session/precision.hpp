// SPDX-License-Identifier: BSD-3-Clause
//
// Which variables of an output are written in single precision instead of double: settings `precision` and `reduce_variables`.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/settings.hpp"
#include "mesh/type.hpp"
#include "session/core.hpp"

namespace glean::session {

// What rank 0 has read for the output. `is_asked`: it says so, the same on all ranks; otherwise nothing is narrowed. Collective. Blocks.
[[nodiscard]] base::PrecisionSettings precision_of_output(const Core& core, std::string_view path, bool is_asked);

// The type that a variable of this name has in the file.
[[nodiscard]] mesh::Type narrowed(const base::PrecisionSettings& precision, std::string_view name, mesh::Type external);

// Double values in single precision.
[[nodiscard]] std::vector<std::byte> narrowed(std::span<const std::byte> values);

}  // namespace glean::session
