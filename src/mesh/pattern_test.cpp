// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/pattern.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "base/error.hpp"

namespace glean::mesh {
namespace {


// File offsets of all bytes of the stream, one at a time.
std::vector<Bytes> offsets_one_by_one(const Pattern& pattern) {
  std::vector<Bytes> offsets = {pattern.offset};
  for (const auto& level : pattern.levels) {
    std::vector<Bytes> more;
    for (const Bytes offset : offsets) {
      for (std::uint64_t i = 0; i < level.count; ++i) more.push_back(offset + i * level.stride);
    }
    offsets = more;
  }
  std::vector<Bytes> bytes;
  for (const Bytes offset : offsets) {
    for (Bytes b = 0; b < pattern.block_bytes; ++b) bytes.push_back(offset + b);
  }
  return bytes;
}

Pattern random_pattern(std::mt19937& random) {
  Pattern pattern{.offset = random() % 20, .block_bytes = 1 + random() % 5, .levels = {}};
  Bytes extent = pattern.block_bytes;
  for (std::size_t levels = random() % 4; levels > 0; --levels) {
    const Bytes stride = extent + (random() % 2) * (random() % 5);
    const std::uint64_t count = 1 + random() % 4;
    pattern.levels.insert(pattern.levels.begin(), {count, stride});
    extent += (count - 1) * stride;
  }
  return pattern;
}

TEST(Pattern, KnowsItsBytesAndEnd) {
  const Pattern pattern{.offset = 10, .block_bytes = 2, .levels = {{3, 20}, {2, 5}}};

  EXPECT_EQ(pattern.runs(), 6u);
  EXPECT_EQ(pattern.bytes(), 12u);
  EXPECT_EQ(pattern.end(), 10u + 40 + 5 + 2);
  EXPECT_EQ(pattern.file_offset(0), 10u);
  EXPECT_EQ(pattern.file_offset(7), 10u + 20 + 5 + 1);
}

TEST(Pattern, WithoutBytesHasNothing) {
  const Pattern pattern{.offset = 7, .block_bytes = 0, .levels = {}};

  EXPECT_TRUE(pattern.is_valid());
  EXPECT_EQ(pattern.bytes(), 0u);
  EXPECT_EQ(pattern.end(), 7u);
  EXPECT_EQ(pattern.bytes_before(100), 0u);
  EXPECT_EQ(pattern.next_byte(0), std::nullopt);
  EXPECT_EQ((Pattern{.offset = 7, .block_bytes = 4, .levels = {{3, 8}, {0, 4}}}).canonical(), pattern);
}

TEST(Pattern, IsValidOnlyIfAscendingAndDisjoint) {
  EXPECT_TRUE((Pattern{.offset = 0, .block_bytes = 4, .levels = {{2, 4}}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = 0, .block_bytes = 4, .levels = {{2, 3}}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = 0, .block_bytes = 4, .levels = {{2, 0}}}).is_valid());
  EXPECT_TRUE((Pattern{.offset = 0, .block_bytes = 4, .levels = {{2, 12}, {2, 8}}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = 0, .block_bytes = 4, .levels = {{2, 11}, {2, 8}}}).is_valid());
  EXPECT_TRUE((Pattern{.offset = 0, .block_bytes = 4, .levels = {{1, 0}, {2, 8}}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = 0, .block_bytes = 4, .levels = {{0, 8}}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = 0, .block_bytes = 0, .levels = {{2, 8}}}).is_valid());
}

TEST(Pattern, IsValidOnlyUpToTheLargestFileOffset) {
  const Bytes huge = std::numeric_limits<Bytes>::max();

  EXPECT_TRUE((Pattern{.offset = base::largest_offset - 4, .block_bytes = 4, .levels = {}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = base::largest_offset - 3, .block_bytes = 4, .levels = {}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = huge, .block_bytes = 1, .levels = {}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = 1, .block_bytes = huge, .levels = {}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = 7, .block_bytes = 8, .levels = {{Bytes{1} << 60, 8}}}).is_valid());
  EXPECT_TRUE((Pattern{.offset = 7, .block_bytes = 8, .levels = {{(Bytes{1} << 60) - 1, 8}}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = 0, .block_bytes = 1, .levels = {{3, Bytes{1} << 63}}}).is_valid());
  EXPECT_FALSE((Pattern{.offset = 0, .block_bytes = 1, .levels = {{huge, huge}, {huge, huge}}}).is_valid());
}

TEST(Pattern, IsCanonicalWithoutLevelsThatSayNothing) {
  const Pattern touching{.offset = 3, .block_bytes = 4, .levels = {{5, 60}, {1, 7}, {3, 4}}};
  const Pattern going_on{.offset = 0, .block_bytes = 4, .levels = {{2, 100}, {3, 24}, {3, 8}}};

  EXPECT_EQ(touching.canonical(), (Pattern{.offset = 3, .block_bytes = 12, .levels = {{5, 60}}}));
  EXPECT_EQ(going_on.canonical(), (Pattern{.offset = 0, .block_bytes = 4, .levels = {{2, 100}, {9, 8}}}));
}

TEST(Pattern, OfABoxIsItsRows) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    Box box;
    Shape shape;
    for (std::size_t d = random() % 5; d > 0; --d) {
      shape.push_back(1 + random() % 6);
      box.start.push_back(random() % shape.back());
      box.count.push_back(1 + random() % (shape.back() - box.start.back()));
    }
    const Rows rows(box, shape);

