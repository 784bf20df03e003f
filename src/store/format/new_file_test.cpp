// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/new_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

std::string content_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<Patch> two_parts = {{0, {std::byte{'h'}, std::byte{'e'}}}, {4, {std::byte{'x'}}}};

TEST(NewFile, HasItsMetadataAlsoAtASecondAttempt) {
  const TemporaryDirectory directory;
  const FileNames names{directory / "f.part", directory / "f"};
  std::ofstream(names.working_path) << "h";
  SystemCalls calls;

  make_new_file(calls, names, two_parts);

  EXPECT_EQ(content_of_file(names.working_path), std::string("he\0\0x", 5));
}

TEST(NewFile, HasNothingOfWhatWasThereWhereItIsWrittenInPlace) {
  const TemporaryDirectory directory;
  const std::string path = directory / "f";
  std::ofstream(path) << std::string(100, 'o');
  SystemCalls calls;

  make_new_file(calls, {path, path}, two_parts);

  EXPECT_EQ(content_of_file(path), std::string("he\0\0x", 5));
}

TEST(NewFile, HasThePermissionsOfTheFileThatItWillReplace) {
  const TemporaryDirectory directory;
  const FileNames names{directory / "f.part", directory / "f"};
  std::ofstream(names.final_path) << "before";
  chmod(names.final_path.c_str(), 0640);
  SystemCalls calls;

  make_new_file(calls, names, {});

  struct stat status {};
  ASSERT_EQ(stat(names.working_path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

class FullDisk final : public SystemCalls {
 public:
  ssize_t pwrite(int, const void*, std::size_t, off_t) override { return -ENOSPC; }
};

TEST(NewFile, IsGoneAgainWhereTheDiskIsFull) {
  const TemporaryDirectory directory;
  const FileNames names{directory / "f.part", directory / "f"};
  FullDisk calls;
  try {
    make_new_file(calls, names, two_parts);
    FAIL() << "nothing was thrown";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::no_space);
  }
  EXPECT_FALSE(std::filesystem::exists(names.working_path));
}

TEST(NewFile, SaysThatItsDirectoryIsNotThere) {
  SystemCalls calls;
  try {
    make_new_file(calls, {"/nowhere/at/all/f.part", "/nowhere/at/all/f"}, two_parts);
    FAIL() << "nothing was thrown";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::not_found);
    EXPECT_NE(std::string(error.what()).find("'/nowhere/at/all/f'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace glean::store
