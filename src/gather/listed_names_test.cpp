// SPDX-License-Identifier: BSD-3-Clause
#include "gather/listed_names.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "gather/gathering.hpp"
#include "gather/placing.hpp"
#include "store/container/pack.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::gather {
namespace {

using Names = std::vector<std::string>;

class Listing : public testing::Test {
 protected:
  Listing() {
    std::filesystem::create_directories(directory_ / "processor0/0.5");
    std::filesystem::create_directories(directory_ / "processor1/0.5");
  }
  ~Listing() override {
    const NodeLock lock(files_.root());
    files_.discard();
    static_cast<void>(files_.remove_if_empty());
  }

  [[nodiscard]] RankFile file(const std::string& name) const { return *placing_.rules().find(directory_ / name); }
  void write(const std::string& name) {
    NodeLock lock(files_.root());
    const auto path = placing_.lead(file(name), {.writes = true, .creates = true, .truncates = true}, lock);
    ASSERT_TRUE(path);
    store::write_text(*path, name);
    static_cast<void>(files_.settle(files_.family(file(name)), name, Family::Otherwise::closed));
  }
  void remove(const std::string& name) {
    NodeLock lock(files_.root());
    ASSERT_EQ(placing_.remove(file(name), lock), Placing::Done::done);
  }
  void gather_all() {
    for (const Family& family : files_.families()) gather(files_, family);
  }
  void pack(const std::string& container, const Names& names) {
    store::SystemCalls calls;
    std::vector<store::PackSource> sources;
    store::write_text(directory_ / ".source", "text");
    for (const std::string& name : names) sources.push_back({directory_ / ".source", name});
    store::pack(calls, directory_ / container, sources, {}, [](Bytes) {});
  }
  [[nodiscard]] Names list(const std::string& under = "") {
    Names names;
    for (const ListedName& each : placing_.names_in(under.empty() ? directory_.string() : directory_ / under)) {
      EXPECT_TRUE(each.inode > 0 && each.inode < 65536) << each.inode;
      names.push_back(each.name);
    }
    return names;
  }

  store::TemporaryDirectory directory_;
  NodeFiles files_ = NodeFiles::make({.budget_bytes = base::MiB, .spill_directory = {}, .node = 0, .ranks = 2, .run_directory = {},
                                      .rules = {{"r.{rank}", "r.sion"}, {"s.{rank}.{step}", "s.{step}.sion"}, {"n.{rank}", "n.{node}.sion"},
                                                {"processor{rank}/{time}/{field}", "all.{time}.sion"}}});
  Placing placing_{files_, true};
};

TEST_F(Listing, HasFilesOnTheNodeAndInContainers) {
  write("r.0");
  write("r.10");
  EXPECT_EQ(list(), (Names{"r.0", "r.10"}));
  const auto before = placing_.names_in(directory_.string());

  gather_all();
  EXPECT_EQ(placing_.names_in(directory_.string()), before) << "with other numbers";

  write("r.2");
  write("r.0");
  EXPECT_EQ(list(), (Names{"r.0", "r.10", "r.2"}));
}

TEST_F(Listing, HasNotWhatIsRemovedOnTheNodeOrInTheContainer) {
  write("r.0");
  write("r.1");
  gather_all();
  write("r.2");
  remove("r.0");
  remove("r.2");
  EXPECT_EQ(list(), Names{"r.1"});

  gather_all();
  EXPECT_EQ(list(), Names{"r.1"});
}

TEST_F(Listing, HasNotWhatIsBeingBroughtIntoTheContainerWhenItIsRemoved) {
  write("r.0");
  const Family family = files_.family(file("r.0"));
  ASSERT_TRUE(family.move(*family.find("r.0"), State::packing, "r.0"));
  EXPECT_EQ(list(), Names{"r.0"});

  remove("r.0");

  EXPECT_EQ(list(), Names{});
}

TEST_F(Listing, HasNotWhatTheDirectoryHasItself) {
  pack("r.sion", {"r.0", "r.1"});
  store::write_text(directory_ / "r.1", "its own");

  EXPECT_EQ(list(), Names{"r.0"});
}

TEST_F(Listing, HasFilesOfAllStepsAndNodes) {
  pack("s.1.sion", {"s.0.1", "s.0.2", "r.0"});
  pack("s.2.sion", {"s.0.2", "s.1.2"});
  pack("n.7.sion", {"n.3", "x"});
  store::write_text(directory_ / "s.3.sion", "no container");
  write("s.0.4");

  EXPECT_EQ(list(), (Names{"n.3", "s.0.1", "s.0.2", "s.0.4", "s.1.2"}));
}

TEST_F(Listing, IsThatOfEachDirectoryOfWhichAContainerHasFiles) {
  pack("all.0.5.sion", {"processor0/0.5/U", "processor0/0.5/p", "processor1/0.5/U", "processor0/0.6/U", "U"});

  EXPECT_EQ(list("processor0/0.5"), (Names{"U", "p"}));
  EXPECT_EQ(list("processor1/0.5"), Names{"U"});
  EXPECT_EQ(list("processor0"), Names{});
}

TEST_F(Listing, ReadsAContainerAgainWhenItIsAnotherOne) {
  pack("r.sion", {"r.0"});
  EXPECT_EQ(list(), Names{"r.0"});

  std::filesystem::remove(directory_ / "r.sion");
  EXPECT_EQ(list(), Names{});
  pack("r.sion", {"r.0", "r.1", "r.2"});

  EXPECT_EQ(list(), (Names{"r.0", "r.1", "r.2"}));
}

}  // namespace
}  // namespace glean::gather
