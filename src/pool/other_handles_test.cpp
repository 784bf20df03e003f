// SPDX-License-Identifier: BSD-3-Clause
#include "pool/other_handles.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "pool/test_pool.hpp"

namespace glean::pool {
namespace {

class PassedFiles : public testing::Test {
 protected:
  ~PassedFiles() override {
    for (const std::string& path : made_) std::remove(path.c_str());
  }
  FileId make(const std::string& name) {
    made_.push_back(path_of(name));
    std::ofstream(made_.back()) << name;
    FileId file;
    EXPECT_TRUE(find_file(made_.back(), file));
    return file;
  }
  [[nodiscard]] std::string path_of(const std::string& name) const { return testing::TempDir() + pool_.pool.name().substr(1) + name; }
  [[nodiscard]] PoolHeader& header() { return pool_.pool.header(); }
  [[nodiscard]] bool is_passed(const std::string& name) { return pool::is_passed(header(), path_of(name)); }
  [[nodiscard]] bool forget(const std::string& name) { return forget_untouched(header(), path_of(name)); }

 private:
  TestPool pool_{1};
  std::vector<std::string> made_;
};

TEST_F(PassedFiles, AFileIsPassedAsLongAsAnyHandleIsOpenByAnyOfItsNames) {
  const FileId file = make("a"), other = make("b");
  ASSERT_EQ(link(path_of("a").c_str(), path_of("c").c_str()), 0);
  EXPECT_FALSE(is_passed("a"));
  EXPECT_TRUE(enter_passed(header(), file));
  EXPECT_TRUE(enter_passed(header(), file));
  EXPECT_TRUE(is_passed("a"));
  EXPECT_TRUE(is_passed("c"));
  EXPECT_FALSE(is_passed("b"));
  leave_passed(header(), other);
  leave_passed(header(), file);
  EXPECT_TRUE(is_passed("a"));
  leave_passed(header(), file);
  EXPECT_FALSE(is_passed("a"));
  unlink(path_of("c").c_str());
}

TEST_F(PassedFiles, WhoFindsNoRoomIsTold) {
  for (std::uint64_t inode = 1; inode <= header().passed_files.size(); ++inode) EXPECT_TRUE(enter_passed(header(), {7, inode}));
  EXPECT_FALSE(enter_passed(header(), {7, 1000}));
  EXPECT_TRUE(enter_passed(header(), {7, 1}));
  leave_passed(header(), {7, 2});
  EXPECT_TRUE(enter_passed(header(), {7, 1000}));
}

TEST_F(PassedFiles, AnUntouchedFileIsForgottenWhenItIsLookedAtOrWrittenOrLacksRoom) {
  const FileId a = make("a"), b = make("b");
  remember_untouched(header(), a);
  EXPECT_FALSE(is_passed("a"));
  EXPECT_FALSE(forget("b"));
  EXPECT_TRUE(forget("a"));
  EXPECT_FALSE(forget("a"));
  remember_untouched(header(), b);
  EXPECT_TRUE(enter_passed(header(), b));
  EXPECT_FALSE(forget("b"));
  EXPECT_TRUE(is_passed("b"));
  remember_untouched(header(), a);
  for (std::uint64_t inode = 1; inode < header().passed_files.size(); ++inode) EXPECT_TRUE(enter_passed(header(), {7, inode}));
  EXPECT_FALSE(forget("a"));
}

}  // namespace
}  // namespace glean::pool
