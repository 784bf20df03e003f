// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of files that a program has removed, replaced or renamed while what it closed before drains: with disks that are full.
#include "drain/retired_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "drain/engine.hpp"
#include "service/recovery.hpp"
#include "raw_output.hpp"
#include "virtual_ranks.hpp"
#include "pool/futex.hpp"
#include "pool/published.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::tests::retired_files_test {
namespace {

namespace fs = std::filesystem;

class RetiredFiles : public testing::Test {
 protected:
  RetiredFiles() : made_(1) {}

  // As ranks do that have written `text` into a new file, or one in place, and closed it.
  pool::OutputKey write_and_close(const std::string& name, const std::string& text, bool in_place = false) {
    return write_and_close(name, std::vector{text}, in_place);
  }
  // In several writes, one behind the other.
  pool::OutputKey write_and_close(const std::string& name, const std::vector<std::string>& texts, bool in_place = false) {
    auto description = raw_output(directory_ / (in_place ? name : "." + name + ".working"), directory_ / name);
    description.display_path = name;
    description.checksums = checksums_;
    description.direct_io = direct_io_;
    const pool::OutputKey key = open_raw_output(made_, description);
    pool::Recorder recorder(made_.pool, 0, 30, [] { return "a rank"; });
    std::size_t offset = 0;
    for (const std::string& text : texts) {
      const mesh::Box box = box_of({.offset = offset, .block_bytes = text.size(), .levels = {}});
      const auto room = recorder.reserve(text.size(), text.size());
      std::copy(text.begin(), text.end(), reinterpret_cast<char*>(room.data));
      const std::uint64_t number = recorder.take_number(key, box.count.size()).number;
      recorder.commit_put(room, room.bytes, {key, number, 0, mesh::Type::uint8, &box, 0, room.bytes});
      offset += text.size();
    }
    made_.pool.rank_progress(key.slot, 0) = 1 | pool::rank_closed;
    return key;
  }
  void make_file(const std::string& name, const std::string& text) const { std::ofstream(directory_ / name) << text; }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(directory_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] bool is_there(const std::string& name) const { return fs::exists(directory_ / name); }
  // As the preloaded library does when the program removes it, or gives another file its name.
  std::string retire(const std::string& name, const pool::Fence& fence, pool::NameChange::Kind kind = pool::NameChange::Kind::removed) {
    const std::string path = directory_ / name;
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    pool::NameLog log(made_.pool.name(), pool::NameLog::Make::yes);
    pool::NameChange change{.kind = kind, .state = pool::NameChange::State::waiting, .device = status.st_dev, .inode = status.st_ino,
                            .fence = fence, .output = {}};
    path.copy(change.path.data(), change.path.size() - 1);
    EXPECT_TRUE(pool::hidden_path(path, pool::hidden_job(made_.pool.name()), log.next_number(), change.hidden));
    EXPECT_TRUE(log.write(log.count(), change));
    if (kind == pool::NameChange::Kind::removed) fs::rename(path, change.hidden.data());
    else fs::create_hard_link(path, change.hidden.data());
    return change.hidden.data();
  }
  void rename_output(pool::OutputKey key, const std::string& name) {
    pool::NameLog log(made_.pool.name(), pool::NameLog::Make::yes);
    pool::NameChange change{.kind = pool::NameChange::Kind::renamed, .state = pool::NameChange::State::waiting, .output = key};
    if (!name.empty()) (directory_ / name).copy(change.path.data(), change.path.size() - 1);
    EXPECT_TRUE(log.write(log.count(), change));
    made_.pool.slot(key.slot).is_renamed = name.empty() ? pool::is_removed_output : 1;
  }
  // Retires an output that is not published: until `after` is.
  std::string retire_output(pool::OutputKey key, const std::string& name, pool::OutputKey after) {
    pool::NameChange change{.kind = pool::NameChange::Kind::removed, .state = pool::NameChange::State::waiting, .fence = {}, .output = key};
    change.fence[after.slot] = after.generation;
    const std::string hidden = "." + name + ".glean-0.1.2.host-1.removed";
    (directory_ / name).copy(change.path.data(), change.path.size() - 1);
    (directory_ / hidden).copy(change.hidden.data(), change.hidden.size() - 1);
    {
      pool::NameLog log(made_.pool.name(), pool::NameLog::Make::yes);
      EXPECT_TRUE(log.write(log.count(), change));
    }
    rename_output(key, hidden);
    return directory_ / hidden;
  }
  [[nodiscard]] pool::Fence closed_so_far() const { return pool::Draining(made_.pool, 0).closed_before(device()).fence; }
  [[nodiscard]] std::uint64_t device() const {
    struct stat status {};
    stat((directory_ / ".").c_str(), &status);
    return status.st_dev;
  }
  template <class Condition>
  [[nodiscard]] bool comes(Condition condition) const {
    const std::uint64_t limit = base::now_ns() + 60'000'000'000;
    while (!condition() && base::now_ns() < limit) usleep(500);
    return condition();
  }
  [[nodiscard]] bool is_free(pool::OutputKey key) const {
    return comes([&] { return made_.pool.slot(key.slot).state == pool::OutputState::free; });
  }
  [[nodiscard]] bool becomes_kept(pool::OutputKey key) const {
    return comes([&] { return pool::is_kept(made_.pool.slot(key.slot)); });
  }

