// SPDX-License-Identifier: BSD-3-Clause
//
// A process of its own that drains a pool, and outlives the application.
#pragma once

#include <optional>
#include <string>

#include "drain/trace.hpp"
#include "pool/pool.hpp"

namespace glean::drain {

// Drains until the session is closed; if all its ranks are gone before, completes what they have left as recover() does,
// and removes the pool. Returns an exit code: 0, or 1 when something could not be completed. Blocks.
[[nodiscard]] int serve(const std::string& pool);

// What serve() has left for the report in a pool whose session is closed; nothing if the helper was killed.
[[nodiscard]] std::optional<DrainTrace> trace_left_in(const pool::Pool& pool);

}  // namespace glean::drain