    const Pattern pattern = Pattern::from_box(shape, box, 4, 100);

    ASSERT_TRUE(pattern.is_valid());
    ASSERT_EQ(pattern.canonical(), pattern);
    ASSERT_EQ(pattern.bytes(), 4 * box.elements());
    for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
      ASSERT_EQ(pattern.file_offset(row * rows.row_elements() * 4), 100 + 4 * rows.position(row)) << to_string(box);
    }
  }
  EXPECT_EQ(Pattern::from_box(Shape{4, 4}, {{0, 0}, {0, 4}}, 4, 100).bytes(), 0u);
}

TEST(Pattern, AnswersAsItsBytesOneByOne) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    const Pattern pattern = random_pattern(random);
    const auto offsets = offsets_one_by_one(pattern);

    ASSERT_TRUE(pattern.is_valid());
    ASSERT_EQ(pattern.bytes(), offsets.size());
    ASSERT_EQ(pattern.end(), offsets.back() + 1);
    ASSERT_EQ(offsets_one_by_one(pattern.canonical()), offsets);
    for (Bytes at = 0; at < pattern.end() + 3; ++at) {
      const auto next = std::lower_bound(offsets.begin(), offsets.end(), at);
      ASSERT_EQ(pattern.bytes_before(at), static_cast<Bytes>(next - offsets.begin())) << round << " at " << at;
      ASSERT_EQ(pattern.next_byte(at), next == offsets.end() ? std::nullopt : std::optional(*next)) << round << " at " << at;
    }
  }
}

TEST(Pattern, VisitsWhatLiesInTheStreamsPartAndTheWindow) {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    const Pattern pattern = random_pattern(random);
    const auto offsets = offsets_one_by_one(pattern);
    const Bytes first = random() % offsets.size();
    const Bytes count = random() % (offsets.size() - first + 1);
    const Bytes begin = random() % (pattern.end() + 2);
    const Extent window{begin, begin + random() % (pattern.end() + 3)};
    std::vector<std::pair<Bytes, Bytes>> expected, visited;
    for (Bytes source = first; source < first + count; ++source) {
      if (offsets[source] >= window.begin && offsets[source] < window.end) expected.emplace_back(source, offsets[source]);
    }

    pattern.for_each_run(first, count, window, [&](const Pattern::Run& run) {
      EXPECT_GT(run.bytes, 0u);
      for (Bytes b = 0; b < run.bytes; ++b) visited.emplace_back(run.source + b, run.file_offset + b);
    });

    ASSERT_EQ(visited, expected) << round;
  }
}

