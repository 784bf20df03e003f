// SPDX-License-Identifier: BSD-3-Clause
#include "gather/placing.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/error.hpp"
#include "gather/gatherer.hpp"
#include "gather/gathering.hpp"
#include "gather/left_files.hpp"
#include "store/container/container_writer.hpp"
#include "store/container/pack.hpp"
#include "store/container/test_containers.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::gather {
namespace {

using store::read_text;
using store::write_text;

constexpr Intent looks{}, appends{.writes = true, .creates = true}, cuts{.writes = true, .creates = true, .truncates = true};

// A job whose files are in a directory of their own, and which ends with the test.
class Gathering : public testing::Test {
 protected:
  ~Gathering() override {
    const NodeLock lock(files_.root());
    files_.discard();
    static_cast<void>(files_.remove_if_empty());
  }

  [[nodiscard]] RankFile file(const std::string& name) const { return *placing_.rules().find(directory_ / name); }
  std::optional<std::string> lead(const std::string& name, Intent intent) {
    NodeLock lock(files_.root());
    return placing_.lead(file(name), intent, lock);
  }
  // As a program does.
  void write(const std::string& name, const std::string& text) {
    const auto path = lead(name, cuts);
    ASSERT_TRUE(path);
    write_text(*path, text);
    settle();
  }
  void settle() {
    const NodeLock lock(files_.root());
    for (const Family& family : files_.families()) {
      for (const std::string& name : family.names(State::open)) static_cast<void>(files_.settle(family, name, Family::Otherwise::open));
    }
  }
  [[nodiscard]] std::string read(const std::string& name) {
    const auto path = lead(name, looks);
    return path ? read_text(*path) : "nothing";
  }
  void remove(const std::string& name) {
    NodeLock lock(files_.root());
    EXPECT_EQ(placing_.remove(file(name), lock), Placing::Done::done);
  }
  // As other programs do.
  void pack_container(const std::vector<std::pair<std::string, std::string>>& files, std::uint32_t physical) {
    store::SystemCalls calls;
    std::vector<store::PackSource> sources;
    for (const auto& [name, text] : files) {
      sources.push_back({directory_ / ("from " + name), name});
      write_text(sources.back().path, text);
    }
    store::PackOptions options;
    options.files = physical;
    store::pack(calls, directory_ / "r.sion", sources, options, [](Bytes) {});
  }
  Gathered gather_all() { return gather(files_, files_.family(file("r.0"))); }
  [[nodiscard]] bool is_there(const std::string& name) const { return std::filesystem::exists(directory_ / name); }

  store::TemporaryDirectory directory_;
  NodeFiles files_ = NodeFiles::make({.budget_bytes = base::MiB, .spill_directory = {}, .node = 0, .ranks = 2, .run_directory = {},
                                      .rules = {{"r.{rank}", "r.sion"}}});
  Placing placing_{files_, true};
};

TEST_F(Gathering, LeadsNewFilesToTheNodeAndFindsThemInTheContainer) {
  write("r.0", "zero");
  write("r.1", "one");
  EXPECT_EQ(read("r.0"), "zero");
  EXPECT_FALSE(is_there("r.0") || is_there("r.sion"));

  const Gathered gathered = gather_all();

  EXPECT_EQ(gathered.in_container, 2u);
  EXPECT_TRUE(is_there("r.sion"));
  EXPECT_EQ(read("r.1"), "one");
  EXPECT_FALSE(lead("r.2", looks));
  EXPECT_FALSE(lead("r.2", {.writes = true})) << "nothing is made without O_CREAT";
}

TEST_F(Gathering, KeepsWhatIsNotWrittenAgain) {
  write("r.0", "zero");
  write("r.1", "one");
  gather_all();

  write("r.1", "another");
  EXPECT_EQ(gather_all().in_container, 2u);

  EXPECT_EQ(read("r.0"), "zero");
  EXPECT_EQ(read("r.1"), "another");
}

TEST_F(Gathering, AppendsToWhatTheContainerHas) {
  write("r.0", "zero");
  gather_all();

  const auto path = lead("r.0", appends);
  ASSERT_TRUE(path);
  EXPECT_EQ(read_text(*path), "zero");
  write_text(*path, "zero and more");
  settle();
  gather_all();

  EXPECT_EQ(read("r.0"), "zero and more");
}

TEST_F(Gathering, LetsGoOfWhatIsRemovedAndOfTheContainerWithTheLast) {
  write("r.0", "zero");
  write("r.1", "one");
  gather_all();

  remove("r.0");
  EXPECT_FALSE(lead("r.0", looks));
  EXPECT_EQ(gather_all().in_container, 1u);
  EXPECT_FALSE(lead("r.0", looks));
  EXPECT_EQ(read("r.1"), "one");
  remove("r.1");
  gather_all();

  EXPECT_FALSE(is_there("r.sion"));
}

TEST_F(Gathering, LeavesFilesOfTheirOwnAlone) {
  write_text(directory_ / "r.0", "its own");

  EXPECT_FALSE(lead("r.0", looks));
  EXPECT_FALSE(lead("r.0", cuts));
}

TEST_F(Gathering, LeavesAContainersNameToWhatHasIt) {
  write_text(directory_ / "r.sion", "no container");

  EXPECT_FALSE(lead("r.0", cuts));
  EXPECT_EQ(read_text(directory_ / "r.sion"), "no container");
}

TEST_F(Gathering, ReplacesNoContainerThatItCannotLookInto) {
  std::filesystem::create_symlink("r.sion", directory_ / "r.sion");
  const Family family = files_.family(file("r.0"));
  write_text(family.entry(State::closed, "r.0"), "zero");

  EXPECT_FALSE(lead("r.1", cuts));
  EXPECT_THROW(gather_all(), base::Error);

  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "r.sion"));
  EXPECT_EQ(read("r.0"), "zero");
}

