// SPDX-License-Identifier: BSD-3-Clause
//
// The name of an output that is in a pool, for processes that may only look at the pool, and for signal handlers: no memory is
// allocated and no lock is taken.
#pragma once

#include <span>
#include <string_view>

#include "pool/pool.hpp"

namespace glean::drain {

// Copied into `buffer`. Empty where the output is not described any more, or the path does not fit. Local.
[[nodiscard]] std::string_view final_path_of(const pool::Pool& pool, pool::OutputKey output, std::span<char> buffer) noexcept;

}  // namespace glean::drain
