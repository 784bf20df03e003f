// SPDX-License-Identifier: BSD-3-Clause
//
// Elements of any type of numbers as double, a block at a time.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/bytes.hpp"
#include "mesh/type.hpp"

namespace glean::analysis {

// Fits into the first cache of any processor, together with what is done with it.
inline constexpr std::size_t block_elements = 1024;
using Block = std::array<double, block_elements>;

// The first elements of `bytes`, at most a block of them: where they lie, if they are such values and aligned, else in `block`. Numbers of
// 64 bits lose what a double does not have.
[[nodiscard]] std::span<const double> next_block(std::span<const std::byte> bytes, mesh::Type type, bool is_big_endian, Block& block);

}  // namespace glean::analysis
