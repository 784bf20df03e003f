// SPDX-License-Identifier: BSD-3-Clause
//
// What a user probably meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace glean::base {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. O(|a| |b|).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate with the smallest edit distance, the first of several; empty without candidates.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace glean::base
