// SPDX-License-Identifier: BSD-3-Clause
//
// Outputs by the stem of their names, for processes that may only look at the pool, and for signal handlers.
#pragma once

#include <string_view>

#include "pool/published.hpp"

namespace glean::session {

// Those of `outputs` whose final path, without the last extension, is `path`, and all that the program has renamed in its directory since
// they were closed. Local; no lock and no memory is taken.
[[nodiscard]] pool::OutputSet with_stem(const pool::Pool& pool, pool::OutputSet outputs, std::string_view path) noexcept;

}  // namespace glean::session
