// SPDX-License-Identifier: BSD-3-Clause
#include "store/windows/piece.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "store/random_variable.hpp"

namespace glean::store {
namespace {

struct Case {
  VariableLayout variable;
  std::uint64_t record = 0;
  mesh::Box box;
  std::uint64_t first = 0, elements = 0;
  std::vector<Bytes> file_offsets;   // of each element

  explicit Case(std::mt19937& random) {
    const mesh::Type types[] = {mesh::Type::int8, mesh::Type::int16, mesh::Type::float32, mesh::Type::float64};
    variable = random_variable(random, types[random() % 4]);
    record = variable.per_step() ? random() % 3 : 0;
    box = random_box(random, variable.shape);
    first = random() % box.elements();
    elements = 1 + random() % (box.elements() - first);
    const auto all = positions(box, variable.shape);
    for (std::uint64_t i = first; i < first + elements; ++i) {
      file_offsets.push_back(variable.record_begin_bytes(record) + all[i] * mesh::size_of(variable.external));
    }
  }
  [[nodiscard]] std::size_t size() const { return mesh::size_of(variable.external); }
  [[nodiscard]] Piece piece() const { return {variable, record, box, first, elements}; }
};

TEST(Piece, CountsTheBytesBeforeAnyFileOffset) {
  std::mt19937 random(1);
  for (int round = 0; round < 1500; ++round) {
    const Case c(random);
    const Piece piece = c.piece();
    ASSERT_EQ(piece.file_extent(), (Extent{c.file_offsets.front(), c.file_offsets.back() + c.size()}));
    ASSERT_EQ(piece.file_bytes(), c.elements * c.size());

    for (Bytes at = 0; at <= piece.file_extent().end + 9; ++at) {
      Bytes before = 0;
      for (const Bytes offset : c.file_offsets) before += offset >= at ? 0 : std::min<Bytes>(c.size(), at - offset);
      ASSERT_EQ(piece.bytes_before(at), before) << "round " << round << " at " << at;
    }
  }
}

TEST(Piece, FindsTheNextByteFromAnyFileOffset) {
  std::mt19937 random(2);
  for (int round = 0; round < 1500; ++round) {
    const Case c(random);
    const Piece piece = c.piece();

    for (Bytes at = 0; at <= piece.file_extent().end + 9; ++at) {
      std::optional<Bytes> next;
      for (const Bytes offset : c.file_offsets) {
        if (!next && offset + c.size() > at) next = std::max(offset, at);
      }
      ASSERT_EQ(piece.next_byte(at), next) << "round " << round << " at " << at;
    }
  }
}

TEST(Piece, VisitsEveryElementOfWhichAByteLiesInAWindowOnce) {
  std::mt19937 random(3);
  for (int round = 0; round < 4000; ++round) {
    const Case c(random);
    const Piece piece = c.piece();
    const Bytes begin = random() % (piece.file_extent().end + 5);   // cuts elements
    const Extent window{begin, begin + 1 + random() % 100};
    std::vector<std::pair<std::uint64_t, Bytes>> expected, visited;
    for (std::uint64_t i = 0; i < c.elements; ++i) {
      const Bytes offset = c.file_offsets[i];
      if (offset < window.end && offset + c.size() > window.begin) expected.emplace_back(i, offset);
    }

    piece.for_each_run(window, [&](Piece::Run run) {
      for (std::uint64_t i = 0; i < run.elements; ++i) {
        visited.emplace_back(run.source + i, run.file_offset + i * c.size());
      }
    });

    ASSERT_EQ(visited, expected) << "round " << round;
  }
}

TEST(Piece, LiesNearTheEndOfTheLargestFile) {
  VariableLayout variable;
  variable.external = mesh::Type::int8;
  variable.shape = {1ull << 31, 1ull << 31};
  variable.begin_bytes = (1ull << 62) + (1ull << 61);
  const Piece piece(variable, 0, {{(1ull << 31) - 1, (1ull << 31) - 7}, {1, 7}}, 2, 5);

  EXPECT_EQ(piece.file_extent(), (Extent{variable.begin_bytes + (1ull << 62) - 5, variable.begin_bytes + (1ull << 62)}));
}

TEST(Piece, RefusesWhatDoesNotLieInTheVariableOrInAFile) {
  VariableLayout variable;
  variable.name = "dens";
  variable.shape = {4, 4};
  variable.record_stride_bytes = 1 << 20;
  const auto refused = [&](std::uint64_t record, const mesh::Box& box, std::uint64_t first, std::uint64_t elements) {
    try {
      const Piece piece(variable, record, box, first, elements);
    } catch (const base::Error& error) {
      return error.code() == base::Errc::invalid_argument && std::string(error.what()).find("dens") != std::string::npos;
    }
    return false;
  };

  EXPECT_FALSE(refused(0, {{1, 1}, {3, 3}}, 0, 9));
  EXPECT_TRUE(refused(0, {{1, 1}, {4, 3}}, 0, 9));
  EXPECT_TRUE(refused(0, {{1}, {3}}, 0, 1));
  EXPECT_TRUE(refused(0, {{1, 1}, {3, 0}}, 0, 0));
  EXPECT_TRUE(refused(0, {{1, 1}, {3, 3}}, 0, 10));
  EXPECT_TRUE(refused(0, {{1, 1}, {3, 3}}, ~0ull, 2));
  EXPECT_TRUE(refused(0, {{1, 1}, {3, 3}}, 1, ~0ull));
  EXPECT_TRUE(refused(0, {{~0ull, 1}, {2, 3}}, 0, 1));
  EXPECT_FALSE(refused((1ull << 43) - 2, {{1, 1}, {3, 3}}, 0, 9));
  EXPECT_TRUE(refused(1ull << 43, {{1, 1}, {3, 3}}, 0, 9));
  EXPECT_TRUE(refused(~0ull, {{1, 1}, {3, 3}}, 0, 9));
}

}  // namespace
}  // namespace glean::store
