// SPDX-License-Identifier: BSD-3-Clause
#include "gather/tally.hpp"

#include <gtest/gtest.h>

#include "gather/node_files.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::gather {
namespace {

using store::write_text;

// Files of one container, and a budget of 1 MiB.
class TallyOfFiles : public testing::Test {
 protected:
  ~TallyOfFiles() override {
    files_.discard();
    static_cast<void>(files_.remove_if_empty());
  }

  [[nodiscard]] static std::string name(std::uint64_t i) { return "r." + std::to_string(i); }
  // As a program does that opens it to write.
  std::string begin(std::uint64_t i) {
    std::string path = files_.place(family_, State::open, name(i), files_.longest(0));
    write_text(path, "");
    return path;
  }
  [[nodiscard]] bool is_in_memory(const std::string& path) const { return path.starts_with(files_.root()); }
  void settle(std::uint64_t i) { ASSERT_TRUE(files_.settle(family_, name(i), Family::Otherwise::open)); }

  store::TemporaryDirectory directory_;
  NodeFiles files_ = NodeFiles::make({.budget_bytes = base::MiB, .spill_directory = {}, .node = 0, .ranks = 1, .run_directory = {},
                                      .rules = {{"r.{rank}", "r.sion"}}});
  NodeLock lock_{files_.root()};
  Family family_ = files_.family(*GatherRules(files_.settings().rules, 0).find(directory_ / "r.0"));
};

TEST_F(TallyOfFiles, LooksAtFilesAFewTimesHoweverManyThereAre) {
  constexpr std::uint64_t files = 2000;
  files_.note_length(0, 8);
  std::uint64_t in_memory = 0;

  for (std::uint64_t i = 0; i < files; ++i) {
    const std::string path = begin(i);
    in_memory += is_in_memory(path) ? 1 : 0;
    write_text(path, "8 bytes.");
    settle(i);
  }

  EXPECT_EQ(in_memory, 256u) << "pages that fill the budget; the others lie beside";
  EXPECT_LE(Tally(files_.root()).entries_looked_at(), 20 * files);
}

TEST_F(TallyOfFiles, KeepsTheBudgetWhereFilesBecomeLongerThanAllBefore) {
  files_.note_length(0, 4096);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(is_in_memory(begin(i)));   // all are open at a time
  for (std::uint64_t i = 0; i < 8; ++i) {
    write_text(family_.find(name(i))->data, std::string(100'000, 'a'));
    settle(i);
  }

  EXPECT_EQ(files_.longest(0), 100'000u);
  EXPECT_GE(Tally(files_.root()).used(), 800'000u);
  EXPECT_TRUE(is_in_memory(begin(8)));
  EXPECT_TRUE(is_in_memory(begin(9)));
  EXPECT_FALSE(is_in_memory(begin(10))) << "ten of them are all that 1 MiB holds";
}

TEST_F(TallyOfFiles, GivesTheRoomOfARemovedFileToAnother) {
  files_.note_length(0, 600'000);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::string path = begin(i);
    EXPECT_TRUE(is_in_memory(path));
    write_text(path, std::string(600'000, 'a'));
    settle(i);
    files_.remove(family_, *family_.find(name(i)));
  }
}

TEST_F(TallyOfFiles, ReservesForAFileThatIsOpenedAgainWhatTheLongestTakes) {
  files_.note_length(0, 600'000);
  write_text(begin(0), "short");
  settle(0);
  ASSERT_TRUE(is_in_memory(begin(1)));
  settle(1);

  ASSERT_TRUE(files_.open_again(family_, *family_.find(name(0)), name(0)));

  EXPECT_FALSE(is_in_memory(begin(2))) << "the one that is open may take 600 kB, too";
}

}  // namespace
}  // namespace glean::gather
