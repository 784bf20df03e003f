// SPDX-License-Identifier: BSD-3-Clause
#include "store/layout.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"

namespace glean::store {

namespace {

FileLayout example_layout() {
  FileLayout layout;
  layout.format = Format::cdf2;
  layout.header_bytes = 300;
  layout.range = base::RangeRule::fill;
  layout.variables = {
      {.name = "dens", .external = mesh::Type::float64, .shape = {4, 16, 16}, .begin_bytes = 512},
      {.name = "species", .external = mesh::Type::int16, .shape = {3}, .begin_bytes = 8704, .record_stride_bytes = 12,
       .fill = true, .fill_value = {std::byte{0x80}, std::byte{0x01}}},
      {.name = "time", .external = mesh::Type::float32, .shape = {}, .begin_bytes = 8712, .record_stride_bytes = 12}};
  return layout;
}

// Throws what decode throws; every other ending is the test's failure.
bool is_rejected(std::span<const std::byte> bytes) {
  try {
    (void)FileLayout::decode(bytes);
    return false;
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::io);
    return true;
  }
}

TEST(FileLayout, IsTheSameAfterEncodingAndDecoding) {
  EXPECT_EQ(FileLayout::decode(example_layout().encode()), example_layout());
  EXPECT_EQ(FileLayout::decode(FileLayout{}.encode()), FileLayout{});
}

TEST(FileLayout, RejectsEveryTruncationAndAnythingAppended) {
  std::vector<std::byte> bytes = example_layout().encode();
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_TRUE(is_rejected(std::span(bytes).first(size)));
  bytes.push_back(std::byte{0});
  EXPECT_TRUE(is_rejected(bytes));
}

TEST(FileLayout, RejectsAnotherMagicAndAnotherVersion) {
  for (std::size_t i = 0; i < 8; ++i) {
    std::vector<std::byte> bytes = example_layout().encode();
    bytes[i] ^= std::byte{0x40};
    EXPECT_TRUE(is_rejected(bytes)) << "byte " << i;
  }
}

TEST(FileLayout, DecodesOrRejectsWhateverTheBytesAre) {
  std::mt19937 random(11);
  const std::vector<std::byte> good = example_layout().encode();
  int rejected = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = good;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) bytes[8 + random() % (bytes.size() - 8)] = static_cast<std::byte>(random());
    if (is_rejected(bytes)) ++rejected;
    else (void)FileLayout::decode(bytes).variables.at(0).record_bytes();
  }
  EXPECT_GT(rejected, 0);
  EXPECT_LT(rejected, 20000);
}

TEST(FileLayout, RejectsSizesThatOverflow) {
  FileLayout layout = example_layout();
  layout.variables[0].shape = {std::uint64_t{1} << 40, std::uint64_t{1} << 40};
  EXPECT_TRUE(is_rejected(layout.encode()));
  layout = example_layout();
  layout.variables[0].begin_bytes = ~std::uint64_t{0} - 5;
  EXPECT_TRUE(is_rejected(layout.encode()));
  layout = example_layout();
  layout.variables[1].record_stride_bytes = ~std::uint64_t{0};
  EXPECT_TRUE(is_rejected(layout.encode()));
}

TEST(VariableLayout, FindsTheRecords) {
  const FileLayout layout = example_layout();

  EXPECT_FALSE(layout.variables[0].per_step());
  EXPECT_EQ(layout.variables[0].record_begin_bytes(7), 512U);
  EXPECT_EQ(layout.variables[0].record_bytes(), 8192U);
  EXPECT_EQ(layout.variables[1].record_begin_bytes(7), 8704U + 7 * 12);
  EXPECT_EQ(layout.variables[1].record_bytes(), 6U);
  EXPECT_EQ(layout.variables[2].record_bytes(), 4U);
}

TEST(FinalSize, IsTheEndOfTheLastPutIfNothingIsFilled) {
  FileLayout layout = example_layout();
  layout.variables[1].fill = false;

  EXPECT_EQ(final_size(layout, 0, 0), 300U);
  EXPECT_EQ(final_size(layout, 5, 600), 600U);
}

TEST(FinalSize, IncludesWhatIsFilledButNoPaddingAfterIt) {
  FileLayout layout = example_layout();

  EXPECT_EQ(final_size(layout, 0, 600), 600U);
  EXPECT_EQ(final_size(layout, 2, 600), 8704U + 12 + 6);
  EXPECT_EQ(final_size(layout, 2, 9000), 9000U);
  layout.variables[0].fill = true;
  EXPECT_EQ(final_size(layout, 0, 0), 8704U);
}

TEST(FinalSize, DoesNotPassTheLargestFile) {
  FileLayout layout = example_layout();
  for (VariableLayout& variable : layout.variables) variable.fill = true;
  constexpr Bytes largest = ~Bytes{0} / 2;

  EXPECT_EQ(final_size(layout, largest, 0), largest);
  EXPECT_EQ(whole_size(layout, ~std::uint64_t{0}), largest);
}

TEST(FileLayout, AHeaderLargerThanAnyFileIsRefused) {
  FileLayout layout = example_layout();
  layout.header_bytes = Bytes{1} << 63;

  EXPECT_THROW(static_cast<void>(FileLayout::decode(layout.encode())), base::Error);
}

TEST(RecordCountPatch, IsBigEndianAndAsWideAsTheFormat) {
  const HeaderPatch narrow = record_count_patch(Format::cdf2, 0x010203);
  EXPECT_EQ(narrow.offset, 4U);
  EXPECT_EQ(narrow.size, 4U);
  EXPECT_EQ(narrow.bytes, (std::array<std::byte, 8>{std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3}}));

  const HeaderPatch wide = record_count_patch(Format::cdf5, 0x0102030405);
  EXPECT_EQ(wide.size, 8U);
  EXPECT_EQ(wide.bytes, (std::array<std::byte, 8>{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1},
                                                  std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}}));
}

}  // namespace

}  // namespace glean::store
