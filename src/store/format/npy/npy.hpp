// SPDX-License-Identifier: BSD-3-Clause
//
// NumPy's file format: one array, raw and little-endian, behind a line of text that describes it (docs/formats/npy.md).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "store/format/format.hpp"

namespace glean::store {

[[nodiscard]] std::unique_ptr<const Format> make_npy_format();

// The array that the first bytes of a file describe, as make_npy_format() would lay it out with all of its dimensions fixed: at most
// `npy_header_most` bytes are looked at. Nothing if it is no such file, or one of a kind that is not written here (other types, big-endian,
// Fortran order).
inline constexpr std::size_t npy_header_most = std::size_t{64} << 10;
[[nodiscard]] std::optional<VariableLayout> read_npy_header(std::span<const std::byte> bytes);

}  // namespace glean::store
