// SPDX-License-Identifier: BSD-3-Clause
//
// Small files that appear whole, beside an output: indices, tables.
#pragma once

#include <string>
#include <string_view>

#include "store/posix/system_calls.hpp"

namespace glean::store {

// Writes the file as `before`, in the same directory, makes it durable and gives it its name, in place of what has that. Throws, and leaves
// nothing behind. Blocks.
void replace_small_file(SystemCalls& calls, const std::string& before, const std::string& path, std::string_view text);

}  // namespace glean::store
