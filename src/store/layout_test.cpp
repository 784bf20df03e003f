// SPDX-License-Identifier: BSD-3-Clause
#include "store/layout.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/error.hpp"

namespace glean::store {

namespace {

FileLayout example_layout() {
  FileLayout layout;
  layout.format = "some format";
  layout.header_bytes = 300;
  layout.range = base::RangeRule::fill;
  layout.variables = {
      {.name = "dens", .external = mesh::Type::float64, .shape = {4, 16, 16}, .begin_bytes = 512},
      {.name = "species", .external = mesh::Type::int16, .shape = {3}, .begin_bytes = 8704, .record_stride_bytes = 12,
       .fill = true, .fill_value = {std::byte{0x80}, std::byte{0x01}}},
      {.name = "time", .external = mesh::Type::float32, .shape = {}, .begin_bytes = 8712, .record_stride_bytes = 12,
       .stored = {ByteOrder::little, true}}};
  layout.attributes = {{.name = "state", .external = mesh::Type::text, .shape = {9}, .begin_bytes = 100}};
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

TEST(FileLayout, HasAttributesBehindItsVariables) {
  const FileLayout layout = example_layout();
  EXPECT_EQ(layout.targets(), 4U);
  EXPECT_EQ(layout.target(2).name, "time");
  EXPECT_EQ(layout.target(3).name, "state");
  EXPECT_FALSE(layout.is_attribute(2));
  EXPECT_TRUE(layout.is_attribute(3));
  EXPECT_EQ(whole_size(layout, 0), example_layout().variables[0].begin_bytes + 8 * 4 * 16 * 16);
}

TEST(FileLayout, RejectsAttributesThatAreNotInTheHeader) {
  const std::vector<std::function<void(VariableLayout&)>> changes = {
      [](VariableLayout& attribute) { attribute.begin_bytes = 292; },   // and 9 bytes
      [](VariableLayout& attribute) { attribute.record_stride_bytes = 8; },
      [](VariableLayout& attribute) { attribute.fill = true; }};
  for (const auto& change : changes) {
    FileLayout layout = example_layout();
    change(layout.attributes.front());
    EXPECT_TRUE(is_rejected(layout.encode()));
  }
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
    else (void)whole_size(FileLayout::decode(bytes), 1);   // of any variables, or of none
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

TEST(WholeSize, IsTheEndOfTheLastElementWithoutPadding) {
  FileLayout layout = example_layout();

  EXPECT_EQ(whole_size(layout, 0), 8704U);
  EXPECT_EQ(whole_size(layout, 2), 8712U + 12 + 4);
  layout.variables.clear();
  EXPECT_EQ(whole_size(layout, 2), 300U);
}

TEST(FileLayout, AHeaderLargerThanAnyFileIsRefused) {
  FileLayout layout = example_layout();
  layout.header_bytes = Bytes{1} << 63;

  EXPECT_THROW(static_cast<void>(FileLayout::decode(layout.encode())), base::Error);
}

}  // namespace

}  // namespace glean::store