TEST_F(Gathering, LeavesAContainerAloneWhoseFilesHaveNamesThatLeadElsewhere) {
  write_text(directory_ / "r.sion", "");
  store::SystemCalls calls;
  store::File written(calls, {directory_ / "r.sion", directory_ / "r.sion"}, base::DirectIo::off);
  store::ContainerHeader header;
  header.id = 1;
  header.global_ranks = {0};
  header.chunk_bytes = {4096};
  store::ContainerWriter(written, header).finish({{"../r.0", 0, 0, 0}}, {});

  EXPECT_FALSE(lead("r.0", cuts));
}

TEST_F(Gathering, MakesOneFileOfAContainerThatHasSeveral) {
  pack_container({{"r.0", "zero"}, {"other", "of somebody else"}}, 2);
  ASSERT_TRUE(is_there("r.sion.000001"));

  write("r.0", "again");
  EXPECT_EQ(gather_all().in_container, 2u);

  EXPECT_FALSE(is_there("r.sion.000001"));
  store::SystemCalls calls;
  EXPECT_EQ(store::Container(calls, directory_ / "r.sion").files().front().name, "other");
}

// Two jobs, each with files of its own.
TEST_F(Gathering, KeepsWhatAnotherJobGathersIntoTheContainerMeanwhile) {
  const NodeFiles others = NodeFiles::make(files_.settings());
  const std::string long_text(8 * base::MiB, 'a');
  const auto put = [&](const NodeFiles& files, const char* name) {
    write_text(files.family(file("r.0")).entry(State::closed, name), long_text);
  };
  put(files_, "r.0");
  put(others, "r.1");

  const pid_t other = fork();
  if (other == 0) {
    gather(others, others.family(file("r.0")));
    _exit(0);
  }
  gather_all();
  int status = 0;
  EXPECT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);

  store::SystemCalls calls;
  EXPECT_EQ(store::Container(calls, directory_ / "r.sion").files().size(), 2u);
  EXPECT_TRUE(others.remove_if_empty());
}

TEST_F(Gathering, LeavesAContainerAsItIsWhenNothingIsClosed) {
  write("r.0", "zero");
  gather_all();
  const auto before = std::filesystem::last_write_time(directory_ / "r.sion");
  ASSERT_TRUE(lead("r.0", appends));

  EXPECT_EQ(gather_all().files, 0u);

  EXPECT_EQ(std::filesystem::last_write_time(directory_ / "r.sion"), before);
}

TEST_F(Gathering, RenamesOnTheNodeAndToAFileOfItsOwn) {
  write("r.0", "zero");
  write("r.1", "one");
  NodeLock lock(files_.root());

  EXPECT_EQ(placing_.rename(directory_ / "r.0", file("r.0"), directory_ / "r.1", file("r.1"), lock), 0);
  EXPECT_EQ(placing_.rename(directory_ / "r.1", file("r.1"), directory_ / "own", std::nullopt, lock), 0);
  lock.release();

  EXPECT_EQ(read_text(directory_ / "own"), "zero");
  EXPECT_FALSE(lead("r.0", looks) || lead("r.1", looks));
}

