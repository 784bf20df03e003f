// SPDX-License-Identifier: BSD-3-Clause
//
// Byte counts and durations as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace glean::base {

// "4096", "64KiB", "1.5 GiB", "1GB" (10^9), "8k" is refused: units are B, kB, MB, GB, TB and KiB, MiB, GiB, TiB.
// nullopt where it is none, is negative, is no whole number of bytes or does not fit.
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);

// Exact, in the largest binary unit that divides it: "512MiB", "1000B".
[[nodiscard]] std::string exact_bytes(Bytes bytes);

// Rounded to three digits, for people: "1.46 GiB", "980 KiB", "17 B".
[[nodiscard]] std::string readable_bytes(Bytes bytes);

// "300s", "500ms", "2min", "1h", "1.5" (seconds), as seconds. nullopt where it is none or negative.
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);

// Exact: "300s", "0.5s".
[[nodiscard]] std::string exact_seconds(double seconds);

}  // namespace glean::base
