// SPDX-License-Identifier: BSD-3-Clause
#include "store/input/read_windows.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace glean::store {
namespace {

// What each rank gets of an array of the numbers 0, 1, 2, …, window by window.
std::vector<std::vector<std::uint32_t>> all_parts(const ReadWindows& windows, int aggregators, std::uint64_t elements) {
  std::vector<std::uint32_t> array(elements);
  std::iota(array.begin(), array.end(), 0U);
  std::vector<std::vector<std::uint32_t>> parts(static_cast<std::size_t>(windows.ranks()), std::vector<std::uint32_t>(elements, ~0U));
  for (std::uint64_t round = 0; round < windows.rounds(); ++round) {
    for (int aggregator = 0; aggregator < aggregators; ++aggregator) {
      const ReadWindows::Window window = windows.window(aggregator, round);
      for (int rank = 0; rank < windows.ranks(); ++rank) {
        if (window.empty()) continue;
        const auto bytes = windows.packed(rank, window, reinterpret_cast<const std::byte*>(array.data() + window.first));
        EXPECT_EQ(bytes.size(), 4 * windows.wanted(rank, window));
        const auto* next = reinterpret_cast<const std::uint32_t*>(bytes.data());
        windows.for_wanted(rank, window, [&](std::uint64_t, std::uint64_t in_box, std::uint64_t count) {
          for (std::uint64_t i = 0; i < count; ++i) parts[static_cast<std::size_t>(rank)][in_box + i] = *next++;
        });
      }
    }
  }
  return parts;
}

TEST(ReadWindows, GiveEveryRankItsBoxWhateverTheDecompositionIs) {
  std::mt19937 random(7);
  const auto below = [&](std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(0, most - 1)(random); };
  for (int repetition = 0; repetition < 300; ++repetition) {
    SCOPED_TRACE(repetition);
    const mesh::Shape shape{1 + below(4), 1 + below(9), 1 + below(12)};
    std::vector<mesh::Box> boxes(1 + below(6));
    for (mesh::Box& box : boxes) {
      for (const std::uint64_t extent : shape) {
        box.start.push_back(below(extent));
        box.count.push_back(below(extent - box.start.back() + 1));
      }
    }
    const int aggregators = 1 + static_cast<int>(below(4));
    const ReadWindows windows({shape, below(100), 4}, boxes, 4 + below(60), aggregators);

    const auto parts = all_parts(windows, aggregators, mesh::elements_of(shape));

    for (std::size_t rank = 0; rank < boxes.size(); ++rank) {
      if (boxes[rank].empty()) continue;
      const mesh::Rows rows(boxes[rank], shape);
      for (std::uint64_t i = 0; i < boxes[rank].elements(); ++i) {
        ASSERT_EQ(parts[rank][i], rows.position(i / rows.row_elements()) + i % rows.row_elements());
      }
    }
  }
}

TEST(ReadWindows, LieWhereWindowsOfTheFileDo) {
  const ReadWindows windows({{1000}, 50, 8}, {{{100}, {500}}}, 1024, 2);   // bytes 850 to 4850: windows 0 to 4

  EXPECT_EQ(windows.rounds(), 3U);
  EXPECT_EQ(windows.extent_of(windows.window(0, 0)), (base::Extent{850, 1026}));   // with an element that lies across
  EXPECT_EQ(windows.extent_of(windows.window(0, 1)), (base::Extent{1026, 2050}));
  EXPECT_TRUE(windows.window(0, 2).empty());
  EXPECT_EQ(windows.extent_of(windows.window(1, 2)), (base::Extent{4098, 4850}));
}

TEST(ReadWindows, AreNoneWhereNothingIsWanted) {
  EXPECT_EQ(ReadWindows({{10}, 0, 8}, {{{0}, {0}}, {{3}, {0}}}, 1024, 2).rounds(), 0U);
}

TEST(FetchedBytes, CountWhatLiesBetweenRowsThatAreCloseAndNothingTwice) {
  const ArrayPlace close{{4, 100}, 0, 8}, far{{4, 100000}, 0, 8};

  EXPECT_EQ(fetched_bytes(close, {{{0, 0}, {4, 50}}}), 3U * 800 + 400);
  EXPECT_EQ(fetched_bytes(close, {{{0, 0}, {4, 50}}, {{0, 50}, {4, 50}}}), 3200U);
  EXPECT_EQ(fetched_bytes(far, {{{0, 0}, {4, 50}}, {{0, 0}, {4, 50}}}), 1600U);
  EXPECT_EQ(fetched_bytes(far, {}), 0U);
}

}  // namespace
}  // namespace glean::store
