// SPDX-License-Identifier: BSD-3-Clause
//
// With a shell script as the program: what is made of a file is the business of src/convert.
#include "drain/copier.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

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
    Copier copier([&](const Job&, std::vector<CopyTrace> traces) { made.set_value(std::move(traces)); });
    copier.set_program(program);
    copier.give({}, {base::Semantics::automatic, false, wanted}, {directory_ / ".a.part", directory_ / "a.nc"});
    return made.get_future().get();
  }

  store::TemporaryDirectory directory_;
};

TEST_F(CopierTest, StartsTheProgramForEachCopyInTurn) {
  const std::string program = script("echo \"$@\" >> '" + (directory_ / "asked") + "'\n");

  const auto made = copies_of(program, {{CopyFormat::hdf5, {}}, {CopyFormat::vtkhdf, {}}});

  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].path, directory_ / "a.h5");
  EXPECT_EQ(made[1].path, directory_ / "a.vtkhdf");
  EXPECT_EQ(made[0].error + made[1].error, "");
  const std::string common = "convert --to ", source = directory_ / ".a.part";
  EXPECT_EQ(store::read_text(directory_ / "asked"),
            common + "hdf5 --semantics auto -o " + made[0].path + " " + source + "\n" + common + "vtkhdf --semantics auto -o " +
                made[1].path + " " + source + "\n");
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
  Copier copier([&](const Job&, std::vector<CopyTrace> traces) { made = std::move(traces); });
  copier.set_program(script("exec sleep 1000\n"));
  copier.give({}, {base::Semantics::automatic, false, {{CopyFormat::hdf5, {}}}}, {directory_ / ".a.part", directory_ / "a.nc"});

  copier.stop();

  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].error, "the drain has ended before");
}

}  // namespace
}  // namespace glean::drain
