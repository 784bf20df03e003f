// SPDX-License-Identifier: BSD-3-Clause
#include "store/convert.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define GLEAN_HAS_AVX2_CLONES 1
#endif

namespace glean::store {

namespace {

// By mesh::Type.
using Types = std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                         std::int64_t, std::uint64_t, float, double, char>;
static_assert(std::tuple_size_v<Types> == mesh::type_count);
constexpr int text_index = static_cast<int>(mesh::Type::text);

template <std::size_t size>
struct Unsigned;
template <> struct Unsigned<1> { using Type = std::uint8_t; };
template <> struct Unsigned<2> { using Type = std::uint16_t; };
template <> struct Unsigned<4> { using Type = std::uint32_t; };
template <> struct Unsigned<8> { using Type = std::uint64_t; };
template <class T>
using BitsOf = typename Unsigned<sizeof(T)>::Type;


template <ByteOrder order, class Bits>
[[gnu::always_inline]] inline Bits in_order(Bits bits) {
  if constexpr (order == native_order || sizeof(Bits) == 1) return bits;
  else if constexpr (sizeof(Bits) == 2) return __builtin_bswap16(bits);
  else if constexpr (sizeof(Bits) == 4) return __builtin_bswap32(bits);
  else return __builtin_bswap64(bits);
}

// The largest and smallest values that PnetCDF lets through from a floating-point type. It compares as double, so
// that 2^63 and 2^64 pass for the 64-bit integers; see `result_of_limit`.
template <class External>
constexpr double largest = static_cast<double>(std::numeric_limits<External>::max());
template <class External>
constexpr double smallest = static_cast<double>(std::numeric_limits<External>::lowest());

template <class Memory, class External>
constexpr bool is_copy = sizeof(Memory) == 1 && std::is_same_v<Memory, External>;

template <class Memory, class External>
[[gnu::always_inline]] inline bool fits(Memory value) {
  if constexpr (std::is_same_v<Memory, External>) return true;
  else if constexpr (std::is_floating_point_v<Memory>) {
    const auto wide = static_cast<double>(value);
    // No integer is NaN: PnetCDF, which compares as below, writes whatever the processor makes of it.
    if constexpr (std::is_integral_v<External>) return (wide <= largest<External>) & (wide >= smallest<External>);
    return !(wide > largest<External>) & !(wide < smallest<External>);
  } else if constexpr (std::is_floating_point_v<External>) return true;
  else {
    using Limits = std::numeric_limits<External>;
    bool result = true;
    if constexpr (std::cmp_less(Limits::max(), std::numeric_limits<Memory>::max())) {
      result &= value <= static_cast<Memory>(Limits::max());
    }
    if constexpr (std::cmp_greater(Limits::min(), std::numeric_limits<Memory>::min())) {
      result &= value >= static_cast<Memory>(Limits::min());
    }
    return result;
  }
}

// What PnetCDF writes, without complaint, for 2^63 or 2^64: the result of the processor's conversion.
template <class Integer>
constexpr Integer result_of_limit = std::is_signed_v<Integer> ? std::numeric_limits<Integer>::min() : Integer{0};

template <class Memory, class External>
[[gnu::always_inline]] inline External cast(Memory value, bool in_range) {
  if constexpr (std::is_floating_point_v<Memory> && std::is_integral_v<External>) {
    // Where the limit can be represented the comparison above has dealt with it.
    const bool limit = sizeof(External) == 8 && static_cast<double>(value) == largest<External>;
    const Memory safe = (in_range & !limit) ? value : Memory{0};
    External result{};
    if constexpr (sizeof(External) < 4) result = static_cast<External>(static_cast<std::int32_t>(safe));
    else result = static_cast<External>(safe);
    if constexpr (sizeof(External) == 8) result = limit ? result_of_limit<External> : result;
    return result;
  } else {
    return static_cast<External>(value);
  }
}

template <class T>
[[gnu::always_inline]] inline T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Memory, class External, ByteOrder order>
[[gnu::always_inline]] inline std::size_t convert_block(const std::byte* __restrict source,
                                                        std::byte* __restrict target, std::size_t count,
                                                        BitsOf<External> fill_bits) {
  using Bits = BitsOf<External>;
  std::size_t outside = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = load<Memory>(source + i * sizeof(Memory));
    const bool in_range = fits<Memory, External>(value);
    const Bits bits = in_order<order>(std::bit_cast<Bits>(cast<Memory, External>(value, in_range)));
    const Bits result = in_range ? bits : fill_bits;
    std::memcpy(target + i * sizeof result, &result, sizeof result);
    outside += !in_range;
  }
  return outside;
}

// `convert_some` is convert_block, or does the same.
template <class Memory, class External, class ConvertSome>
[[gnu::always_inline]] inline OutOfRange convert_all(const std::byte* source, std::byte* target, std::size_t count,
                                                     const std::byte* fill_value, ConvertSome convert_some) {
  if constexpr (is_copy<Memory, External>) {
    std::memcpy(target, source, count);
    return {};
  } else {
    const auto fill_bits = load<BitsOf<External>>(fill_value);
    constexpr std::size_t block = 4096;
    OutOfRange result;
    for (std::size_t begin = 0; begin < count; begin += block) {
      const std::size_t size = std::min(block, count - begin);
      const std::byte* from = source + begin * sizeof(Memory);
      const std::size_t outside = convert_some(from, target + begin * sizeof(External), size, fill_bits);
      if (outside > 0 && result.count == 0) {
        std::size_t i = 0;
        while (fits<Memory, External>(load<Memory>(from + i * sizeof(Memory)))) ++i;
        result.first = begin + i;
      }
      result.count += outside;
    }
    return result;
  }
}

template <class Memory, class External, ByteOrder order>
OutOfRange convert_portable(const std::byte* source, std::byte* target, std::size_t count,
                            const std::byte* fill_value) {
  return convert_all<Memory, External>(source, target, count, fill_value, convert_block<Memory, External, order>);
}

#ifdef GLEAN_HAS_AVX2_CLONES
template <class Memory, class External, ByteOrder order>
[[gnu::target("avx2")]] OutOfRange convert_avx2(const std::byte* source, std::byte* target, std::size_t count,
                                                const std::byte* fill_value) {
  return convert_all<Memory, External>(source, target, count, fill_value, convert_block<Memory, External, order>);
}

// A few lines at a time become whole in a place that stays in the cache; from there they go past it.
template <class Memory, class External>
[[gnu::target("avx2")]] std::size_t stream_block(const std::byte* source, std::byte* target, std::size_t count,
                                                 BitsOf<External> fill_bits) {
  constexpr std::size_t line = sizeof(__m256i), group = 4 * line / sizeof(External);
  const std::size_t to_line = (line - reinterpret_cast<std::uintptr_t>(target) % line) % line;
  const std::size_t head = to_line % sizeof(External) == 0 ? std::min(to_line / sizeof(External), count) : count;
  std::size_t done = head;
  std::size_t outside = convert_block<Memory, External, ByteOrder::big>(source, target, head, fill_bits);
  for (; count - done >= group; done += group) {
    alignas(line) std::byte together[4 * line];
    outside += convert_block<Memory, External, ByteOrder::big>(source + done * sizeof(Memory), together, group, fill_bits);
    auto* to = reinterpret_cast<__m256i*>(target + done * sizeof(External));
    for (std::size_t i = 0; i < 4; ++i) _mm256_stream_si256(to + i, _mm256_load_si256(reinterpret_cast<const __m256i*>(together) + i));
  }
  return outside + convert_block<Memory, External, ByteOrder::big>(source + done * sizeof(Memory), target + done * sizeof(External),
                                                   count - done, fill_bits);
}

template <class Memory, class External>
[[gnu::target("avx2")]] OutOfRange convert_streaming(const std::byte* source, std::byte* target, std::size_t count,
                                                     const std::byte* fill_value) {
  OutOfRange result;
  if constexpr (is_copy<Memory, External>) stream_block<Memory, External>(source, target, count, {});
  else result = convert_all<Memory, External>(source, target, count, fill_value, stream_block<Memory, External>);
  _mm_sfence();
  return result;
}
#endif

using Table = std::array<Converter, mesh::type_count * mesh::type_count>;

enum class Means { any, avx2, streaming };   // the processor's

template <Means means, ByteOrder order, std::size_t index>
constexpr Converter table_entry() {
  constexpr std::size_t memory = index / mesh::type_count, external = index % mesh::type_count;
  if constexpr ((memory == text_index) != (external == text_index)) return nullptr;
  else {
    using Memory = std::tuple_element_t<memory, Types>;
    using External = std::tuple_element_t<external, Types>;
#ifdef GLEAN_HAS_AVX2_CLONES
    if constexpr (means == Means::avx2) return convert_avx2<Memory, External, order>;
    if constexpr (means == Means::streaming) return convert_streaming<Memory, External>;
#endif
    return convert_portable<Memory, External, order>;
  }
}

template <Means means, ByteOrder order, std::size_t... index>
constexpr Table make_table(std::index_sequence<index...>) {
  return {table_entry<means, order, index>()...};
}

template <Means means, ByteOrder order>
constexpr Table table = make_table<means, order>(std::make_index_sequence<std::tuple_size_v<Table>>{});

template <Means means>
Converter found(mesh::Type memory, mesh::Type external, Stored stored) {
  if (memory == mesh::Type::uint8 && external == mesh::Type::int8 && stored.int8_holds_uint8) memory = mesh::Type::int8;
  const std::size_t index = static_cast<std::size_t>(memory) * mesh::type_count + static_cast<std::size_t>(external);
  if (stored.order == ByteOrder::big) return table<means, ByteOrder::big>[index];
  constexpr Means of_little = means == Means::streaming ? Means::avx2 : means;
  return table<of_little, ByteOrder::little>[index];
}

}  // namespace

Converter converter(mesh::Type memory, mesh::Type external, Stored stored) {
#ifdef GLEAN_HAS_AVX2_CLONES
  if (__builtin_cpu_supports("avx2")) return found<Means::avx2>(memory, external, stored);
#endif
  return portable_converter(memory, external, stored);
}

Converter streaming_converter(mesh::Type memory, mesh::Type external, Stored stored) {
#ifdef GLEAN_HAS_AVX2_CLONES
  if (__builtin_cpu_supports("avx2")) return found<Means::streaming>(memory, external, stored);
#endif
  return portable_converter(memory, external, stored);
}

Converter portable_converter(mesh::Type memory, mesh::Type external, Stored stored) { return found<Means::any>(memory, external, stored); }

}  // namespace glean::store
