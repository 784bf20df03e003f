// SPDX-License-Identifier: BSD-3-Clause
//
// Which names an output gets.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "store/posix/file.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {

namespace {

using base::Errc;
using base::Publish;

class ChooseNames : public testing::Test {
 protected:
  FileNames choose(const std::string& path, bool refuse_existing = false, Publish publish = Publish::rename) {
    return choose_names(path, publish, refuse_existing, "job7");
  }
  // What is thrown; invalid_state where nothing is.
  Errc refusal(const std::string& path, bool refuse_existing = false, Publish publish = Publish::rename) {
    try {
      (void)choose(path, refuse_existing, publish);
      return Errc::invalid_state;
    } catch (const base::Error& error) {
      return error.code();
    }
  }
  TemporaryDirectory directory_;
};

TEST_F(ChooseNames, PutsTheWorkingFileBesideTheFinalOneUnderANameOfThisJob) {
  const FileNames names = choose(directory_ / "chk.nc");

  EXPECT_EQ(names.final_path, directory_ / "chk.nc");
  EXPECT_EQ(names.working_path, directory_ / ".chk.nc.glean-job7.part");
}

TEST_F(ChooseNames, UsesTheFinalNameWhenPublishingInPlace) {
  const FileNames names = choose(directory_ / "chk.nc", false, Publish::in_place);

  EXPECT_EQ(names, (FileNames{directory_ / "chk.nc", directory_ / "chk.nc"}));
}

TEST_F(ChooseNames, MakesARelativePathAbsolute) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.string());
  const FileNames names = choose("chk.nc");
  std::filesystem::current_path(before);

  EXPECT_EQ(names.final_path, directory_ / "chk.nc");
}

TEST_F(ChooseNames, FollowsALinkSoThatItStays) {
  std::filesystem::create_directory(directory_ / "data");
  write_text(directory_ / "data/real.nc", "old");
  std::filesystem::create_symlink("data/real.nc", directory_ / "link.nc");
  std::filesystem::create_symlink("link.nc", directory_ / "link to link.nc");
  std::filesystem::create_symlink("data/new.nc", directory_ / "dangling.nc");

  EXPECT_EQ(choose(directory_ / "link to link.nc").final_path, directory_ / "data/real.nc");
  EXPECT_EQ(choose(directory_ / "link.nc").working_path, directory_ / "data/.real.nc.glean-job7.part");
  EXPECT_EQ(choose(directory_ / "dangling.nc").final_path, directory_ / "data/new.nc");
  EXPECT_EQ(refusal(directory_ / "link.nc", true), Errc::exists);
}

TEST_F(ChooseNames, GivesNamesThatAreFoundAgainByAProcessThatKnowsWhatIsUnique) {
  std::filesystem::create_directory(directory_ / "run");
  std::filesystem::create_directory_symlink("run", directory_ / "link");
  std::filesystem::create_symlink("link/a.nc", directory_ / "latest.nc");
  for (const base::Publish publish : {base::Publish::rename, base::Publish::in_place}) {
    const FileNames names = choose_names(directory_ / "latest.nc", publish, false, "1-2");

    for (const char* path : {"latest.nc", "run/a.nc", "link/a.nc", "run/../link/./a.nc"}) {
      EXPECT_EQ(resolved_path(directory_ / path), names.final_path) << path;
    }
    EXPECT_EQ(working_path(names.final_path, publish, "1-2"), names.working_path);
  }
  EXPECT_THROW((void)resolved_path(directory_ / "missing/a.nc"), base::Error);
}

TEST_F(ChooseNames, EndsWhenLinksGoInCircles) {
  std::filesystem::create_symlink("b", directory_ / "a");
  std::filesystem::create_symlink("a", directory_ / "b");

  EXPECT_EQ(refusal(directory_ / "a"), Errc::io);
}

TEST_F(ChooseNames, RefusesAMissingDirectory) {
  EXPECT_EQ(refusal(directory_ / "missing/chk.nc"), Errc::not_found);
  write_text(directory_ / "file", "");
  EXPECT_EQ(refusal(directory_ / "file/chk.nc"), Errc::not_found);
}

