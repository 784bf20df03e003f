// SPDX-License-Identifier: BSD-3-Clause
//
// What needs no library. That files are as the library reads them is tested beside what makes the metadata, in store/hdf5.
#include "store/format/hdf5/hdf5.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>

#include "base/error.hpp"
#include "store/format/hdf5/note.hpp"

namespace glean::store {
namespace {

// One record variable, its note, and nothing else.
FileImage image_of_one() {
  FileImage image;
  image.layout.format = hdf5_name;
  image.layout.header_bytes = 65536;
  image.layout.variables = {
      {.name = "v", .external = mesh::Type::float64, .shape = {4, 8}, .begin_bytes = 65536, .record_stride_bytes = 256}};
  Hdf5Note note;
  note.end_offset = 40;
  note.first_end = 65536;
  note.variables = {{.length_offset = 800, .index_offset = 900, .nodes_begin = 4096, .chunk = {4, 8}}};
  const auto bytes = note.encode();
  image.metadata = {{0, std::vector<std::byte>(1000)}, {65536 - bytes.size(), bytes}};
  return image;
}

TEST(Hdf5, HasGroupsInNames) {
  const auto format = make_hdf5_format();
  for (const char* name : {"v", "a/b/c", "a b", "ä.b", "..."}) EXPECT_EQ(format->flaw_of_name(name), "") << name;
  for (const char* name : {"", "/a", "a/", "a//b", "./a", "a/.."}) EXPECT_NE(format->flaw_of_name(name), "") << name;
  EXPECT_NE(format->flaw_of_name(std::string_view("a\0b", 3)), "");
}

TEST(Hdf5, IndexOfManyRecordsLiesBehindTheDataOnceAllAreThere) {
  const auto format = make_hdf5_format();
  const FileImage image = image_of_one();
  const auto is_behind = [&](const Finished& finished, std::uint64_t records) {
    return std::any_of(finished.patches.begin(), finished.patches.end(),
                       [&](const Patch& patch) { return patch.offset >= 65536 + records * 256; });
  };
  EXPECT_FALSE(is_behind(format->finish(image, {256, 0}), 256));
  EXPECT_EQ(format->finish(image, {256, 0}).size, 65536U + 256 * 256);
  EXPECT_TRUE(is_behind(format->finish(image, {257, 0}), 257));
  EXPECT_GT(format->finish(image, {257, 0}).size, 65536U + 257 * 256);
  for (const Patch& patch : format->finish(image, {257, 65536 + 256 * 256, true}).patches) EXPECT_LE(patch.extent().end, 65536U);
}

TEST(Hdf5, BytesDoNotDependOnHowOftenAFileWasMadeDurable) {
  const auto format = make_hdf5_format();
  const FileImage image = image_of_one();
  const auto header_after = [&](std::initializer_list<Written> calls) {
    std::vector<std::byte> header(image.layout.header_bytes);
    for (const Written& written : calls) {
      for (const Patch& patch : format->finish(image, written).patches) {
        if (patch.offset >= header.size()) continue;
        std::copy(patch.bytes.begin(), patch.bytes.end(), header.begin() + static_cast<std::ptrdiff_t>(patch.offset));
      }
    }
    return header;
  };
  for (const std::uint64_t records : {1, 70, 300}) {
    EXPECT_EQ(header_after({{5, 0, true}, {90, 0, true}, {records, 0}}), header_after({{records, 0}})) << records;
  }
}

TEST(Hdf5, TakesNothingForANoteThatDoesNotFitTheLayout) {
  const auto format = make_hdf5_format();
  const auto fails = [&](const FileImage& image) {
    try {
      static_cast<void>(format->finish(image, {3, 0}));
      return false;
    } catch (const base::Error&) {
      return true;
    }
  };
  EXPECT_FALSE(fails(image_of_one()));
  FileImage image = image_of_one();
  image.metadata.pop_back();
  EXPECT_TRUE(fails(image));
  image = image_of_one();
  image.layout.variables[0].shape = {4};
  EXPECT_TRUE(fails(image));
  image = image_of_one();
  image.layout.variables[0].record_stride_bytes = 255;
  EXPECT_TRUE(fails(image));
  image = image_of_one();
  image.layout.variables.push_back(image.layout.variables[0]);
  EXPECT_TRUE(fails(image));
  for (const std::size_t byte : {24, 32, 40, 48, 56}) {   // of the count of variables, places and lengths
    image = image_of_one();
    image.metadata[1].bytes[byte + 7] = std::byte{0x7f};
    EXPECT_TRUE(fails(image)) << byte;
  }
}

TEST(Hdf5, DamagedNotesAreRefusedOrLeadToPatchesWithinTheFile) {
  const auto format = make_hdf5_format();
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    FileImage image = image_of_one();
    std::vector<std::byte>& note = image.metadata[1].bytes;
    for (auto changes = 1 + random() % 3; changes > 0; --changes) note[random() % note.size()] = static_cast<std::byte>(random());
    try {
      const Finished finished = format->finish(image, {300, 0});
      for (const Patch& patch : finished.patches) EXPECT_LE(patch.extent().end, finished.size);
    } catch (const base::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3000);
}

TEST(Hdf5, IsNotMadeLargerThanAnyFileOrMemory) {
  const auto format = make_hdf5_format();
  EXPECT_EQ(format->finish(image_of_one(), {~std::uint64_t{0}, 0}).size, ~std::uint64_t{0} / 2);
  EXPECT_THROW(static_cast<void>(format->finish(image_of_one(), {std::uint64_t{1} << 40, 0})), base::Error);
}

TEST(Hdf5, CutsRecordsSoThatElementsStayInOrder) {
  using mesh::Shape;
  EXPECT_EQ(hdf5_chunk_of({}, 8, 100), Shape{});
  EXPECT_EQ(hdf5_chunk_of({3, 4}, 8, 100), (Shape{3, 4}));
  EXPECT_EQ(hdf5_chunk_of({25}, 8, 100), (Shape{9}));         // 3 chunks, the last with room behind
  EXPECT_EQ(hdf5_chunk_of({1, 25}, 8, 100), (Shape{1, 9}));
  EXPECT_EQ(hdf5_chunk_of({2, 25}, 8, 100), (Shape{1, 5}));   // no room within a record
  EXPECT_EQ(hdf5_chunk_of({2, 7, 3}, 8, 100), (Shape{1, 1, 3}));
  EXPECT_EQ(hdf5_chunk_of({7, 3}, 8, 100), (Shape{4, 3}));
}

}  // namespace
}  // namespace glean::store
