// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.hpp"
#include "store/posix/file.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

using base::Publish;

TEST(FileNames, LeaveRoomForTheWorkingFileInTheLengthOfAPath) {
  const TemporaryDirectory temporary;
  std::filesystem::path directory = temporary.string();
  while (directory.native().size() < 3900) directory /= std::string(80, 'd');
  std::filesystem::create_directories(directory);
  const auto with_bytes = [&](std::size_t bytes) {
    return (directory / std::string(bytes - directory.native().size() - 1, 'f')).string();
  };
  const auto choose = [](const std::string& path, Publish publish) { return choose_names(path, publish, false, "job7"); };
  const std::size_t added = std::string_view("..glean-job7.part").size();

  EXPECT_EQ(choose(with_bytes(4094 - added), Publish::rename).working_path.size(), 4094U);
  EXPECT_EQ(choose(with_bytes(4094), Publish::in_place).final_path.size(), 4094U);
  try {
    static_cast<void>(choose(with_bytes(4095 - added), Publish::rename));
    FAIL() << "nothing was thrown";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("ffff' is too long: it has 4078 bytes"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace glean::store
