// SPDX-License-Identifier: BSD-3-Clause
//
// The rules one by one. tests/netcdf compares every pair of types with PnetCDF itself.
#include "store/convert.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace glean::store {

namespace {

using mesh::Type;

constexpr std::byte fill_value[8] = {std::byte{0xf1}, std::byte{0xf2}, std::byte{0xf3}, std::byte{0xf4},
                                     std::byte{0xf5}, std::byte{0xf6}, std::byte{0xf7}, std::byte{0xf8}};

struct Converted {
  std::string hex;
  OutOfRange out;
};

template <class T>
Converted convert(Type memory, Type external, const std::vector<T>& values, Stored stored = {}) {
  std::vector<std::byte> target(values.size() * mesh::size_of(external));
  Converted result;
  result.out = converter(memory, external, stored)(reinterpret_cast<const std::byte*>(values.data()), target.data(),
                                                   values.size(), fill_value);
  for (const std::byte b : target) {
    constexpr char digits[] = "0123456789abcdef";
    result.hex += digits[static_cast<int>(b) >> 4];
    result.hex += digits[static_cast<int>(b) & 15];
  }
  return result;
}

template <class T>
std::string hex(Type memory, Type external, T value, Stored stored = {}) {
  const Converted converted = convert(memory, external, std::vector<T>{value}, stored);
  return (converted.out.count == 1 ? "out of range " : "") + converted.hex;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Converter, WritesTheHighByteFirst) {
  EXPECT_EQ(hex<std::int16_t>(Type::int16, Type::int16, 0x0102), "0102");
  EXPECT_EQ(hex<std::uint32_t>(Type::uint32, Type::uint32, 0x01020304), "01020304");
  EXPECT_EQ(hex<std::int64_t>(Type::int64, Type::int64, 0x0102030405060708), "0102030405060708");
  EXPECT_EQ(hex<float>(Type::float32, Type::float32, 1.0F), "3f800000");
  EXPECT_EQ(hex<double>(Type::float64, Type::float64, -2.0), "c000000000000000");
}

TEST(Converter, WritesTheLowByteFirstWhereThatIsTheOrder) {
  const Stored little{ByteOrder::little};
  EXPECT_EQ(hex<std::int16_t>(Type::int16, Type::int16, 0x0102, little), "0201");
  EXPECT_EQ(hex<std::int32_t>(Type::int32, Type::float64, -3, little), "00000000000008c0");
  EXPECT_EQ(hex<float>(Type::float32, Type::float32, 1.0F, little), "0000803f");
  EXPECT_EQ(hex<std::int16_t>(Type::int16, Type::int8, 127, little), "7f");
  EXPECT_EQ(hex<std::int32_t>(Type::int32, Type::int16, 0x10000, little), "out of range f1f2");
}

TEST(Converter, KeepsEveryBitOfTheSameType) {
  EXPECT_EQ(hex<std::uint64_t>(Type::float64, Type::float64, 0x7ff0dead0000beef), "7ff0dead0000beef");
  EXPECT_EQ(hex<std::uint32_t>(Type::float32, Type::float32, 0xff800001), "ff800001");
}

TEST(Converter, WidensIntegersWithTheirSign) {
  EXPECT_EQ(hex<std::int8_t>(Type::int8, Type::int64, -2), "fffffffffffffffe");
  EXPECT_EQ(hex<std::uint8_t>(Type::uint8, Type::int16, 200), "00c8");
  EXPECT_EQ(hex<std::int32_t>(Type::int32, Type::float64, -3), "c008000000000000");
}

TEST(Converter, WritesTheFillValueForIntegersThatDoNotFit) {
  EXPECT_EQ(hex<std::int16_t>(Type::int16, Type::int8, 127), "7f");
  EXPECT_EQ(hex<std::int16_t>(Type::int16, Type::int8, 128), "out of range f1");
  EXPECT_EQ(hex<std::int16_t>(Type::int16, Type::int8, -129), "out of range f1");
  EXPECT_EQ(hex<std::int32_t>(Type::int32, Type::uint16, -1), "out of range f1f2");
  EXPECT_EQ(hex<std::int64_t>(Type::int64, Type::uint64, -1), "out of range f1f2f3f4f5f6f7f8");
  EXPECT_EQ(hex<std::uint64_t>(Type::uint64, Type::int64, std::uint64_t{1} << 63), "out of range f1f2f3f4f5f6f7f8");
}

TEST(Converter, StoresUnsignedBytesAsTheyAreInFormatsWithoutThem) {
  EXPECT_EQ(hex<std::uint8_t>(Type::uint8, Type::int8, 200), "out of range f1");
  EXPECT_EQ(hex<std::uint8_t>(Type::uint8, Type::int8, 200, {ByteOrder::big, true}), "c8");
}

TEST(Converter, CutsFractionsButComparesBeforeCutting) {
  EXPECT_EQ(hex<double>(Type::float64, Type::int8, -127.9), "81");
  EXPECT_EQ(hex<double>(Type::float64, Type::int8, 127.5), "out of range f1");
  EXPECT_EQ(hex<double>(Type::float64, Type::int8, -128.5), "out of range f1");
  EXPECT_EQ(hex<double>(Type::float64, Type::uint32, -0.5), "out of range f1f2f3f4");
  EXPECT_EQ(hex<double>(Type::float64, Type::uint32, 4294967295.0), "ffffffff");
  EXPECT_EQ(hex<float>(Type::float32, Type::int32, 2147483648.0F), "out of range f1f2f3f4");
}

TEST(Converter, LetsTheNextPowerOfTwoThroughAsTheProcessorConvertsIt) {
  EXPECT_EQ(hex<double>(Type::float64, Type::int64, 0x1p63), "8000000000000000");
  EXPECT_EQ(hex<double>(Type::float64, Type::uint64, 0x1p64), "0000000000000000");
  EXPECT_EQ(hex<double>(Type::float64, Type::uint64, 0x1p63), "8000000000000000");
  EXPECT_EQ(hex<double>(Type::float64, Type::int64, 0x1.8p63), "out of range f1f2f3f4f5f6f7f8");
}

TEST(Converter, CallsNanOutOfRangeOfIntegersOnly) {
  EXPECT_EQ(hex<double>(Type::float64, Type::float32, nan), "7fc00000");
  EXPECT_EQ(hex<float>(Type::float32, Type::float64, std::numeric_limits<float>::quiet_NaN()), "7ff8000000000000");
  EXPECT_EQ(hex<double>(Type::float64, Type::int16, nan), "out of range f1f2");
  EXPECT_EQ(hex<double>(Type::float64, Type::int32, -nan), "out of range f1f2f3f4");
  EXPECT_EQ(hex<float>(Type::float32, Type::uint32, std::numeric_limits<float>::quiet_NaN()), "out of range f1f2f3f4");
  EXPECT_EQ(hex<double>(Type::float64, Type::int64, nan), "out of range f1f2f3f4f5f6f7f8");
}

TEST(Converter, RefusesInfinityUnlessTheTypesAreTheSame) {
  EXPECT_EQ(hex<double>(Type::float64, Type::float64, infinity), "7ff0000000000000");
  EXPECT_EQ(hex<double>(Type::float64, Type::float32, -infinity), "out of range f1f2f3f4");
  EXPECT_EQ(hex<float>(Type::float32, Type::float64, std::numeric_limits<float>::infinity()),
            "out of range f1f2f3f4f5f6f7f8");
}

TEST(Converter, RefusesDoublesBeyondTheLargestFloatEvenIfTheyRoundToIt) {
  constexpr double largest_float = std::numeric_limits<float>::max();
  EXPECT_EQ(hex<double>(Type::float64, Type::float32, largest_float), "7f7fffff");
  EXPECT_EQ(hex<double>(Type::float64, Type::float32, std::nextafter(largest_float, infinity)),
            "out of range f1f2f3f4");
  EXPECT_EQ(hex<double>(Type::float64, Type::float32, 1e-60), "00000000");
}

TEST(Converter, KeepsTextApartFromNumbers) {
  EXPECT_EQ(convert(Type::text, Type::text, std::vector<char>{'a', '\0', 'z'}).hex, "61007a");
  for (int type = 0; type < mesh::type_count; ++type) {
    if (static_cast<Type>(type) == Type::text) continue;
    EXPECT_EQ(converter(Type::text, static_cast<Type>(type)), nullptr);
    EXPECT_EQ(converter(static_cast<Type>(type), Type::text), nullptr);
  }
}

TEST(Converter, CountsWhatDidNotFitAndNamesTheFirst) {
  std::vector<std::int32_t> values(10000, 5);
  EXPECT_EQ(convert(Type::int32, Type::int8, values).out.count, 0U);

  for (const std::size_t i : {7001, 7000, 9999}) values[i] = 1000;
  const OutOfRange out = convert(Type::int32, Type::int8, values).out;

  EXPECT_EQ(out.count, 3U);
  EXPECT_EQ(out.first, 7000U);
}

TEST(Converter, GivesTheSameInWholeInPartsUnalignedPastTheCacheAndWithoutTheProcessorsExtensions) {
  std::mt19937_64 random(5);
  constexpr std::size_t count = 5001;
  std::vector<std::byte> memory(count * 8 + 1);
  for (int pair = 0; pair < mesh::type_count * mesh::type_count; ++pair) {
    const auto from = static_cast<Type>(pair / mesh::type_count), to = static_cast<Type>(pair % mesh::type_count);
    const Converter convert_all = converter(from, to);
    if (convert_all == nullptr) continue;
    // Words of few significant bits are small integers, and others are all over the floating-point numbers.
    for (std::size_t i = 0; i + 8 <= memory.size(); i += 8) {
      const std::uint64_t word = random() >> (random() % 2 == 0 ? 0 : random() % 64);
      std::memcpy(memory.data() + i, &word, 8);
    }
    const std::byte* source = memory.data() + 1;
    const std::size_t source_size = mesh::size_of(from), target_size = mesh::size_of(to);
    std::vector<std::byte> whole(count * target_size), portable(whole.size()), parts(whole.size() + 1), streamed(whole.size() + 64);

    const OutOfRange out = convert_all(source, whole.data(), count, fill_value);
    const OutOfRange portable_out =
        portable_converter(from, to)(source, portable.data(), count, fill_value);
    // From any place of a line, also inside of an element.
    std::byte* const streamed_to = streamed.data() + random() % 64;
    const OutOfRange streamed_out = streaming_converter(from, to)(source, streamed_to, count, fill_value);
    std::size_t out_in_parts = 0;
    for (std::size_t begin = 0; begin < count;) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 40, count - begin);
      out_in_parts += convert_all(source + begin * source_size, parts.data() + 1 + begin * target_size, size,
                                  fill_value).count;
      begin += size;
    }

    const std::string what = std::string(mesh::name_of(from)) + " to " + std::string(mesh::name_of(to));
    EXPECT_EQ(whole, portable) << what;
    EXPECT_EQ(out.count, portable_out.count) << what;
    EXPECT_EQ(out.first, portable_out.first) << what;
    EXPECT_EQ(out.count, streamed_out.count) << what;
    EXPECT_EQ(out.first, streamed_out.first) << what;
    EXPECT_TRUE(std::equal(whole.begin(), whole.end(), streamed_to)) << what;
    EXPECT_EQ(out.count, out_in_parts) << what;
    EXPECT_TRUE(std::equal(whole.begin(), whole.end(), parts.begin() + 1)) << what;
  }
}

}  // namespace

}  // namespace glean::store
