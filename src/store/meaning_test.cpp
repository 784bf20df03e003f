// SPDX-License-Identifier: BSD-3-Clause
#include "store/meaning.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace glean::store {
namespace {

const VariableLayout fixed{.name = "fixed", .external = mesh::Type::float32, .shape = {4, 6}, .begin_bytes = 100};
const VariableLayout recorded{.name = "recorded", .external = mesh::Type::float64, .shape = {3, 5}, .begin_bytes = 256,
                              .record_stride_bytes = 500};

mesh::Pattern pattern_of(const VariableLayout& variable, const PutBox& put) {
  auto pattern = mesh::Pattern::from_box(variable.shape, put.box, mesh::size_of(variable.external),
                                         variable.record_begin_bytes(put.first_record));
  pattern.levels.insert(pattern.levels.begin(), {put.records, variable.per_step() ? variable.record_stride_bytes : 1});
  return pattern.canonical();
}

TEST(Meaning, FindsTheBoxThatBytesOfAVariableAre) {
  for (const PutBox& put : {PutBox{0, 1, {{0, 0}, {4, 6}}}, PutBox{0, 1, {{1, 2}, {3, 2}}}, PutBox{0, 1, {{3, 5}, {1, 1}}},
                            PutBox{0, 1, {{2, 0}, {2, 6}}}}) {
    EXPECT_EQ(box_of(fixed, pattern_of(fixed, put)), put);
  }
  for (const PutBox& put : {PutBox{0, 1, {{0, 0}, {3, 5}}}, PutBox{7, 1, {{1, 2}, {2, 3}}}, PutBox{2, 4, {{1, 1}, {1, 4}}}}) {
    EXPECT_EQ(box_of(recorded, pattern_of(recorded, put)), put);
  }
}

TEST(Meaning, FindsNoBoxWhereThereIsNone) {
  const mesh::Pattern every_other{.offset = 100, .block_bytes = 4, .levels = {{3, 8}}};
  EXPECT_FALSE(box_of(fixed, every_other));
  EXPECT_FALSE(box_of(fixed, {.offset = 96, .block_bytes = 8, .levels = {}}));            // begins before the variable
  EXPECT_FALSE(box_of(fixed, {.offset = 100 + 92, .block_bytes = 8, .levels = {}}));      // ends after it
  EXPECT_FALSE(box_of(fixed, {.offset = 100 + 4 * 5, .block_bytes = 8, .levels = {}}));   // from the end of a row to the next
  EXPECT_FALSE(box_of(fixed, {.offset = 102, .block_bytes = 4, .levels = {}}));           // not where an element begins
  EXPECT_FALSE(box_of(recorded, {.offset = 256 + 130, .block_bytes = 8, .levels = {}}));  // between two records
}

TEST(Meaning, IsTheSameAfterItWasBytes) {
  Meaning meaning;
  meaning.count = 3;
  meaning.definitions.dimensions = {{"x", 4, false}, {"y", 6, false}};
  meaning.definitions.variables = {{"fixed", mesh::Type::float32, {0, 1}, false, -1}};
  meaning.layout.variables = {fixed};
  const auto bytes = meaning.encode();
  const Meaning again = Meaning::decode(bytes);
  EXPECT_EQ(again.count, 3u);
  EXPECT_EQ(again.definitions, meaning.definitions);
  EXPECT_EQ(again.layout, meaning.layout);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(static_cast<void>(Meaning::decode({bytes.data(), length})), base::Error) << length;
  }
}

TEST(Meaning, NamesAVariableInAWord) {
  EXPECT_EQ((Meaning::Name{0, 5}).word(), 0u);
  EXPECT_FALSE(Meaning::Name::of(0));
  const auto name = Meaning::Name::of((Meaning::Name{3, 0}).word());
  ASSERT_TRUE(name);
  EXPECT_EQ(name->count, 3u);
  EXPECT_EQ(name->variable, 0u);
  EXPECT_EQ((Meaning::Name{1, Meaning::Name::variables}).word(), 0u);
  EXPECT_EQ((Meaning::Name{Meaning::Name::counts, 1}).word(), 0u);
}

}  // namespace
}  // namespace glean::store