  store::TemporaryDirectory directory_;
  pool::TestPool made_;
  store::FaultyCalls disk_;
  bool checksums_ = false;
  base::DirectIo direct_io_ = base::DirectIo::automatic;
};

TEST_F(RetiredFiles, AreLetGoWhenWhatWasClosedBeforeIsDurable) {
  make_file("old", "the old one");
  const auto key = write_and_close("new", "the new one");
  const std::string hidden = retire("old", closed_so_far());

  drain::Engine engine(made_.pool, pool::small_plan(), disk_);

  ASSERT_TRUE(is_free(key));
  EXPECT_EQ(content("new"), "the new one");
  EXPECT_FALSE(fs::exists(hidden));
  EXPECT_EQ(pool::NameLog(made_.pool.name(), pool::NameLog::Make::no).count(), 0U);
}

TEST_F(RetiredFiles, GetTheirNamesBackWhenTheDiskIsFull) {
  make_file("old", "the old one");
  const auto key = write_and_close("new", "the new one");
  const std::string hidden = retire("old", closed_so_far());
  disk_.follow(store::full_disk());

  drain::Engine engine(made_.pool, pool::small_plan(), disk_);

  ASSERT_TRUE(becomes_kept(key));
  EXPECT_EQ(content("old"), "the old one");
  EXPECT_FALSE(fs::exists(hidden));
  EXPECT_FALSE(is_there("new"));
}

TEST_F(RetiredFiles, StayHiddenWhereAnotherFileHasTheirName) {
  make_file("a", "the old one");
  const auto key = write_and_close("new", "the new one");
  const std::string hidden = retire("a", closed_so_far());
  make_file("a", "made meanwhile");
  disk_.follow(store::full_disk());

  drain::Engine engine(made_.pool, pool::small_plan(), disk_);

  ASSERT_TRUE(becomes_kept(key));
  EXPECT_EQ(content("a"), "made meanwhile");
  EXPECT_TRUE(fs::exists(hidden));
}

TEST_F(RetiredFiles, AreLetGoOnlyIfTheyAreTheFilesThatWereRemoved) {
  make_file("old", "the old one");
  const auto key = write_and_close("new", "the new one");
  const std::string hidden = retire("old", closed_so_far());
  make_file("another", "another");   // now: its inode must be another one
  fs::rename(directory_ / "another", hidden);

  drain::Engine engine(made_.pool, pool::small_plan(), disk_);

  ASSERT_TRUE(is_free(key));
  EXPECT_TRUE(fs::exists(hidden));
}

TEST_F(RetiredFiles, WaitForAllThatWasClosedBefore) {
  make_file("old", "the old one");
  const auto first = write_and_close("first", "1"), second = write_and_close("second", "2");
  const std::string hidden = retire("old", closed_so_far());
  const auto retired = drain::settle_names(made_.pool, disk_, first, drain::Ending::durable);
  EXPECT_EQ(retired.let_go, 0);
  EXPECT_TRUE(fs::exists(hidden));
  EXPECT_EQ(drain::settle_names(made_.pool, disk_, second, drain::Ending::durable).let_go, 1);
  EXPECT_FALSE(fs::exists(hidden));
}

TEST_F(RetiredFiles, WhatTheDiskRefusedIsCompletedWhenThereIsRoom) {
  const auto key = write_and_close("new", "the new one");
  disk_.follow(store::full_disk());
  {
    drain::Engine engine(made_.pool, pool::small_plan(), disk_);
    ASSERT_TRUE(becomes_kept(key));
    engine.stop();
  }
  EXPECT_FALSE(service::try_what_is_kept(made_.pool, disk_));
  EXPECT_TRUE(pool::exists(made_.pool.name()));
  disk_.follow({});
  EXPECT_TRUE(service::try_what_is_kept(made_.pool, disk_));
  EXPECT_EQ(content("new"), "the new one");
  EXPECT_FALSE(pool::exists(made_.pool.name()));
}

TEST_F(RetiredFiles, WhatTheDiskRefusedIsTriedAgainWhileRanksGoOn) {
  const auto key = write_and_close("new", "the new one");
  disk_.follow(store::full_disk());
  drain::Engine engine(made_.pool, pool::small_plan(), disk_);
  ASSERT_TRUE(becomes_kept(key));
  made_.pool.slot(key.slot).told = 1;   // it is kept nevertheless
  for (int time = 0; time < 2; ++time) {
    pool::try_again(made_.pool);
    ASSERT_TRUE(becomes_kept(key));
    EXPECT_NE(made_.pool.slot(key.slot).error, 0U);
    EXPECT_FALSE(is_there("new"));
  }
  disk_.follow({});
  pool::try_again(made_.pool);
  ASSERT_TRUE(is_free(key));
  EXPECT_EQ(content("new"), "the new one");
  ASSERT_EQ(engine.trace().outputs.size(), 1U);
  EXPECT_EQ(engine.trace().outputs.front().state, "published");
}

TEST_F(RetiredFiles, WhatIsTriedAgainIsWrittenFromWhereItStopped) {
  const base::Bytes request = pool::small_plan().request_bytes;
  const std::vector<std::string> texts{std::string(request, 'a'), std::string(request, 'b'), std::string(request, 'c')};
  disk_.follow({store::on("write").behind(static_cast<off_t>(request)).fails(ENOSPC)});
  const auto key = write_and_close("new", texts);
  drain::Engine engine(made_.pool, pool::small_plan(), disk_);
  ASSERT_TRUE(becomes_kept(key));
  disk_.follow({});
  pool::try_again(made_.pool);
  ASSERT_TRUE(is_free(key));
  EXPECT_EQ(content("new"), texts[0] + texts[1] + texts[2]);
  const auto next = write_and_close("next", "another one");   // the journal is read on
  pool::futex_signal(made_.pool.header().work);
  ASSERT_TRUE(is_free(next));
  EXPECT_EQ(content("next"), "another one");
}

// As by an MPI library's handle, past the pool.
TEST_F(RetiredFiles, WhatIsTriedAgainDoesNotTakeTheNameOfANewerFile) {
  const auto key = write_and_close("new", "the new one");
  disk_.follow(store::full_disk());
  drain::Engine engine(made_.pool, pool::small_plan(), disk_);
  ASSERT_TRUE(becomes_kept(key));
  make_file("new", "newer");
  const timespec later[2] = {{0, UTIME_OMIT}, {std::time(nullptr) + 10, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (directory_ / "new").c_str(), later, 0), 0);
  disk_.follow({});
  pool::try_again(made_.pool);
  ASSERT_TRUE(is_free(key));
  EXPECT_EQ(content("new"), "newer");
}

TEST_F(RetiredFiles, AnOutputAppearsUnderTheNameThatItWasGiven) {
  make_file("restart", "the old one");
  const auto key = write_and_close("restart.new", "the new one");
  rename_output(key, "restart");

  drain::Engine engine(made_.pool, pool::small_plan(), disk_);

  ASSERT_TRUE(is_free(key));
  EXPECT_EQ(content("restart"), "the new one");
  EXPECT_FALSE(is_there("restart.new"));
}

TEST_F(RetiredFiles, RecoveryFollowsTheNewName) {
  const auto key = write_and_close("restart.new", "the new one");
  rename_output(key, "restart");

  const service::Recovered recovered = service::complete(made_.pool, disk_);

  EXPECT_TRUE(recovered.pool_removed);
  EXPECT_EQ(content("restart"), "the new one");
  EXPECT_FALSE(is_there("restart.new"));
}

// A drain that was killed had prepared them before the program gave the output its name.
TEST_F(RetiredFiles, RecoveryRemovesChecksumsThatWerePreparedForAnEarlierName) {
  checksums_ = true;
  const auto key = write_and_close("restart.new", "the new one");
  const fs::path prepared = store::sidecar_path(directory_ / "restart.new") + ".part";
  std::ofstream(prepared) << "half of them";
  made_.pool.header().drains = 1;
  rename_output(key, "restart");

  static_cast<void>(service::complete(made_.pool, disk_));

  EXPECT_EQ(content("restart"), "the new one");
  EXPECT_FALSE(fs::exists(prepared));
}

TEST_F(RetiredFiles, AnOutputThatWasRemovedDoesNotAppear) {
  const auto key = write_and_close("new", "the new one");
  rename_output(key, "");

  drain::Engine engine(made_.pool, pool::small_plan(), disk_);

  ASSERT_TRUE(is_free(key));
  EXPECT_FALSE(is_there("new"));
  EXPECT_FALSE(is_there(".new.working"));
}

// As the preloaded library removes an output that is closed and not published, while others are on their way.
TEST_F(RetiredFiles, AnOutputThatWasRemovedAppearsIfWhatWasClosedAfterItDoesNot) {
  checksums_ = true;
  for (const bool fails : {false, true}) {
    const auto first = write_and_close("first", "1"), second = write_and_close("second", "2");
    const std::string hidden = retire_output(first, "first", second);
    if (fails) {
      static_cast<void>(drain::settle_names(made_.pool, disk_, second, drain::Ending::kept));
      made_.pool.slot(second.slot).is_renamed = pool::is_removed_output;   // the drain gives it up
      pool::NameLog log(made_.pool.name(), pool::NameLog::Make::yes);
      pool::NameChange none{.kind = pool::NameChange::Kind::renamed, .state = pool::NameChange::State::waiting, .output = second};
      ASSERT_TRUE(log.write(log.count(), none));
    }
    {
      drain::Engine engine(made_.pool, pool::small_plan(), disk_);
      ASSERT_TRUE(is_free(first) && is_free(second));
    }
    EXPECT_EQ(is_there("first"), fails);
    EXPECT_EQ(is_there("second"), !fails);
    EXPECT_FALSE(fs::exists(hidden));
    EXPECT_FALSE(fs::exists(store::sidecar_path(hidden)));
    fs::remove(directory_ / "first");
    fs::remove(directory_ / "second");
  }
}

TEST_F(RetiredFiles, AnOutputThatWasReplacedStaysHiddenWhereAnotherFileHasItsName) {
  const auto first = write_and_close("first", "1"), second = write_and_close("second", "2");
  const std::string hidden = retire_output(first, "first", second);
  make_file("first", "what has replaced it");

  const drain::Retired retired = drain::settle_names(made_.pool, disk_, second, drain::Ending::kept);

  EXPECT_EQ(retired.hidden, std::vector<std::string>{hidden});
  drain::Engine engine(made_.pool, pool::small_plan(), disk_);
  ASSERT_TRUE(is_free(first) && is_free(second));
  EXPECT_EQ(content("first"), "what has replaced it");
  EXPECT_EQ(content(".first.glean-0.1.2.host-1.removed"), "1");
}

TEST_F(RetiredFiles, AFileInPlaceIsNotWrittenBeforeWhatWasClosedEarlierIsDurable) {
  make_file("b", "bbbb");
  const auto first = write_and_close("a", "aaaa");
  const auto second = write_and_close("b", "BB", true);
  made_.pool.slot(second.slot).follows[first.slot] = first.generation;
  disk_.follow(store::full_disk());
  {
    drain::Engine engine(made_.pool, pool::small_plan(), disk_);
    ASSERT_TRUE(becomes_kept(first));
    ASSERT_TRUE(becomes_kept(second));
    engine.stop();
  }
  EXPECT_EQ(content("b"), "bbbb");
  disk_.follow({});
  EXPECT_TRUE(service::try_what_is_kept(made_.pool, disk_));
  EXPECT_EQ(content("a"), "aaaa");
  EXPECT_EQ(content("b"), "BBbb");
}

// Its own output is one of those that were closed before.
TEST_F(RetiredFiles, AFileInPlaceMayBeRemovedOrReplacedWhileItIsPublished) {
  for (const auto kind : {pool::NameChange::Kind::removed, pool::NameChange::Kind::replaced}) {
    for (const bool checksums : {false, true}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", checksums " << checksums);
      checksums_ = checksums;
      direct_io_ = base::DirectIo::off;   // which would be an open more
      make_file("old", "the old one");
      make_file("other", "another");
      const auto key = write_and_close("old", "THE", true);
      std::string hidden;
      // Before something is made durable, or before the file is opened once more, whatever is first.
      const auto meanwhile = [&, done = std::make_shared<std::once_flag>()] {
        std::call_once(*done, [&] {
          hidden = retire("old", closed_so_far(), kind);
          if (kind == pool::NameChange::Kind::replaced) fs::rename(directory_ / "other", directory_ / "old");
        });
      };
      store::FaultyCalls disk({store::on("fsync").before(meanwhile), store::on("open").of(directory_ / "old").from(1).before(meanwhile)});

      const drain::Engine engine(made_.pool, pool::small_plan(), disk);

      ASSERT_TRUE(is_free(key));
      EXPECT_EQ(content("old"), kind == pool::NameChange::Kind::replaced ? "another" : "");
      EXPECT_EQ(is_there("old"), kind == pool::NameChange::Kind::replaced);
      EXPECT_FALSE(hidden.empty() || fs::exists(hidden));
      EXPECT_FALSE(fs::exists(store::sidecar_path(directory_ / "old")));
    }
  }
}

