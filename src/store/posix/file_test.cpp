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

TEST_F(FileOnDisk, IsMadeAsLongAsItIsToBe) {
  const auto file = open();

  file->resize(8);
  EXPECT_EQ(read_text(names_.working_path), std::string("header\0\0", 8));
  file->resize(4);
  EXPECT_EQ(read_text(names_.working_path), "head");
}

// As over NFS, where an open descriptor may not see for a while what other nodes have written: here it never does.
TEST_F(FileOnDisk, ThatOthersWriteTooIsAsLongAsAProcessThatOpensItSees) {
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

TEST_F(FileOnDisk, InPlaceNeedsNoDirectoryAnyMore) {
  std::filesystem::create_directory(directory_ / "run");
  names_ = {directory_ / "run/chk.nc", directory_ / "run/chk.nc"};
  write_text(names_.working_path, "header");
  const auto file = open();
  std::filesystem::remove_all(directory_ / "run");

  file->publish();

  EXPECT_TRUE(file->is_removed());
}

TEST_F(FileOnDisk, IsNeverTrustedAgainAfterAFailedFsync) {
  write_text(names_.final_path, "old");
  const auto file = open();
  calls_.results["fsync"] = {-EIO};

  EXPECT_EQ(code_of([&] { file->synchronize(); }), Errc::io);
  EXPECT_EQ(code_of([&] { file->synchronize(); }), Errc::io);
  EXPECT_EQ(code_of([&] { file->write(bytes_of("x"), 0); }), Errc::io);
  EXPECT_EQ(code_of([&] { file->reserve(100); }), Errc::io);
  EXPECT_EQ(code_of([&] { file->resize(1); }), Errc::io);
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
  write_text(names_.working_path, "of another process");
  file->discard();

  EXPECT_EQ(read_text(names_.final_path), "header");
  EXPECT_EQ(read_text(names_.working_path), "of another process");
}

TEST_F(FileOnDisk, IsRemovedWhenNoNameLeadsToIt) {
  const auto file = open();
  EXPECT_TRUE(file->has_its_name());
  EXPECT_FALSE(file->is_removed());

  std::filesystem::rename(names_.working_path, directory_ / "moved");
  EXPECT_FALSE(file->has_its_name());
  EXPECT_FALSE(file->is_removed());

  std::filesystem::remove(directory_ / "moved");
  write_text(names_.working_path, "of another process");
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
