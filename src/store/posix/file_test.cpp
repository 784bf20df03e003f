// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "store/posix/scripted_calls.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {

namespace {

using base::Errc;
using base::Publish;
using Log = std::vector<std::string>;

template <class Call>
Errc code_of(const Call& call) {
  try {
    call();
  } catch (const base::Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Errc::invalid_state;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class ChooseNames : public testing::Test {
 protected:
  FileNames choose(const std::string& path, bool refuse_existing = false, Publish publish = Publish::rename) {
    return choose_names(path, publish, refuse_existing, "job7");
  }
  Errc refusal(const std::string& path, bool refuse_existing = false) {
    return code_of([&] { (void)choose(path, refuse_existing); });
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

TEST_F(ChooseNames, GivesNamesThatAreFoundAgainByWhoeverKnowsWhatIsUnique) {
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

  // Root may write anywhere; somebody else may not.
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
  EXPECT_EQ(code_of([&] { (void)choose(directory_ / "locked/new.nc", false, Publish::in_place); }), Errc::permission);
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

class FileOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    write_text(names_.working_path, "header");
    calls_.log.clear();
  }
  std::unique_ptr<File> open(base::DirectIo direct_io = base::DirectIo::off) {
    auto file = std::make_unique<File>(calls_, names_, direct_io);
    calls_.log.clear();
    return file;
  }
  TemporaryDirectory directory_;
  FileNames names_{directory_ / ".chk.nc.part", directory_ / "chk.nc"};
  ScriptedCalls calls_;
};

TEST_F(FileOnDisk, KeepsWhatIsThereAndWritesBehindIt) {
  const auto file = open();

  file->write(bytes_of("data"), 8);

  EXPECT_EQ(read_text(names_.working_path), std::string("header\0\0data", 12));
}

TEST_F(FileOnDisk, ThrowsWhenTheWorkingFileIsNotThere) {
  EXPECT_EQ(code_of([&] { File(calls_, {directory_ / "none", directory_ / "none"}, base::DirectIo::off); }),
            Errc::not_found);
}

TEST_F(FileOnDisk, HasNoDirectDescriptorWhenDirectIoIsOff) {
  EXPECT_EQ(open()->direct_descriptor(), -1);
  EXPECT_EQ(open()->block_bytes(), 4096U);
}

TEST_F(FileOnDisk, DoesWithoutDirectIoWhereTheFileSystemRefusesIt) {
  const int opened = ::open(names_.working_path.c_str(), O_WRONLY);
  calls_.results["open"] = {opened, -EINVAL};
  File file(calls_, names_, base::DirectIo::automatic);

  EXPECT_EQ(file.direct_descriptor(), -1);
  EXPECT_EQ(file.buffered_descriptor(), opened);
}

TEST_F(FileOnDisk, ThrowsWhenDirectIoIsDemandedAndRefused) {
  const int opened = ::open(names_.working_path.c_str(), O_WRONLY);
  calls_.results["open"] = {opened, -EINVAL};

  EXPECT_EQ(code_of([&] { File(calls_, names_, base::DirectIo::on); }), Errc::unsupported);
}

TEST_F(FileOnDisk, ReservesByAllocatingOnlyWhatIsMissing) {
  const auto file = open();

  file->reserve(10000);
  file->reserve(10000);
  file->reserve(5000);

  EXPECT_EQ(calls_.log, Log{"allocate"});
  EXPECT_EQ(read_text(names_.working_path), "header" + std::string(9994, '\0'));
}

TEST_F(FileOnDisk, ReservesByLengthWhereTheFileSystemCannotAllocate) {
  const auto file = open();
  calls_.results["allocate"] = {-EINTR, -EOPNOTSUPP};

  file->reserve(100);

  EXPECT_EQ(calls_.log, (Log{"allocate", "allocate", "ftruncate"}));
  EXPECT_EQ(read_text(names_.working_path).size(), 100U);
}

TEST_F(FileOnDisk, FindsAFullDiskWhenReserving) {
  const auto file = open();
  calls_.results["allocate"] = {-ENOSPC};

  EXPECT_EQ(code_of([&] { file->reserve(1000); }), Errc::no_space);
}

TEST_F(FileOnDisk, KeepsLargeHolesAsHoles) {
  const auto file = open();

  file->reserve(1 << 20, 400000);

  EXPECT_EQ(calls_.log, Log{"ftruncate"});
  EXPECT_EQ(std::filesystem::file_size(names_.working_path), std::uintmax_t{1} << 20);
}

TEST_F(FileOnDisk, DoesNotFailForWantOfRoomThatHolesDoNotNeed) {
  const auto file = open();
  calls_.results["allocate"] = {-ENOSPC};

  file->reserve(1 << 20, 800000);

  EXPECT_EQ(std::filesystem::file_size(names_.working_path), std::uintmax_t{1} << 20);
}

TEST_F(FileOnDisk, FindsAFullFileSystemBeforeAnythingIsWritten) {
  const std::string mount_point = directory_ / "small";
  std::filesystem::create_directory(mount_point);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "mounting needs root";
  names_ = {mount_point + "/part", mount_point + "/final"};
  write_text(names_.working_path, "header");
  {
    const auto file = open();
    file->reserve(500000);
    EXPECT_EQ(code_of([&] { file->reserve(2000000); }), Errc::no_space);
    file->write(bytes_of("still here"), 400000);
    file->discard();
  }
  EXPECT_FALSE(std::filesystem::exists(names_.working_path));
  EXPECT_EQ(umount(mount_point.c_str()), 0);
}

TEST_F(FileOnDisk, CutsALongerFileOnly) {
  const auto file = open();

  file->truncate(100);
  EXPECT_EQ(read_text(names_.working_path), "header");
  file->truncate(4);
  EXPECT_EQ(read_text(names_.working_path), "head");
}

// As over NFS, where an open descriptor may not see for a while what other nodes have written: here it never does.
TEST_F(FileOnDisk, ThatOthersWriteTooIsAsLongAsWhoeverOpensItSees) {
  const auto file = open();
  write_text(directory_ / "as others see it", "header and data");
  std::filesystem::rename(directory_ / "as others see it", names_.working_path);

  EXPECT_EQ(file->current_size(), 6u);
  file->share();
  EXPECT_EQ(file->current_size(), 15u);

  std::filesystem::remove(names_.working_path);
  EXPECT_EQ(code_of([&] { static_cast<void>(file->current_size()); }), Errc::not_found);
}

TEST_F(FileOnDisk, ContinuesShortWritesAndReportsFailedOnes) {
  const auto file = open();
  calls_.on_write = [](std::size_t k, std::size_t, ssize_t result) { return k == 0 ? 3 : k == 1 ? -EINTR : result; };
  file->write(bytes_of("HEADERS"), 0);
  EXPECT_EQ(read_text(names_.working_path), "HEADERS");

  calls_.on_write = [](std::size_t, std::size_t, ssize_t) { return -EIO; };
  EXPECT_EQ(code_of([&] { file->write(bytes_of("x"), 0); }), Errc::io);
  calls_.on_write = [](std::size_t, std::size_t, ssize_t) { return -ENOSPC; };
  EXPECT_EQ(code_of([&] { file->write(bytes_of("x"), 0); }), Errc::no_space);
}

TEST_F(FileOnDisk, IsDurableBeforeItIsPublishedAndItsNameAfterwards) {
  write_text(names_.final_path, "old");
  const auto file = open();

  file->publish();

  EXPECT_EQ(calls_.log, (Log{"fsync", "rename", "open", "fsync"}));
  EXPECT_EQ(read_text(names_.final_path), "header");
  EXPECT_FALSE(std::filesystem::exists(names_.working_path));
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

TEST_F(FileOnDisk, KeepsThePermissionsOfTheFileThatItReplaces) {
  write_text(names_.final_path, "old");
  ASSERT_EQ(chmod(names_.final_path.c_str(), 0640), 0);
  hand_on_permissions(names_);

  open()->publish();

  EXPECT_EQ(mode_of(names_.final_path), 0640U);
}

TEST_F(FileOnDisk, HandsOnPermissionsThatTheReplacedFileGetsMeanwhile) {
  write_text(names_.final_path, "old");
  const auto file = open();
  ASSERT_EQ(chmod(names_.final_path.c_str(), 0600), 0);

  file->publish();

  EXPECT_EQ(mode_of(names_.final_path), 0600U);
}

TEST_F(FileOnDisk, KeepsPermissionsThatItHasGotItself) {
  write_text(names_.final_path, "old");
  hand_on_permissions(names_);
  const auto file = open();
  ASSERT_EQ(chmod(names_.working_path.c_str(), 0444), 0);

  file->publish();

  EXPECT_EQ(mode_of(names_.final_path), 0444U);
}

TEST_F(FileOnDisk, PublishesInPlaceWithoutRenaming) {
  names_.final_path = names_.working_path;
  const auto file = open();

  file->publish();
  file->discard();

  EXPECT_EQ(calls_.log, (Log{"fsync", "open", "fsync"}));
  EXPECT_EQ(read_text(names_.working_path), "header");
}

TEST_F(FileOnDisk, IsNeverTrustedAgainAfterAFailedFsync) {
  write_text(names_.final_path, "old");
  const auto file = open();
  calls_.results["fsync"] = {-EIO};

  EXPECT_EQ(code_of([&] { file->synchronize(); }), Errc::io);
  EXPECT_EQ(code_of([&] { file->synchronize(); }), Errc::io);
  EXPECT_EQ(code_of([&] { file->write(bytes_of("x"), 0); }), Errc::io);
  EXPECT_EQ(code_of([&] { file->reserve(100); }), Errc::io);
  EXPECT_EQ(code_of([&] { file->truncate(1); }), Errc::io);
  EXPECT_EQ(code_of([&] { file->publish(); }), Errc::io);
  EXPECT_EQ(calls_.log, Log{"fsync"});
  EXPECT_EQ(read_text(names_.final_path), "old");
}

TEST_F(FileOnDisk, LeavesTheOldFileWhenPublishingFails) {
  write_text(names_.final_path, "old");
  for (const std::string call : {"fsync", "rename"}) {
    const auto file = open();
    calls_.results[call] = {-EIO};
    EXPECT_EQ(code_of([&] { file->publish(); }), Errc::io);
    EXPECT_EQ(read_text(names_.final_path), "old");
  }
}

TEST_F(FileOnDisk, ReportsADirectoryThatDoesNotKeepTheName) {
  const auto file = open();
  calls_.results["open"] = {-EMFILE};

  EXPECT_EQ(code_of([&] { file->publish(); }), Errc::io);
  file->discard();
  EXPECT_EQ(read_text(names_.final_path), "header");
}

TEST_F(FileOnDisk, DiscardRemovesTheWorkingFileOnly) {
  write_text(names_.final_path, "old");
  const auto file = open();

  file->discard();

  EXPECT_FALSE(std::filesystem::exists(names_.working_path));
  EXPECT_EQ(read_text(names_.final_path), "old");
}

TEST_F(FileOnDisk, DiscardAfterPublishingRemovesNothing) {
  const auto file = open();

  file->publish();
  write_text(names_.working_path, "of somebody else");
  file->discard();

  EXPECT_EQ(read_text(names_.final_path), "header");
  EXPECT_EQ(read_text(names_.working_path), "of somebody else");
}

TEST_F(FileOnDisk, IsRemovedWhenNoNameLeadsToIt) {
  const auto file = open();
  EXPECT_TRUE(file->has_its_name());
  EXPECT_FALSE(file->is_removed());

  std::filesystem::rename(names_.working_path, directory_ / "moved");
  EXPECT_FALSE(file->has_its_name());
  EXPECT_FALSE(file->is_removed());

  std::filesystem::remove(directory_ / "moved");
  write_text(names_.working_path, "of somebody else");
  EXPECT_FALSE(file->has_its_name());
  EXPECT_TRUE(file->is_removed());
}

TEST_F(FileOnDisk, IsPublishedInItsRenamedDirectory) {
  std::filesystem::create_directory(directory_ / "before");
  names_ = {directory_ / "before/.chk.part", directory_ / "before/chk.nc"};
  write_text(names_.working_path, "header");
  const auto file = open();
  std::filesystem::rename(directory_ / "before", directory_ / "after");

  file->follow_directory();
  file->publish();

  EXPECT_EQ(file->names(), (FileNames{directory_ / "after/.chk.part", directory_ / "after/chk.nc"}));
  EXPECT_EQ(read_text(directory_ / "after/chk.nc"), "header");
}

TEST_F(FileOnDisk, FollowsNoOtherName) {
  const auto file = open();
  std::filesystem::rename(names_.working_path, directory_ / "moved");

  file->follow_directory();

  EXPECT_EQ(file->names(), names_);
}

}  // namespace

}  // namespace glean::store
