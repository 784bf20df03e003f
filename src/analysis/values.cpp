// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/values.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace glean::analysis {
namespace {

template <std::size_t Size>
using Word = std::conditional_t<Size == 8, std::uint64_t, std::conditional_t<Size == 4, std::uint32_t, std::uint16_t>>;

template <class Number>
Number swapped(Number value) {
  if constexpr (sizeof(Number) == 1) return value;
  else {
    auto word = std::bit_cast<Word<sizeof(Number)>>(value);
    if constexpr (sizeof word == 8) word = __builtin_bswap64(word);
    else if constexpr (sizeof word == 4) word = __builtin_bswap32(word);
    else word = __builtin_bswap16(word);
    return std::bit_cast<Number>(word);
  }
}

template <class Number>
void convert(const std::byte* bytes, std::size_t count, bool swaps, double* values) {
  const auto at = [&](std::size_t i) {
    Number value;
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    return value;
  };
  if (swaps) {
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(swapped(at(i)));
  } else {
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(at(i));
  }
}

}  // namespace

std::span<const double> next_block(std::span<const std::byte> bytes, mesh::Type type, bool is_big_endian, Block& block) {
  const std::size_t count = std::min(block_elements, bytes.size() / mesh::size_of(type));
  const bool swaps = is_big_endian != (std::endian::native == std::endian::big);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(double) == 0;
  if (type == mesh::Type::float64 && !swaps && is_aligned) return {reinterpret_cast<const double*>(bytes.data()), count};
  using enum mesh::Type;
  switch (type) {
    case int8: convert<std::int8_t>(bytes.data(), count, swaps, block.data()); break;
    case text:
    case uint8: convert<std::uint8_t>(bytes.data(), count, swaps, block.data()); break;
    case int16: convert<std::int16_t>(bytes.data(), count, swaps, block.data()); break;
    case uint16: convert<std::uint16_t>(bytes.data(), count, swaps, block.data()); break;
    case int32: convert<std::int32_t>(bytes.data(), count, swaps, block.data()); break;
    case uint32: convert<std::uint32_t>(bytes.data(), count, swaps, block.data()); break;
    case int64: convert<std::int64_t>(bytes.data(), count, swaps, block.data()); break;
    case uint64: convert<std::uint64_t>(bytes.data(), count, swaps, block.data()); break;
    case float32: convert<float>(bytes.data(), count, swaps, block.data()); break;
    case float64: convert<double>(bytes.data(), count, swaps, block.data()); break;
  }
  return {block.data(), count};
}

}  // namespace glean::analysis
