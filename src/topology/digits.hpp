// SPDX-License-Identifier: BSD-3-Clause
//
// Places that are numbered by digits, the last of which counts fastest: positions in a box, nodes below switches.
#pragma once

#include <cstdint>
#include <vector>

namespace glean::topology {

[[nodiscard]] std::int64_t number_of_places(const std::vector<int>& extents);
[[nodiscard]] std::int64_t place_number(const std::vector<int>& extents, const std::vector<int>& digits);
[[nodiscard]] std::vector<int> place_digits(const std::vector<int>& extents, std::int64_t number);

// Every digit is in [0, its extent), and there are as many.
[[nodiscard]] bool is_place(const std::vector<int>& extents, const std::vector<int>& digits);

}  // namespace glean::topology
