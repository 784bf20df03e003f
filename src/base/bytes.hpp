// SPDX-License-Identifier: BSD-3-Clause
//
// Byte counts and byte ranges.
#pragma once

#include <cstdint>

namespace glean::base {

using Bytes = std::uint64_t;

inline constexpr Bytes KiB = 1024;
inline constexpr Bytes MiB = 1024 * KiB;
inline constexpr Bytes GiB = 1024 * MiB;
inline constexpr Bytes largest_offset = (Bytes{1} << 63) - 1;   // of off_t and MPI_Offset, so no file is larger

// `alignment` need not be a power of two.
[[nodiscard]] constexpr Bytes align_down(Bytes value, Bytes alignment) { return value - value % alignment; }
[[nodiscard]] constexpr Bytes align_up(Bytes value, Bytes alignment) {
  return align_down(value + alignment - 1, alignment);
}

// Bytes [begin, end) of a file or buffer.
struct Extent {
  Bytes begin = 0;
  Bytes end = 0;
  [[nodiscard]] constexpr Bytes size() const { return end - begin; }
  [[nodiscard]] constexpr bool empty() const { return end <= begin; }
  friend constexpr bool operator==(const Extent&, const Extent&) = default;
};

}  // namespace glean::base
