// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/task_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "store/container/test_containers.hpp"

namespace glean::store {
namespace {

std::vector<TaskWish> tasks(std::size_t count, Bytes chunk_bytes, std::size_t per_node = 1'000'000) {
  std::vector<TaskWish> all;
  for (std::size_t rank = 0; rank < count; ++rank) all.push_back({chunk_bytes, static_cast<std::uint32_t>(rank / per_node)});
  return all;
}

TEST(TaskLayout, ChunksAreAlignedToBlocks) {
  const auto headers = lay_out_container({.block_bytes = 4096}, tasks(3, 4096), "a", 7);
  ASSERT_EQ(headers.size(), 1U);
  for (const TaskChunks& chunks : headers[0].chunks()) {
    EXPECT_EQ(chunks.begin % 4096, 0U);
    EXPECT_EQ(chunks.chunk_bytes, 8192U);   // the trailer needs a block of its own
    EXPECT_GE(chunks.capacity(), 4096U);
  }
  EXPECT_TRUE(mapping_of(headers).empty());
}

TEST(TaskLayout, GroupsShareBlocksAndEachBeginsInABlockOfItsOwn) {
  const auto headers = lay_out_container({.block_bytes = 4096, .tasks_per_group = 4}, tasks(10, 100), "a", 7);
  const auto chunks = headers[0].chunks();
  for (std::size_t task = 0; task < chunks.size(); ++task) {
    EXPECT_GE(chunks[task].capacity(), 100U);
    EXPECT_EQ(chunks[task].begin % 8, 0U);
    EXPECT_EQ(chunks[task].begin / 4096 - chunks[0].begin / 4096, task / 4);
    EXPECT_EQ(chunks[task].stride, 3U * 4096);
  }
}

TEST(TaskLayout, EachFileHasAsManyTasks) {
  const auto headers = lay_out_container({.files = 3}, tasks(10, 100), "a", 7);
  ASSERT_EQ(headers.size(), 3U);
  const auto mapping = mapping_of(headers);
  ASSERT_EQ(mapping.size(), 10U);
  for (std::uint64_t rank = 0; rank < 10; ++rank) {
    EXPECT_EQ(headers[mapping[rank].file].global_ranks[mapping[rank].local], rank);
  }
  for (const auto& header : headers) EXPECT_TRUE(header.tasks() == 3 || header.tasks() == 4) << header.tasks();
}

TEST(TaskLayout, AFileOfEachNodeUntilThereAreTooMany) {
  EXPECT_EQ(lay_out_container({.files = 0}, tasks(12, 100, 4), "a", 7).size(), 3U);
  const auto headers = lay_out_container({.files = 0}, tasks(100, 100, 1), "a", 7);
  EXPECT_EQ(headers.size(), physical_files_most);
  std::size_t all = 0;
  for (const auto& header : headers) {
    EXPECT_GE(header.tasks(), 3U);
    all += header.tasks();
  }
  EXPECT_EQ(all, 100U);
}

TEST(TaskLayout, RefusesWhatCannotBe) {
  EXPECT_TRUE(wrong_with({}, tasks(3, 1)).empty());
  EXPECT_EQ(wrong_with({.files = 4}, tasks(3, 1)).size(), 1U);
  EXPECT_EQ(wrong_with({.files = 33}, tasks(40, 1)).size(), 1U);
  EXPECT_EQ(wrong_with({.files = 4, .block_bytes = 0, .tasks_per_group = 0}, tasks(3, 0)).size(), 6U);
  EXPECT_EQ(wrong_with({}, tasks(1000, 0)).back(), "992 more ranks do");
  const std::vector<TaskWish> longer_than_any_file(16, {largest_chunk_bytes * 1'000'000, 0});
  EXPECT_THROW(static_cast<void>(lay_out_container({}, longer_than_any_file, "a", 7)), base::Error);
}

}  // namespace
}  // namespace glean::store
