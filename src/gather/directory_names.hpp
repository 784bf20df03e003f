// SPDX-License-Identifier: BSD-3-Clause
//
// The entries of the directories of node_files.hpp. Blocks for the system, as long as shared memory takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glean::gather {

// A name with slashes as that of an entry, and back.
[[nodiscard]] std::string encoded_name(std::string_view name);
[[nodiscard]] std::string decoded_name(std::string_view text);
// In place of a path in a name.
[[nodiscard]] std::uint64_t hash_of(std::string_view text);
// Without "." and "..", in order; none where there is no such directory.
[[nodiscard]] std::vector<std::string> entries_of(const std::string& directory);
// Those of a family and its states. False: the system refuses.
bool make_directories(const std::string& family);

}  // namespace glean::gather
