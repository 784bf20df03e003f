// SPDX-License-Identifier: BSD-3-Clause
#include "capture/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace glean::capture {
namespace {

// One element at a time.
void copy_one_by_one(const Source& source, std::uint64_t begin, std::uint64_t elements, std::byte* target) {
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint64_t rest = begin + i;
    std::ptrdiff_t offset = source.strides.empty() ? static_cast<std::ptrdiff_t>(rest) : 0;
    for (std::size_t d = source.count.size(); d-- > 0 && !source.strides.empty();) {
      offset += static_cast<std::ptrdiff_t>(rest % source.count[d]) * source.strides[d];
      rest /= source.count[d];
    }
    const auto size = static_cast<std::ptrdiff_t>(source.element_bytes);
    std::memcpy(target + static_cast<std::ptrdiff_t>(i) * size, source.first + offset * size, source.element_bytes);
  }
}

struct RandomArray {
  std::vector<std::uint64_t> count;
  std::vector<std::ptrdiff_t> strides;
  std::vector<std::byte> memory;
  std::ptrdiff_t first = 0;   // element

  RandomArray(std::mt19937& random, std::size_t element_bytes) {
    const std::size_t dimensions = random() % 5;
    std::ptrdiff_t stride = 1 + static_cast<std::ptrdiff_t>(random() % 3 / 2), low = 0, high = 0;
    count.resize(dimensions);
    strides.resize(dimensions);
    for (std::size_t d = dimensions; d-- > 0;) {
      count[d] = 1 + random() % 5;
      const std::ptrdiff_t ghosts = random() % 2 == 0 ? 0 : static_cast<std::ptrdiff_t>(random() % 3);
      strides[d] = count[d] == 1 && random() % 2 == 0 ? 77 : stride;   // says nothing when there is one
      if (random() % 5 == 0) strides[d] = -strides[d];
      (strides[d] < 0 ? low : high) += strides[d] * static_cast<std::ptrdiff_t>(count[d] - 1);
      stride *= static_cast<std::ptrdiff_t>(count[d]) + ghosts;
    }
    if (dimensions > 1 && random() % 4 == 0) std::swap(strides[0], strides[dimensions - 1]), low = -9000, high = 9000;
    first = -low;
    memory.resize(static_cast<std::size_t>(high - low + 1) * element_bytes);
    for (auto& byte : memory) byte = static_cast<std::byte>(random());
  }
};

TEST(CopyElements, AreThoseOfAnyStridedArrayWhereverTheCopyBeginsAndEnds) {
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    const std::size_t size = std::size_t{1} << random() % 4;
    const RandomArray array(random, size);
    const Source source{array.memory.data() + array.first * static_cast<std::ptrdiff_t>(size), size, array.count,
                        array.strides};
    const std::uint64_t total =
        std::accumulate(array.count.begin(), array.count.end(), std::uint64_t{1}, std::multiplies<>());
    const std::uint64_t begin = random() % total, elements = random() % (total - begin + 1);
    std::vector<std::byte> copied(elements * size), expected(elements * size);
    copy_one_by_one(source, begin, elements, expected.data());

    copy_elements(source, begin, elements, copied.data());

    ASSERT_EQ(copied, expected) << "round " << round;
  }
}

TEST(CopyElements, OfLargeContiguousArraysKeepEveryByteAtAnyAlignment) {
  std::mt19937 random(8);
  std::vector<std::byte> memory(1 << 20), target(1 << 20);
  for (auto& byte : memory) byte = static_cast<std::byte>(random());
  const std::vector<std::uint64_t> count{1 << 20};
  for (int round = 0; round < 50; ++round) {
    const std::size_t from = random() % 100, to = random() % 100, bytes = 60'000 + random() % 300'000;
    std::fill(target.begin(), target.end(), std::byte{0});

    copy_elements({memory.data(), 1, count, {}}, from, bytes, target.data() + to);

    ASSERT_EQ(std::memcmp(target.data() + to, memory.data() + from, bytes), 0);
    ASSERT_TRUE(to == 0 || target[to - 1] == std::byte{0});
    ASSERT_EQ(target[to + bytes], std::byte{0});
  }
}

TEST(CopyElements, OfAScalarIsOneElement) {
  const double value = 3.5;
  double copied = 0;

  copy_elements({reinterpret_cast<const std::byte*>(&value), 8, {}, {}}, 0, 1, reinterpret_cast<std::byte*>(&copied));

  EXPECT_EQ(copied, 3.5);
}

}  // namespace
}  // namespace glean::capture