TEST_F(Gathering, LeavesAFileOnTheNodeWhileItIsRead) {
  write("r.0", "zero");
  write("r.1", "one");
  const int reader = open(lead("r.0", looks)->c_str(), O_RDONLY);
  gather_all();

  write_text(lead("r.0", {.writes = true}).value(), "changed");

  std::array<char, 16> text{};
  EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(pread(reader, text.data(), text.size(), 0))), "changed");
  close(reader);
  EXPECT_FALSE(files_.family(file("r.1")).find("r.1")) << "nothing reads it";
  settle();
  gather_all();
  EXPECT_FALSE(files_.family(file("r.0")).find("r.0"));
  EXPECT_EQ(read("r.0"), "changed");
}

TEST_F(Gathering, KeepsThePermissionsOfWhatIsRenamedToAFileOfItsOwn) {
  write("r.0", "zero");
  std::filesystem::permissions(*lead("r.0", looks), std::filesystem::perms(0666));
  NodeLock lock(files_.root());

  EXPECT_EQ(placing_.rename(directory_ / "r.0", file("r.0"), directory_ / "own", std::nullopt, lock), 0);

  EXPECT_EQ(std::filesystem::status(directory_ / "own").permissions(), std::filesystem::perms(0666));
}

TEST_F(Gathering, PutsBesideWhatTheBudgetHasNoRoomFor) {
  files_.note_length(0, 1);
  write("r.0", std::string(2 * base::MiB, 'a'));
  const auto path = lead("r.1", cuts);
  ASSERT_TRUE(path);
  write_text(*path, "one");
  settle();

  EXPECT_TRUE(path->starts_with(directory_ / ".r.sion."));
  gather_all();
  EXPECT_EQ(read("r.1"), "one");
  EXPECT_FALSE(std::filesystem::exists(*path));
}

TEST_F(Gathering, PutsBesideTheContainerWhatTheDirectoryForMoreCannotTake) {
  NodeSettings settings = files_.settings();
  settings.spill_directory = "/nowhere";
  const NodeFiles files = NodeFiles::make(settings);
  NodeLock lock(files.root());

  const std::string path = files.place(files.family(file("r.0")), State::open, "r.0", std::nullopt);

  EXPECT_TRUE(path.starts_with(directory_ / ".r.sion."));
  files.discard();
  EXPECT_TRUE(files.remove_if_empty());
}

TEST_F(Gathering, PutsBesideWhoseLengthIsNotKnownYet) {
  const auto first = lead("r.0", cuts);
  ASSERT_TRUE(first);
  write_text(*first, "zero");
  settle();
  const auto second = lead("r.1", cuts);
  ASSERT_TRUE(second);
  write_text(*second, "one");
  settle();
  gather_all();

  EXPECT_TRUE(first->starts_with(directory_ / ".r.sion."));
  EXPECT_TRUE(second->starts_with(files_.root()));
  EXPECT_EQ(files_.longest(0), 4u);
  EXPECT_EQ(read("r.0") + read("r.1"), "zeroone");
}

TEST_F(Gathering, KnowsAFileToBeOpenByWhateverMayWriteIt) {
  const auto path = lead("r.0", cuts);
  ASSERT_TRUE(path);
  const int descriptor = open(path->c_str(), O_RDWR | O_CREAT, 0644);
  const int other = dup(descriptor);
  close(descriptor);
  const Family family = files_.family(file("r.0"));

  EXPECT_FALSE(family.settle("r.0"));
  close(other);
  EXPECT_TRUE(family.settle("r.0"));
  EXPECT_TRUE(family.find(State::closed, "r.0"));
}

TEST_F(Gathering, BeginsAnotherFileWhereOneIsBeingGathered) {
  write("r.0", "zero");
  const Family family = files_.family(file("r.0"));
  ASSERT_TRUE(family.move(*family.find("r.0"), State::packing, "r.0"));

  write("r.0", "later");

  EXPECT_EQ(read_text(family.entry(State::packing, "r.0")), "zero");
  EXPECT_EQ(read("r.0"), "later");
  gather_all();
  EXPECT_EQ(read("r.0"), "later");
}

