// SPDX-License-Identifier: BSD-3-Clause
//
// Byte counts, rates, durations and ranks as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace glean::base {

// "4096", "64KiB", "1.5 GiB", "1GB" (10^9), "8k" is refused: units are B, kB, MB, GB, TB and KiB, MiB, GiB, TiB.
// nullopt where it is none, is negative, is no whole number of bytes or does not fit.
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);

// Exact, in the largest binary unit that divides it: "512MiB", "1000B".
[[nodiscard]] std::string exact_bytes(Bytes bytes);

// Rounded to three digits, for people: "1.46 GiB", "980 KiB", "17 B".
[[nodiscard]] std::string readable_bytes(Bytes bytes);

// "425MB/s", "1.5 GiB/s", "10Gbit/s" (10^9 bits), as bytes per second. nullopt where it is none, has no unit or is negative.
[[nodiscard]] std::optional<double> parse_rate(std::string_view text);

// Exact, in the largest decimal unit: "425MB/s".
[[nodiscard]] std::string exact_rate(double bytes_per_second);

// Rounded to three digits, in decimal units, for people: "425 MB/s", "12.5 GB/s".
[[nodiscard]] std::string readable_rate(double bytes_per_second);

// "300s", "500ms", "20us", "2min", "1h", "1.5" (seconds), as seconds. nullopt where it is none or negative.
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);

// Exact: "300s", "0.5s", "20us".
[[nodiscard]] std::string exact_seconds(double seconds);

// "rank 3", "ranks 1, 2, 5"; of many the first eight: "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 24 more".
[[nodiscard]] std::string readable_ranks(const std::vector<int>& ranks);

}  // namespace glean::base
