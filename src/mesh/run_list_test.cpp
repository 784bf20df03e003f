// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/run_list.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/error.hpp"

namespace glean::mesh {
namespace {

constexpr Bytes past_all = std::numeric_limits<std::int64_t>::max();

// Some runs, and where each byte of their stream lies.
struct RandomRuns {
  explicit RandomRuns(std::mt19937& random) {
    Bytes at = random() % 50;
    for (std::size_t runs = 1 + random() % 20; runs > 0; --runs) {
      const Bytes bytes = 1 + random() % 4;
      EXPECT_TRUE(builder.add(at, bytes));
      for (Bytes i = 0; i < bytes; ++i) offsets.push_back(at + i);
      at += bytes + random() % 5;
    }
  }
  RunListBuilder builder{base::KiB};
  std::vector<Bytes> offsets;
  [[nodiscard]] RunList list() const { return {builder.begin(), builder.bytes(), builder.runs()}; }
};

TEST(RunList, HasEachByteInItsPlace) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const RandomRuns some(random);
    const RunList list = some.list();
    const Extent window{random() % 60, 20 + random() % 120};

    std::vector<Bytes> found(some.offsets.size(), past_all);
    list.for_each_run(window, [&](const Pattern::Run& run) {
      for (Bytes i = 0; i < run.bytes; ++i) found.at(run.source + i) = run.file_offset + i;
    });

    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool is_inside = some.offsets[i] >= window.begin && some.offsets[i] < window.end;
      ASSERT_EQ(found[i], is_inside ? some.offsets[i] : past_all) << "round " << round;
    }
  }
}

TEST(RunList, CountsWhatIsBeforeAnOffsetAndFindsWhatIsNext) {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    const RandomRuns some(random);
    const RunList list = some.list();
    const auto& offsets = some.offsets;
    EXPECT_EQ(list.file_bytes(), offsets.size());
    EXPECT_EQ(list.file_extent(), (Extent{offsets.front(), offsets.back() + 1}));

    for (Bytes at = 0; at < offsets.back() + 5; ++at) {
      const auto next = std::lower_bound(offsets.begin(), offsets.end(), at);
      ASSERT_EQ(list.bytes_before(at), static_cast<Bytes>(next - offsets.begin()));
      ASSERT_EQ(list.next_byte(at), next == offsets.end() ? std::nullopt : std::optional(*next));
    }
  }
}

TEST(RunListBuilder, JoinsRunsThatTouch) {
  RunListBuilder builder(base::KiB);

  EXPECT_TRUE(builder.add(100, 8) && builder.add(108, 8) && builder.add(120, 1));

  EXPECT_EQ(builder.runs().size(), 2u);
  EXPECT_EQ(builder.bytes(), 17u);
}

TEST(RunListBuilder, TakesOnlyWhatAscendsIsNearAndFits) {
  RunListBuilder builder(64);
  ASSERT_TRUE(builder.add(100, 8));

  EXPECT_FALSE(builder.add(107, 8));
  EXPECT_FALSE(builder.add(100 + (Bytes{1} << 32), 1));
  EXPECT_TRUE(builder.add(200, 24));
  EXPECT_FALSE(builder.add(300, 16)) << "48 bytes and 24 of a table";
  EXPECT_TRUE(builder.add(300, 8));
}

TEST(RunListBuilder, RefusesTheVeryEndOfFiles) { EXPECT_FALSE(RunListBuilder(base::KiB).add(past_all - 10, 8)); }

struct Payload {
  explicit Payload(const RandomRuns& some)
      : recorded{some.builder.begin(), some.builder.runs().size(), some.builder.end() - some.builder.begin()},
        bytes(recorded.payload_bytes(some.builder.bytes())) {
    std::memcpy(bytes.data() + RecordedRunList::table_offset(some.builder.bytes()), some.builder.runs().data(),
                some.builder.runs().size_bytes());
  }
  RecordedRunList recorded;
  std::vector<std::byte> bytes;
};

TEST(RecordedRunList, IsReadAsItWasWritten) {
  std::mt19937 random(3);
  const RandomRuns some(random);
  const Payload payload(some);

  const auto decoded = RecordedRunList::decode(payload.recorded.encode());

  ASSERT_TRUE(decoded);
  const RunList list = decoded->in(payload.bytes, some.offsets.size());
  EXPECT_TRUE(std::ranges::equal(list.runs(), some.builder.runs()));
}

TEST(RecordedRunList, IsNoPattern) {
  const RecordedRunList list{10, 2, 30};

  EXPECT_FALSE(Pattern::decode(list.encode()));
  EXPECT_FALSE(RecordedRunList::decode(Pattern{.offset = 1, .block_bytes = 8, .levels = {{2, 20}}}.encode()));
}

TEST(RecordedRunList, RefusesWhatIsDamaged) {
  std::mt19937 random(4);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const RandomRuns some(random);
    Payload payload(some);
    payload.bytes[payload.bytes.size() - 1 - random() % some.builder.runs().size_bytes()] ^= static_cast<std::byte>(1 + random() % 255);
    try {
      // What passes is in order, so that the drain stays inside of the payload and of the window.
      const RunList list = payload.recorded.in(payload.bytes, some.offsets.size());
      Bytes stream = 0, file = 0;
      list.for_each_run(list.file_extent(), [&](const Pattern::Run& run) {
        ASSERT_EQ(run.source, stream);
        ASSERT_GE(run.file_offset, file);
        stream += run.bytes, file = run.file_offset + run.bytes;
      });
      ASSERT_EQ(stream, some.offsets.size());
    } catch (const base::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
  const RandomRuns some(random);
  const Payload payload(some);
  const auto cut = std::span(payload.bytes).first(payload.bytes.size() - 1);
  EXPECT_THROW(static_cast<void>(payload.recorded.in(cut, some.offsets.size())), base::Error);
}

}  // namespace
}  // namespace glean::mesh
