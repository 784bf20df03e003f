// SPDX-License-Identifier: BSD-3-Clause
//
// What all ranks together have of the grids of an output.
#pragma once

#include <string>

#include "session/core.hpp"
#include "session/grids/convention.hpp"

namespace glean::session {

// `mine`: as many numbers on all ranks, which have agreed on their definitions before (Backend::agree_on). Collective: a scan and a
// reduction of the counts, a reduction of the others.
[[nodiscard]] Totals together(Core& core, const std::string& path, const Contribution& mine);

}  // namespace glean::session
