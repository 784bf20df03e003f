// SPDX-License-Identifier: BSD-3-Clause
//
// Lists as Slurm writes them into its environment and its configuration.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glean::topology {

// "n[08-10,15],gpu3" → n08 n09 n10 n15 gpu3; several brackets in one name multiply, the last one counting fastest. nullopt
// where it is no such list, or more than a million names. Local.
[[nodiscard]] std::optional<std::vector<std::string>> expand_host_list(std::string_view text);

// "4(x3),2" → 4 4 4 2. nullopt as above.
[[nodiscard]] std::optional<std::vector<int>> expand_counts(std::string_view text);

}  // namespace glean::topology
