// SPDX-License-Identifier: BSD-3-Clause
//
// Element types of variables, in memory and in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace glean::mesh {

// Same order as glean::Type; the session checks it. The numbers stand in the journal.
enum class Type : std::uint8_t { int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64, text };

inline constexpr int type_count = 11;

[[nodiscard]] constexpr std::size_t size_of(Type type) {
  constexpr std::size_t sizes[type_count] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1};
  return sizes[static_cast<int>(type)];
}

[[nodiscard]] constexpr std::string_view name_of(Type type) {
  constexpr std::string_view names[type_count] = {"int8",   "uint8", "int16",   "uint16",  "int32", "uint32",
                                                  "int64", "uint64", "float32", "float64", "text"};
  return names[static_cast<int>(type)];
}

}  // namespace glean::mesh