TEST_F(Gathering, GathersInTheBackgroundWhatAllRanksHaveClosed) {
  Gatherer gatherer(files_, {getpid(), getpid()});
  write("r.0", "zero");
  write("r.1", "one");

  for (int naps = 0; naps < 1000 && !is_there("r.sion"); ++naps) usleep(10'000);

  EXPECT_TRUE(is_there("r.sion"));
  EXPECT_TRUE(gatherer.finish().empty());
}

TEST_F(Gathering, SaysAtTheEndWhatCannotBeWrittenAndKeepsIt) {
  Gatherer gatherer(files_, {getpid(), getpid()});
  write("r.0", "zero");
  gatherer.stop();
  write_text(directory_ / "r.sion", "no container");

  const auto failed = gatherer.finish();

  ASSERT_EQ(failed.size(), 1u);
  EXPECT_NE(failed[0].find("r.sion"), std::string::npos);
  EXPECT_EQ(read("r.0"), "zero");
}

// A job that is gone: nothing locks its directory.
TEST(LeftFiles, AreGatheredIfTheyWereClosedAndKeptBesideIfNot) {
  const store::TemporaryDirectory directory;
  const NodeFiles files = NodeFiles::make({.budget_bytes = base::MiB, .spill_directory = {}, .node = 0, .ranks = 2, .run_directory = {},
                                           .rules = {{"r.{rank}", "r.sion"}}});
  Placing placing(files, true);
  for (const char* name : {"r.0", "r.1"}) {
    NodeLock lock(files.root());
    write_text(placing.lead(*placing.rules().find(directory / name), cuts, lock).value(), name);
    const Family family = files.family(*placing.rules().find(directory / name));
    if (std::string(name) == "r.0") {
      EXPECT_TRUE(family.settle(name));
    }
  }

  const LeftFiles left = recover_files(files.root(), Remaining::gather, Ended::killed);

  ASSERT_EQ(left.containers.size(), 1u);
  EXPECT_EQ(left.state, "complete");
  EXPECT_EQ(left.containers[0].unclosed, std::vector<std::string>{"r.1"});
  EXPECT_EQ(read_text(directory / "r.1.unclosed"), "r.1");
  store::SystemCalls calls;
  EXPECT_EQ(store::Container(calls, directory / "r.sion").files().size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(files.root()));
}

TEST(LeftFiles, OfAJobThatWasKilledWhileItMadeAFamilyLeaveNoDirectory) {
  const NodeFiles files = NodeFiles::make({.budget_bytes = base::MiB, .spill_directory = {}, .node = 0, .ranks = 1, .run_directory = {},
                                           .rules = {{"r.{rank}", "r.sion"}}});
  const store::TemporaryDirectory directory;
  const Family whole = files.family(*GatherRules(files.settings().rules, 0).find(directory / "r.0"));
  std::filesystem::create_directories(files.root() + "/00/open");
  write_text(files.root() + "/00/container.1.2", "0\t/half");
  write_text(whole.entry(State::open, "..") + "/container.1.2", "0\t/half");

  EXPECT_EQ(recover_files(files.root(), Remaining::gather, Ended::killed).state, "complete");

  EXPECT_FALSE(std::filesystem::exists(files.root()));
}

TEST(LeftFiles, OfAJobThatWasKilledBeforeItHadSettingsLeaveNoDirectory) {
  const std::string of_the_dead = fmt::format("/dev/shm/glean-files.{}.{}.1", getuid(), 0x7ffffffe);
  const std::string of_the_living = fmt::format("/dev/shm/glean-files.{}.{}.1", getuid(), getpid());
  for (const std::string& root : {of_the_dead, of_the_living}) {
    std::filesystem::create_directory(root);
    write_text(root + "/owner", "");
  }

  EXPECT_EQ(recover_files(of_the_dead, Remaining::gather, Ended::killed).state, "complete");
  EXPECT_EQ(recover_files(of_the_living, Remaining::gather, Ended::killed).state, "in use");

  EXPECT_FALSE(std::filesystem::exists(of_the_dead));
  EXPECT_TRUE(std::filesystem::exists(of_the_living));
  std::filesystem::remove_all(of_the_living);
}

TEST(NodeLock, IsRefusedWhereThereIsNothingToLock) {
  EXPECT_THROW(NodeLock("/dev/shm/glean-files.nowhere"), base::Error);
  EXPECT_FALSE(NodeLock::is_taken_here());
}

TEST(IsAlive, TellsProcessesThatEndFromThoseThatRun) {
  EXPECT_TRUE(is_alive(getpid()));
  EXPECT_FALSE(is_alive(0x7ffffffe));
}

}  // namespace
}  // namespace glean::gather
