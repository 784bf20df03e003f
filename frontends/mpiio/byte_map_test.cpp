// SPDX-License-Identifier: BSD-3-Clause
#include "byte_map.hpp"

#include <gtest/gtest.h>

#include <random>

namespace glean::mpiio {
namespace {

using Offsets = std::vector<std::int64_t>;

// Where the bytes of the stream lie that for_each visits.
Offsets offsets_of(const ByteMap& map, Bytes first, Bytes count) {
  Offsets offsets;
  map.for_each(first, count, [&](const StridedBlocks& blocks) {
    EXPECT_EQ(blocks.first_byte, first + offsets.size());
    Offsets starts;
    for (std::uint64_t i = 0; i < blocks.outer.count; ++i) {
      starts.push_back(blocks.offset + static_cast<std::int64_t>(i) * blocks.outer.stride);
    }
    for (const Loop& loop : blocks.inner) {
      Offsets more;
      for (const auto start : starts) {
        for (std::uint64_t i = 0; i < loop.count; ++i) more.push_back(start + static_cast<std::int64_t>(i) * loop.stride);
      }
      starts = more;
    }
    for (const auto start : starts) {
      for (Bytes b = 0; b < blocks.block_bytes; ++b) offsets.push_back(start + static_cast<std::int64_t>(b));
    }
  });
  return offsets;
}

std::uint64_t visits_of(const ByteMap& map, Bytes first, Bytes count) {
  std::uint64_t visits = 0;
  map.for_each(first, count, [&](const StridedBlocks&) { ++visits; });
  return visits;
}

// A map and, made beside it one by one, its offsets.
struct Made {
  ByteMap map;
  Offsets offsets;
};

Made random_map(std::mt19937& random, int depth) {
  const auto between = [&](int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)); };
  if (depth == 0) {
    const Bytes bytes = random() % 6;
    Made made{ByteMap::block(bytes), {}};
    for (Bytes b = 0; b < bytes; ++b) made.offsets.push_back(static_cast<std::int64_t>(b));
    return made;
  }
  const Made inner = random_map(random, depth - 1);
  Made made;
  if (random() % 2 == 0) {
    const int count = between(0, 4);
    const std::int64_t stride = random() % 3 == 0 ? static_cast<std::int64_t>(inner.map.bytes()) : between(-20, 40);
    made.map = inner.map.repeated(static_cast<std::uint64_t>(count), stride);
    for (int i = 0; i < count; ++i) {
      for (const auto offset : inner.offsets) made.offsets.push_back(offset + i * stride);
    }
    return made;
  }
  std::vector<ByteMap> parts;
  std::int64_t at = between(-10, 10);
  const int step = between(0, 3) * 4;
  for (int count = between(0, 6); count > 0; --count) {
    const Made other = random() % 3 == 0 ? random_map(random, depth - 1) : inner;
    parts.push_back(other.map.shifted(at));
    for (const auto offset : other.offsets) made.offsets.push_back(offset + at);
    at += random() % 4 == 0 ? between(-10, 30) : step;
  }
  made.map = ByteMap::sequence(std::move(parts));
  return made;
}

bool ascends(const Offsets& offsets) {
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] <= offsets[i - 1]) return false;
  }
  return true;
}

TEST(ByteMap, IsItsBytesOneByOne) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const auto [map, offsets] = random_map(random, static_cast<int>(random() % 5));

    ASSERT_EQ(map.bytes(), offsets.size()) << round;
    ASSERT_EQ(offsets_of(map, 0, map.bytes()), offsets) << round;
    ASSERT_EQ(map.is_ascending(), ascends(offsets)) << round;
    ASSERT_EQ(map.visits(0, map.bytes()), visits_of(map, 0, map.bytes())) << round;
    if (offsets.empty()) continue;
    ASSERT_EQ(map.begin(), *std::min_element(offsets.begin(), offsets.end())) << round;
    ASSERT_EQ(map.end(), *std::max_element(offsets.begin(), offsets.end()) + 1) << round;
    for (int part = 0; part < 5; ++part) {
      const Bytes first = random() % offsets.size();
      const Bytes count = random() % (offsets.size() - first + 1);
      const auto from = offsets.begin() + static_cast<std::ptrdiff_t>(first);
      ASSERT_EQ(offsets_of(map, first, count), Offsets(from, from + static_cast<std::ptrdiff_t>(count))) << round;
      ASSERT_EQ(map.visits(first, count), visits_of(map, first, count)) << round;
      ASSERT_EQ(map.offset_of(first), offsets[first]) << round;
    }
  }
}

TEST(ByteMap, OfAListAtAFixedDistanceIsALoop) {
  std::vector<ByteMap> parts;
  for (int plane = 0; plane < 100; ++plane) {
    for (int row = 0; row < 50; ++row) parts.push_back(ByteMap::block(8).shifted(plane * 10000 + row * 64));
  }

  const ByteMap map = ByteMap::sequence(std::move(parts));

  EXPECT_EQ(map.bytes(), 100u * 50 * 8);
  EXPECT_EQ(map.visits(0, map.bytes()), 1u);
}

TEST(ByteMap, OfAListThatTouchesIsABlock) {
  const ByteMap pair = ByteMap::sequence({ByteMap::block(4), ByteMap::block(8).shifted(8)});

  const ByteMap map = ByteMap::sequence({pair, ByteMap::block(4).shifted(16), ByteMap::block(4).shifted(20)});

  EXPECT_EQ(map.blocks(), 2u);
  EXPECT_TRUE(ByteMap::sequence({ByteMap::block(4), ByteMap::block(4).shifted(4)}).is_contiguous());
}

TEST(ByteMap, OfARepetitionTakesNoMoreRoomThanWhatIsRepeated) {
  const ByteMap pair = ByteMap::sequence({ByteMap::block(4), ByteMap::block(8).shifted(8)});

  const ByteMap map = pair.repeated(std::uint64_t{1} << 40, 24);

  EXPECT_EQ(map.bytes(), Bytes{12} << 40);
  EXPECT_EQ(map.visits(6, 12), 3u);
  EXPECT_EQ(map.offset_of((Bytes{12} << 39) + 5), (std::int64_t{24} << 39) + 9);
}

}  // namespace
}  // namespace glean::mpiio
