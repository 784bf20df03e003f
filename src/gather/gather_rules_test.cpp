// SPDX-License-Identifier: BSD-3-Clause
#include "gather/gather_rules.hpp"

#include <gtest/gtest.h>

namespace glean::gather {
namespace {

TEST(GatherRules, MakeTheContainerWhereThePatternBegins) {
  const GatherRules rules({{"restart.{rank}", "restart.sion"}, {"processor{rank}/{time}/U", "../all.{time}.sion"}}, 0);

  const auto restart = rules.find("/data/run/restart.12");
  const auto processor = rules.find("/data/run/processor3/0.5/U");

  ASSERT_TRUE(restart && processor);
  EXPECT_EQ(restart->container, "/data/run/restart.sion");
  EXPECT_EQ(restart->name, "restart.12");
  EXPECT_EQ(restart->rank, "12");
  EXPECT_EQ(processor->container, "/data/all.0.5.sion");
  EXPECT_EQ(processor->name, "run/processor3/0.5/U");
}

TEST(GatherRules, GiveFilesOfSeveralDirectoriesOtherNamesInOneContainer) {
  const GatherRules rules({{"r.{rank}", "../all.sion"}, {"s.{rank}", "/scratch/all.sion"}, {"/data/{time}/t.{rank}", "/data/all.sion"}}, 0);

  EXPECT_EQ(rules.find("/data/a/r.0")->container, rules.find("/data/b/r.0")->container);
  EXPECT_EQ(rules.find("/data/a/r.0")->name, "a/r.0");
  EXPECT_EQ(rules.find("/data/b/r.0")->name, "b/r.0");
  EXPECT_EQ(rules.find("/data/a/s.0")->name, "data/a/s.0");
  EXPECT_EQ(rules.find("/data/0.5/t.0")->name, "0.5/t.0");
  EXPECT_EQ(rules.rank_of("b/r.07") + rules.rank_of("data/a/s.8") + rules.rank_of("0.5/t.9"), "789");
}

TEST(GatherRules, LeaveNamesAloneThatNoEntryCanHave) {
  const GatherRules rules({{"a{a}/b{b}/c{rank}", "all.sion"}}, 0);
  const std::string begin = "/a" + std::string(120, 'x') + "/b" + std::string(120, 'x');

  EXPECT_TRUE(rules.find(begin + "/c1"));
  EXPECT_FALSE(rules.find(begin + "/c" + std::string(20, '1')));
}

TEST(GatherRules, FindContainersOfNodesInDirectoriesWithCharactersOfTheShell) {
  const GatherRules rules({{"r.{rank}", "r.{node}.sion"}}, 3);

  const auto file = rules.find("/runs [1]/a*b/r.0");

  ASSERT_TRUE(file);
  EXPECT_EQ(file->container, "/runs [1]/a*b/r.3.sion");
  EXPECT_EQ(file->containers_of_nodes, "/runs \\[1]/a\\*b/r.*.sion");
}

TEST(GatherRules, AreDecidedByTheLastThatMatches) {
  const GatherRules rules({{"f{field}.{rank}", "all.sion"}, {"f2.{rank}", "two.sion"}}, 0);

  EXPECT_EQ(rules.find("/f1.0")->container, "/all.sion");
  EXPECT_EQ(rules.find("/f2.0")->container, "/two.sion");
  EXPECT_EQ(rules.find("/f2.0")->name, "f2.0");
}

TEST(GatherRules, LeaveContainersAndHiddenFilesAlone) {
  const GatherRules rules({{"{any}.{rank}", "all.7"}}, 0);

  EXPECT_TRUE(rules.find("/a/b.3"));
  EXPECT_FALSE(rules.find("/a/all.7"));
  EXPECT_FALSE(rules.find("/a/.b.3"));
  EXPECT_FALSE(rules.may_match("/a/.b.3"));
  EXPECT_FALSE(rules.may_match("/a/b"));
}

TEST(GatherRules, KnowTheContainersOfAllNodes) {
  const auto file = GatherRules({{"r.{rank}", "r.{node}.sion"}}, 4).find("/x/r.1");

  ASSERT_TRUE(file);
  EXPECT_EQ(file->container, "/x/r.4.sion");
  EXPECT_EQ(file->containers_of_nodes, "/x/r.*.sion");
}

TEST(GatherRules, KnowTheContainersThatMayHaveFilesOfADirectory) {
  const GatherRules rules({{"r.{rank}", "r.{node}.sion"}, {"s.{rank}.{step}", "s.{step}.sion"},
                           {"processor{rank}/{time}/U", "../all.{time}.sion"}, {"/data/{time}/t.{rank}", "../{time}.sion"}}, 4);
  using Patterns = std::vector<std::string>;

  EXPECT_EQ(rules.containers_for("/a[b"), (Patterns{"/a\\[b/r.*.sion", "/a\\[b/s.*.sion"}));
  EXPECT_EQ(rules.containers_for("/a/b/processor7/0.5"),
            (Patterns{"/a/b/processor7/0.5/r.*.sion", "/a/b/processor7/0.5/s.*.sion", "/a/all.0.5.sion"}));
  EXPECT_EQ(rules.containers_for("/processor7/0.5").back(), "/all.0.5.sion");
  EXPECT_EQ(rules.containers_for("/data/9").back(), "/data/9.sion");
  EXPECT_EQ(rules.containers_for("/"), (Patterns{"/r.*.sion", "/s.*.sion"}));
  EXPECT_TRUE(GatherRules({{"processor{rank}/{time}/U", "all.sion"}}, 0).containers_for("/processor7").empty());
}

TEST(GatherRules, TellRanksApartWhateverTheirZeros) {
  const GatherRules rules({{"r.{rank}.{step}", "r.{step}"}}, 0);

  EXPECT_EQ(rules.rank_of("r.007.3"), "7");
  EXPECT_EQ(rules.rank_of("r.000.3"), "0");
  EXPECT_EQ(rules.rank_of("x.000.3"), "");
}

}  // namespace
}  // namespace glean::gather