TEST(Pattern, FindsTheFirstRunOfManyAtOnce) {
  const Pattern pattern{.offset = 5, .block_bytes = 8, .levels = {{Bytes{1} << 40, Bytes{1} << 20}, {1 << 10, 64}}};
  const Bytes at = 5 + (Bytes{1} << 59) + 64 * 3 + 1;
  std::vector<Pattern::Run> runs;

  pattern.for_each_run(0, pattern.bytes(), {at, at + 64}, [&](const Pattern::Run& run) { runs.push_back(run); });

  const Bytes source = (Bytes{1} << 39) * 8 * 1024 + 3 * 8;
  EXPECT_EQ(runs, (std::vector<Pattern::Run>{{source + 1, 7, at}, {source + 8, 1, at + 63}}));
}

TEST(Pattern, SurvivesEncoding) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    const Pattern pattern = random_pattern(random);

    const auto words = pattern.encode();

    EXPECT_EQ(words.size(), 2 + 2 * pattern.levels.size());
    EXPECT_EQ(Pattern::decode(words), pattern);
  }
}

TEST(Pattern, IsNotDecodedFromWordsThatAreNone) {
  EXPECT_EQ(Pattern::decode({}), std::nullopt);
  EXPECT_EQ(Pattern::decode(std::array<std::uint64_t, 1>{4}), std::nullopt);
  EXPECT_EQ(Pattern::decode(std::array<std::uint64_t, 3>{0, 4, 2}), std::nullopt);
  EXPECT_EQ(Pattern::decode(std::array<std::uint64_t, 4>{0, 4, 2, 3}), std::nullopt);
  EXPECT_NE(Pattern::decode(std::array<std::uint64_t, 4>{0, 4, 2, 4}), std::nullopt);
}

TEST(PatternPart, AnswersAsItsBytesOneByOne) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const Pattern pattern = random_pattern(random);
    auto offsets = offsets_one_by_one(pattern);
    const Bytes first = random() % offsets.size();
    const Bytes count = 1 + random() % (offsets.size() - first);
    offsets = {offsets.begin() + static_cast<std::ptrdiff_t>(first), offsets.begin() + static_cast<std::ptrdiff_t>(first + count)};

    const PatternPart part(pattern, first, count);

    ASSERT_EQ(part.file_bytes(), count);
    ASSERT_EQ(part.file_extent(), (Extent{offsets.front(), offsets.back() + 1}));
    for (Bytes at = 0; at < pattern.end() + 3; ++at) {
      const auto next = std::lower_bound(offsets.begin(), offsets.end(), at);
      ASSERT_EQ(part.bytes_before(at), static_cast<Bytes>(next - offsets.begin())) << round << " at " << at;
      ASSERT_EQ(part.next_byte(at), next == offsets.end() ? std::nullopt : std::optional(*next)) << round << " at " << at;
    }
    std::vector<Bytes> visited(count, 0);
    part.for_each_run({0, base::largest_offset}, [&](const Pattern::Run& run) {
      for (Bytes b = 0; b < run.bytes; ++b) visited[run.source + b] = run.file_offset + b;
    });
    ASSERT_EQ(visited, offsets);
  }
}

TEST(PatternPart, LiesInThePattern) {
  const Pattern pattern{.offset = 0, .block_bytes = 4, .levels = {{2, 8}}};

  EXPECT_NO_THROW(PatternPart(pattern, 0, 8));
  EXPECT_THROW(PatternPart(pattern, 0, 0), base::Error);
  EXPECT_THROW(PatternPart(pattern, 1, 8), base::Error);
  EXPECT_THROW(PatternPart(pattern, 9, std::numeric_limits<Bytes>::max()), base::Error);
  EXPECT_THROW(PatternPart({.offset = 0, .block_bytes = 4, .levels = {{2, 3}}}, 0, 4), base::Error);
}

}  // namespace
}  // namespace glean::mesh
