// SPDX-License-Identifier: BSD-3-Clause
//
// With a shell script as the program: what is made of a file is the business of src/convert.
#include "drain/copier.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <future>

#include "base/log.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::drain {
namespace {

using base::CopyFormat;

class CopierTest : public ::testing::Test {
 protected:
  CopierTest() { base::set_log_level(base::LogLevel::off); }
  ~CopierTest() override { base::set_log_level(base::LogLevel::warning); }

  std::string script(const std::string& commands) {
    const std::string path = directory_ / "program";
    store::write_text(path, "#!/bin/sh\n" + commands);
    chmod(path.c_str(), 0755);
    return path;
  }
  std::vector<CopyTrace> copies_of(const std::string& program, const std::vector<store::Copy>& wanted) {
    std::promise<std::vector<CopyTrace>> made;
    Copier copier([&](const Job&, std::vector<CopyTrace> traces) { made.set_value(std::move(traces)); }, [this] { ++moves_; });
    Copier::set_program(program);
    EXPECT_TRUE(copier.give({}, {base::Semantics::automatic, instead_, wanted}, {directory_ / ".a.part", directory_ / "a.nc"}));
    return made.get_future().get();
  }

  store::TemporaryDirectory directory_;
  bool instead_ = false;
  std::atomic<int> moves_ = 0;
};

TEST_F(CopierTest, StartsTheProgramForEachCopyInTurn) {
  const std::string program = script("echo \"$@\" >> '" + (directory_ / "asked") + "'\n");

  const auto made = copies_of(program, {{CopyFormat::hdf5, {}}, {CopyFormat::vtkhdf, {}}});

  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].path, directory_ / "a.h5");
  EXPECT_EQ(made[1].path, directory_ / "a.vtkhdf");
  EXPECT_EQ(made[0].error + made[1].error, "");
  const std::string source = directory_ / ".a.part", rest = " --semantics auto --drain " + std::to_string(getpid()) + " -o ";
  EXPECT_EQ(store::read_text(directory_ / "asked"), "convert --to hdf5" + rest + made[0].path + " " + source + "\nconvert --to vtkhdf" +
                                                        rest + made[1].path + " " + source + "\n");
}

TEST_F(CopierTest, SaysWhatTheProgramSaidUnderTheNameThatTheFileWillHave) {
  const auto made = copies_of(script("echo \"'" + (directory_ / ".a.part") + "' has no mesh\" >&2; exit 2\n"), {{CopyFormat::vtkhdf, {}}});

  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].error, "'" + (directory_ / "a.nc") + "' has no mesh");
}

TEST_F(CopierTest, TakesAFailureWithoutAWordForOne) {
  for (const char* ending : {"exit 1\n", "kill -9 $$\n"}) {
    const auto made = copies_of(script(ending), {{CopyFormat::hdf5, {}}});

    ASSERT_EQ(made.size(), 1U);
    EXPECT_EQ(made[0].error, "the command has failed, and has not said why");
  }
}

TEST_F(CopierTest, WantsToSeeAFileThatTakesThePlaceOfAnother) {
  instead_ = true;
  const auto none = copies_of(script("exit 0\n"), {{CopyFormat::hdf5, {}}});
  const auto one = copies_of(script("touch '" + (directory_ / "a.h5") + "'\n"), {{CopyFormat::hdf5, {}}});

  EXPECT_EQ(none.at(0).error, "the command made no such file");
  EXPECT_EQ(one.at(0).error, "");
}

TEST_F(CopierTest, TakesNoStatusForAFailureUnlessTheFileIsThere) {
  signal(SIGCHLD, SIG_IGN);   // as programs do that let their children go by themselves
  const auto none = copies_of(script("exit 0\n"), {{CopyFormat::hdf5, {}}});
  const auto one = copies_of(script("touch '" + (directory_ / "a.h5") + "'\n"), {{CopyFormat::hdf5, {}}});
  signal(SIGCHLD, SIG_DFL);

  EXPECT_NE(none.at(0).error, "");
  EXPECT_EQ(one.at(0).error, "");
}

TEST_F(CopierTest, NamesAProgramThatCannotBeStarted) {
  const auto made = copies_of(directory_ / "none", {{CopyFormat::hdf5, {}}});

  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].error, "it cannot be started: No such file or directory");
}

TEST_F(CopierTest, GivesNoFileAndNothingPreloadedToTheProgram) {
  setenv("LD_PRELOAD", "", 1);

  const auto made = copies_of(script("ls /proc/self/fd | wc -w; echo ${LD_PRELOAD-unset}; exit 1\n"), {{CopyFormat::hdf5, {}}});

  unsetenv("LD_PRELOAD");
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].error, "4\nunset");   // three, and that of ls
}

TEST_F(CopierTest, EndsTheProgramWhenItIsStopped) {
  std::vector<CopyTrace> made;
  Copier copier([&](const Job&, std::vector<CopyTrace> traces) { made = std::move(traces); }, [] {});
  Copier::set_program(script("exec sleep 1000\n"));
  const store::Copies copies{base::Semantics::automatic, false, {{CopyFormat::hdf5, {}}}};
  EXPECT_TRUE(copier.give({}, copies, {directory_ / ".a.part", directory_ / "a.nc"}));

  copier.stop();

  EXPECT_FALSE(copier.give({}, copies, {directory_ / ".a.part", directory_ / "a.nc"}));

  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].error, "the drain has ended before");
}

}  // namespace
}  // namespace glean::drain