TEST_F(ChooseNames, RefusesADirectoryInThePlaceOfAFile) {
  std::filesystem::create_directory(directory_ / "run");
  std::filesystem::create_directory_symlink("run", directory_ / "link");

  EXPECT_EQ(refusal(directory_ / "run"), Errc::exists);
  EXPECT_EQ(refusal(directory_ / "run/"), Errc::exists);
  EXPECT_EQ(refusal(directory_ / "run/.."), Errc::exists);
  EXPECT_EQ(refusal(directory_ / "link"), Errc::exists);
}

TEST_F(ChooseNames, RefusesWhatIsNotAFile) {
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0666), 0);

  EXPECT_EQ(refusal(directory_ / "pipe"), Errc::exists);
}

TEST_F(ChooseNames, RefusesAReadOnlyFileEvenForRoot) {
  write_text(directory_ / "chk.nc", "precious");
  ASSERT_EQ(chmod((directory_ / "chk.nc").c_str(), 0444), 0);

  EXPECT_EQ(refusal(directory_ / "chk.nc"), Errc::permission);
}

TEST_F(ChooseNames, RefusesADirectoryThatCannotBeWritten) {
  std::filesystem::create_directory(directory_ / "locked");
  ASSERT_EQ(chmod((directory_ / "locked").c_str(), 0555), 0);
  ASSERT_EQ(chmod(directory_.string().c_str(), 0755), 0);

  // Root may write anywhere; other users may not.
  const bool root = geteuid() == 0;
  ASSERT_TRUE(!root || seteuid(65534) == 0);
  EXPECT_EQ(refusal(directory_ / "locked/chk.nc"), Errc::permission);
  ASSERT_TRUE(!root || seteuid(0) == 0);
}

TEST_F(ChooseNames, WritesAFileInPlaceInADirectoryThatCannotBeWritten) {
  std::filesystem::create_directory(directory_ / "locked");
  write_text(directory_ / "locked/chk.nc", "old");
  ASSERT_EQ(chmod((directory_ / "locked").c_str(), 0555), 0);
  ASSERT_EQ(chmod((directory_ / "locked/chk.nc").c_str(), 0666), 0);
  ASSERT_EQ(chmod(directory_.string().c_str(), 0755), 0);

  const bool root = geteuid() == 0;
  ASSERT_TRUE(!root || seteuid(65534) == 0);
  EXPECT_EQ(choose(directory_ / "locked/chk.nc", false, Publish::in_place).working_path, directory_ / "locked/chk.nc");
  EXPECT_EQ(refusal(directory_ / "locked/chk.nc"), Errc::permission);
  EXPECT_EQ(refusal(directory_ / "locked/new.nc", false, Publish::in_place), Errc::permission);
  ASSERT_TRUE(!root || seteuid(0) == 0);
}

TEST_F(ChooseNames, RefusesAnExistingFileOnlyIfAsked) {
  write_text(directory_ / "chk.nc", "old");

  EXPECT_EQ(refusal(directory_ / "chk.nc", true), Errc::exists);
  EXPECT_EQ(choose(directory_ / "chk.nc").final_path, directory_ / "chk.nc");
}

TEST_F(ChooseNames, RefusesAnEmptyName) { EXPECT_EQ(refusal(""), Errc::invalid_argument); }

TEST_F(ChooseNames, KeepsLongWorkingNamesShortEnoughAndDifferent) {
  const std::string first(254, 'a');
  const std::string second = std::string(253, 'a') + "b";

  const std::string working = std::filesystem::path(choose(directory_ / first).working_path).filename().string();

  EXPECT_EQ(working.size(), 255U);
  EXPECT_NE(choose(directory_ / first).working_path, choose(directory_ / second).working_path);
}

TEST_F(ChooseNames, SaysWhatHasMadeAWorkingNameUnique) {
  EXPECT_EQ(unique_in(choose(directory_ / "chk.glean-1.part.nc").working_path), "job7");
  EXPECT_EQ(unique_in(choose(directory_ / std::string(250, 'x')).working_path), "job7");
  EXPECT_EQ(unique_in(choose(directory_ / "chk.nc", false, Publish::in_place).working_path), "");
}

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
