// SPDX-License-Identifier: BSD-3-Clause
//
// What the drain tells the application about its data.
#pragma once

#include "base/error.hpp"
#include "drain/coverage.hpp"

namespace glean::drain {

[[nodiscard]] base::Error overlap_error(const store::VariableLayout& variable, std::uint64_t step,
                                        const mesh::Box& box, int rank, const Coverage::Put& earlier);

}  // namespace glean::drain
