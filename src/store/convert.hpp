// SPDX-License-Identifier: BSD-3-Clause
//
// Elements from their type in memory to their external type, in the file's byte order, with PnetCDF's conversion and range rules.
#pragma once

#include <cstddef>

#include "mesh/type.hpp"
#include "store/layout.hpp"

namespace glean::store {

struct OutOfRange {
  std::size_t count = 0;   // elements that the external type cannot hold; fill_value was written for them
  std::size_t first = 0;   // index of the first one
};

// Converts `count` elements. `source` is aligned to its type or not; `target` likewise. `fill_value` in
// the file's byte order.
using Converter = OutOfRange (*)(const std::byte* source, std::byte* target, std::size_t count,
                                 const std::byte* fill_value);

// nullptr where PnetCDF refuses (text to number or number to text).
[[nodiscard]] Converter converter(mesh::Type memory, mesh::Type external, Stored stored = {});
// A converter for targets that are not read soon: they go past the cache, and are not read before they are written. Where `stored` is
// little-endian it is the same as converter().
[[nodiscard]] Converter streaming_converter(mesh::Type memory, mesh::Type external, Stored stored = {});
// A converter without the extensions of this processor.
[[nodiscard]] Converter portable_converter(mesh::Type memory, mesh::Type external, Stored stored = {});

}  // namespace glean::store
