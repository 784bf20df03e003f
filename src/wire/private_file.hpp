// SPDX-License-Identifier: BSD-3-Clause
//
// Small files that are for their owner only: mode 0600.
#pragma once

#include <cstddef>
#include <string>

namespace glean::wire {

enum class IfItExists { fails, is_replaced };

// All at once: other processes find the old file or the whole new one. Throws base::Error.
void write_private_file(const std::string& path, const std::string& text, IfItExists existing);

// Throws base::Error: not_found; permission if it is another user's or others may read or write it; invalid_argument if it is no file or
// too long. `what` is in the message: "the key file".
[[nodiscard]] std::string read_private_file(const std::string& path, const std::string& what, std::size_t bytes_max,
                                            const std::string& hint_if_missing);

}  // namespace glean::wire
