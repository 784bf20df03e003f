// SPDX-License-Identifier: BSD-3-Clause
#include "read_back.hpp"

#include <gtest/gtest.h>

namespace glean::mpiio {
namespace {

constexpr std::uint64_t ms = 1'000'000;

struct File {
  std::uint64_t blocked_ms, waited_ms;
};

// Writes one file after the other, numbered; captured ones and others take so long. Returns which were captured.
std::string write_files(ReadBack& seen, int files, File captured, File original, const std::string& name = "/scratch/chk_") {
  std::string ways;
  for (int i = 0; i < files; ++i) {
    const std::string path = name + std::to_string(i) + ".nc";
    const bool passes_through = seen.passes_through(path);
    seen.begin(path, !passes_through);
    const File& file = passes_through ? original : captured;
    seen.add(path, file.blocked_ms * ms, file.waited_ms * ms, 1 << 20);
    ways += passes_through ? 'o' : 'c';
  }
  return ways;
}

TEST(ReadBack, FilesThatNoRankWaitsForStayCaptured) {
  ReadBack seen;
  EXPECT_EQ(write_files(seen, 6, {100, 0}, {1, 0}), "cccccc");
}

TEST(ReadBack, WhereReadersWaitThreeAreComparedAndTheFasterWayGoesOn) {
  ReadBack slower;
  EXPECT_EQ(write_files(slower, 8, {100, 70}, {40, 0}), "cooooooo");
  ReadBack faster;
  EXPECT_EQ(write_files(faster, 9, {100, 70}, {400, 0}), "coooccccc");
}

TEST(ReadBack, WhatIsSaidNamesAPathAsItIs) {
  ReadBack seen;
  testing::internal::CaptureStderr();
  write_files(seen, 5, {100, 70}, {40, 0});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("'/scratch/chk_4.nc': "), std::string::npos) << said;
  EXPECT_EQ(said.find('#'), std::string::npos) << said;
}

TEST(ReadBack, AShortWaitIsNoReason) {
  ReadBack seen;
  EXPECT_EQ(write_files(seen, 4, {100, 10}, {1, 0}), "cccc");
}

TEST(ReadBack, WaitsOfALaterReaderCount) {
  ReadBack seen;
  seen.begin("/a/1", true);
  seen.add("/a/1", 10 * ms, 0, 1 << 20);
  seen.add("/a/1", 50 * ms, 45 * ms, 0);   // opened again, to read
  EXPECT_TRUE(seen.passes_through("/a/2"));
}

TEST(ReadBack, FilesOfAnotherNameAreAnotherMatter) {
  ReadBack seen;
  EXPECT_EQ(write_files(seen, 4, {100, 70}, {40, 0}), "cooo");
  EXPECT_EQ(write_files(seen, 4, {100, 0}, {40, 0}, "/scratch/plt_"), "cccc");
  EXPECT_TRUE(seen.note_read("/scratch/plt_77.nc"));
  EXPECT_FALSE(seen.note_read("/scratch/other_77.nc"));
}

TEST(ReadBack, TheFirstFileMayBeReadAndThenThoseOfWhichTheLastWas) {
  ReadBack seen;
  const auto write = [&](const std::string& path, bool is_read) {
    const bool expected = seen.may_be_read(path);
    seen.begin(path, true);
    seen.add(path, ms, 0, 1 << 20);
    if (is_read) seen.note_read(path);
    return expected;
  };
  EXPECT_TRUE(write("/a/1", true));
  EXPECT_TRUE(write("/a/2", false));
  EXPECT_FALSE(write("/a/3", true));
  EXPECT_TRUE(write("/a/4", false));
  EXPECT_TRUE(write("/b/1", false));
  EXPECT_FALSE(write("/b/2", false));
}

TEST(ReadBack, FilesWithoutBytesDecideNothing) {
  ReadBack seen;
  seen.begin("/a/1", true);
  seen.add("/a/1", 100 * ms, 90 * ms, 0);
  EXPECT_FALSE(seen.passes_through("/a/2"));
}

}  // namespace
}  // namespace glean::mpiio