TEST_F(RetiredFiles, RecoveryGivesNamesBackThatNoOutputWillSettle) {
  make_file("old", "the old one");
  pool::Fence fence{};
  fence[5] = 3;   // of an output that is not in the pool any more
  static_cast<void>(retire("old", fence));

  const service::Recovered recovered = service::complete(made_.pool, disk_);

  EXPECT_EQ(content("old"), "the old one");
  EXPECT_EQ(recovered.restored, std::vector<std::string>{directory_ / "old"});
}

TEST_F(RetiredFiles, GetTheirNamesBackWhenThePoolIsLost) {
  const std::string pool = "/glean." + std::to_string(getuid()) + "." + std::to_string(getpid()) + ".1";
  make_file(".old.glean-" + pool::hidden_job(pool) + "-1.removed", "the old one");
  make_file(".else.glean-0.1.2.another-host-7.removed", "of a job elsewhere");
  std::ofstream("/dev/shm" + pool).flush();
  EXPECT_TRUE(drain::restore_in(directory_ / ".", disk_, drain::OfHosts::this_one).restored.empty());   // the job may be alive
  fs::remove("/dev/shm" + pool);
  EXPECT_EQ(drain::restore_in(directory_ / ".", disk_, drain::OfHosts::this_one).restored.size(), 1U);
  EXPECT_EQ(content("old"), "the old one");
  EXPECT_FALSE(is_there("else"));
  EXPECT_EQ(drain::restore_in(directory_ / ".", disk_, drain::OfHosts::any).restored.size(), 1U);
  EXPECT_EQ(content("else"), "of a job elsewhere");
}

}  // namespace
}  // namespace glean::tests::retired_files_test
