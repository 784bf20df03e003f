// SPDX-License-Identifier: BSD-3-Clause
#include "base/config.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace glean::base {
namespace {

class Config : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "glean-config-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void write_file(const std::string& text, const std::string& name = "glean.toml") const {
    std::ofstream(directory_ + "/" + name) << text;
  }
  [[nodiscard]] Configuration load(const std::map<std::string, std::string>& program = {},
                                   const Environment& environment = {}) const {
    return load_configuration(program, environment, directory_);
  }
  // What load() refuses, or "" if it does not.
  [[nodiscard]] std::string refusal(const std::map<std::string, std::string>& program = {},
                                    const Environment& environment = {}) const {
    try {
      static_cast<void>(load(program, environment));
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_config);
      return error.what();
    }
  }
  static Entry entry(const Configuration& configuration, const std::string& key) {
    for (const Entry& candidate : configuration.entries) {
      if (candidate.key == key) return candidate;
    }
    return {};
  }

  std::string directory_;
};

TEST_F(Config, WithoutAnySourceHasTheDefaults) {
  const auto configuration = load();

  EXPECT_EQ(configuration.settings.drain.threads, DrainSettings{}.threads);
  EXPECT_EQ(configuration.file, "");
  EXPECT_EQ(entry(configuration, "pool.deadline"), (Entry{"pool.deadline", "300s", "default"}));
  EXPECT_EQ(entry(configuration, "pool.budget"), (Entry{"pool.budget", "auto", "default"}));
}

TEST_F(Config, EveryDefaultAsPrintedIsAcceptedAsAValue) {
  std::map<std::string, std::string> program;
  for (const KeyDescription& key : configuration_keys()) program[key.name] = key.default_value;

  EXPECT_EQ(refusal(program), "");
}

TEST_F(Config, ReadsEveryKeyFromTheFile) {
  write_file(R"(
mode = "passthrough"
publish = "in-place"
range = "fill"
close = "durable"
striping_factor = 8
striping_unit = "1MiB"
start_iodevice = 0
markers = ["DONE", "*.flag"]
[pool]
budget = "1GiB"
deadline = "2min"
[drain]
threads = 3
cores = [0, 2]
request = "4MiB"
depth = 8
direct_io = "off"
[job]
end = "55min"
[report]
table = true
file = "report.json"
[log]
level = "debug"
)");

  const Settings settings = load().settings;

  EXPECT_EQ(settings.output, (OutputSettings{.mode = Mode::passthrough, .publish = Publish::in_place, .range = RangeRule::fill,
                                              .close = Close::durable,
                                              .striping = {.factor = 8, .unit_bytes = MiB, .start_device = 0}}));
  EXPECT_EQ(settings.markers, (std::vector<std::string>{"DONE", "*.flag"}));
  EXPECT_EQ(settings.pool.budget_bytes, GiB);
  EXPECT_EQ(settings.pool.deadline_seconds, 120);
  EXPECT_EQ(settings.drain.threads, 3);
  EXPECT_EQ(settings.drain.cores, (std::vector<int>{0, 2}));
  EXPECT_EQ(settings.drain.request_bytes, 4 * MiB);
  EXPECT_EQ(settings.drain.depth, 8);
  EXPECT_EQ(settings.drain.direct_io, DirectIo::off);
  EXPECT_EQ(settings.job.end, (JobEnd{.kind = JobEnd::Kind::after, .seconds = 3300}));
  EXPECT_TRUE(settings.report.table);
  EXPECT_EQ(settings.report.file, "report.json");
  EXPECT_EQ(settings.log_level, LogLevel::debug);
}

TEST_F(Config, TheEnvironmentGoesBeforeTheFileAndTheProgramBeforeBoth) {
  write_file("[drain]\nthreads = 2\ndepth = 2\nrequest = '1MiB'\n");

  const auto configuration = load({{"drain.threads", "4"}}, {{"GLEAN_DRAIN_THREADS", "3"}, {"GLEAN_DRAIN_DEPTH", "3"}});

  EXPECT_EQ(entry(configuration, "drain.threads"), (Entry{"drain.threads", "4", "program"}));
  EXPECT_EQ(entry(configuration, "drain.depth"), (Entry{"drain.depth", "3", "GLEAN_DRAIN_DEPTH"}));
  EXPECT_EQ(entry(configuration, "drain.request"), (Entry{"drain.request", "1MiB", directory_ + "/glean.toml:4"}));
}

TEST_F(Config, AVariableNamesTheFileAndAnEmptyOneMeansNone) {
  write_file("[drain]\nthreads = 2\n");
  write_file("[drain]\nthreads = 5\n", "other.toml");

  EXPECT_EQ(load({}, {{"GLEAN_CONFIG", directory_ + "/other.toml"}}).settings.drain.threads, 5);
  EXPECT_EQ(load({}, {{"GLEAN_CONFIG", ""}}).settings.drain.threads, DrainSettings{}.threads);
}

TEST_F(Config, VariablesOfOtherProgramsAreLeftAlone) {
  EXPECT_EQ(refusal({}, {{"PATH", "/bin"}, {"XGLEAN_MODE", "none"}}), "");
}

TEST_F(Config, TheDirectoryOfMachineFilesIsNoSetting) {
  EXPECT_EQ(refusal({}, {{"GLEAN_MACHINES", "/machines"}}), "");
  EXPECT_NE(refusal({}, {{"GLEAN_MACHINE", "/machines"}}).find("did you mean GLEAN_MACHINES?"), std::string::npos);
}

TEST_F(Config, WhatTheProcessesOfARunTellEachOtherIsNoSetting) {
  EXPECT_EQ(refusal({}, {{"GLEAN_RUN_POOL", "/glean.1.2.3"}}), "");
}

TEST_F(Config, AnUnknownKeyNamesTheNearestOneAndItsLine) {
  write_file("mode = 'threaded'\n\n[pool]\nbuget = '1GiB'\n");

  const std::string text = refusal();

  EXPECT_NE(text.find("glean.toml:4: unknown key 'pool.buget'; did you mean 'pool.budget'?"), std::string::npos)
      << text;
}

TEST_F(Config, AnUnknownTableIsAnUnknownKeyToo) {
  write_file("[pol.budget]\nx = 1\n");

  EXPECT_NE(refusal().find("unknown key 'pol.budget.x'"), std::string::npos);
}

TEST_F(Config, AnUnknownVariableNamesTheNearestOne) {
  const std::string text = refusal({}, {{"GLEAN_POOL_BUDGE", "1GiB"}});

  EXPECT_NE(text.find("unknown variable GLEAN_POOL_BUDGE; did you mean GLEAN_POOL_BUDGET?"), std::string::npos) << text;
}

TEST_F(Config, AnUnknownKeyOfTheProgramNamesTheNearestOne) {
  EXPECT_NE(refusal({{"drain.thread", "1"}}).find("program: unknown key 'drain.thread'; did you mean 'drain.threads'?"),
            std::string::npos);
}

TEST_F(Config, AllProblemsOfAllSourcesComeAtOnce) {
  write_file("mod = 'threaded'\n[drain]\nthreads = 0\n");

  const std::string text = refusal({{"log.level", "loud"}}, {{"GLEAN_PUBLISH", "later"}});

  EXPECT_NE(text.find("4 problems"), std::string::npos) << text;
  EXPECT_NE(text.find("unknown key 'mod'"), std::string::npos);
  EXPECT_NE(text.find("glean.toml:3: drain.threads = '0' cannot be; it takes 1 to 64"), std::string::npos) << text;
  EXPECT_NE(text.find("GLEAN_PUBLISH: publish = 'later' cannot be"), std::string::npos);
  EXPECT_NE(text.find("program: log.level = 'loud' cannot be"), std::string::npos);
}

TEST_F(Config, ValuesThatCannotBeAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"mode", "fast"},          {"mode", ""},           {"publish", "in_place"}, {"range", "clip"},
      {"pool.budget", "0"},      {"pool.budget", "12"},  {"pool.budget", "lots"}, {"pool.deadline", "0s"},
      {"pool.deadline", "-1s"},  {"drain.threads", "1.5"}, {"drain.threads", "65"}, {"drain.cores", "a"},
      {"drain.cores", "3-1"},    {"drain.cores", "1,"},  {"drain.cores", "-1"},   {"drain.request", "5000"},
      {"drain.request", "2GiB"}, {"drain.request", "0"}, {"drain.depth", "0"},    {"drain.direct_io", "yes"},
      {"striping_factor", "-1"}, {"striping_factor", "x"}, {"striping_unit", "100"}, {"striping_unit", "4GiB"},
      {"start_iodevice", "-1"}, {"report.table", "maybe"}, {"job.end", "soon"},    {"job.end", "0s"},
      {"job.end", "2026-01-31T12:00:00"}};
  for (const auto& [key, value] : cases) {
    EXPECT_NE(refusal({{key, value}}), "") << key << " = " << value;
  }
}

TEST_F(Config, TheEndOfTheJobMayBeADateAndTimeOfToml) {
  for (const char* line : {"end = 2026-01-31T13:00:00+01:00", "end = '2026-01-31T12:00:00Z'", "end = 2026-01-31 12:00:00Z"}) {
    write_file(std::string("[job]\n") + line + "\n");
    EXPECT_EQ(entry(load(), "job.end"), (Entry{"job.end", "2026-01-31T12:00:00Z", directory_ + "/glean.toml:2"})) << line;
  }
  for (const char* line : {"end = 2026-01-31T12:00:00", "end = 2026-01-31", "end = 12:00:00", "end = true"}) {
    write_file(std::string("[job]\n") + line + "\n");
    EXPECT_NE(refusal().find("glean.toml:2: job.end"), std::string::npos) << line << ": " << refusal();
  }
}

TEST_F(Config, CoresAreNumbersAndRanges) {
  EXPECT_EQ(load({{"drain.cores", "0,2,4-6"}}).settings.drain.cores, (std::vector<int>{0, 2, 4, 5, 6}));
  EXPECT_TRUE(load({{"drain.cores", ""}}).settings.drain.cores.empty());
}

TEST_F(Config, AFileThatIsNoTomlIsNamedWithTheLine) {
  write_file("mode = 'threaded'\npublish = \n");

  EXPECT_NE(refusal().find("glean.toml:2: "), std::string::npos) << refusal();
}

TEST_F(Config, AFileThatWasNamedAndIsNotThereIsAProblem) {
  EXPECT_NE(refusal({}, {{"GLEAN_CONFIG", directory_ + "/none.toml"}}).find("none.toml"), std::string::npos);
}

TEST_F(Config, RulesChangeTheSettingsOfFilesThatMatch) {
  write_file(R"(
publish = "rename"
[[rule]]
pattern = "*_chk_*"
mode = "passthrough"
[[rule]]
pattern = "*/plots/*"
publish = "in-place"
[[rule]]
pattern = "last_chk_*"
mode = "threaded"
)");

  const Settings settings = load().settings;

  EXPECT_EQ(settings.for_output("sedov_plt_0001.nc"), OutputSettings{});
  EXPECT_EQ(settings.for_output("/out/sedov_chk_0001.nc").mode, Mode::passthrough);
  EXPECT_EQ(settings.for_output("/out/plots/sedov.nc").publish, Publish::in_place);
  EXPECT_EQ(settings.for_output("/out/last_chk_0001.nc").mode, Mode::threaded) << "the last rule decides";
}

TEST_F(Config, ARuleMayTakeBackWhatIsSaidOfStripes) {
  write_file("striping_factor = 8\nstriping_unit = '64KiB'\nstart_iodevice = 2\n[[rule]]\npattern = '*.log'\nstriping_factor = 'auto'\n"
             "striping_unit = 0\nstart_iodevice = 'auto'\n");

  const Settings settings = load().settings;

  EXPECT_EQ(settings.for_output("a.nc").striping, (Striping{.factor = 8, .unit_bytes = 64 * KiB, .start_device = 2}));
  EXPECT_EQ(settings.for_output("a.log").striping, Striping{});
}

TEST_F(Config, RulesAreListedWithTheirPlaces) {
  write_file("[[rule]]\npattern = '*.nc'\nrange = 'fill'\n");

  const auto configuration = load();

  EXPECT_EQ(entry(configuration, "rule[0].pattern"),
            (Entry{"rule[0].pattern", "*.nc", directory_ + "/glean.toml:2"}));
  EXPECT_EQ(entry(configuration, "rule[0].range"), (Entry{"rule[0].range", "fill", directory_ + "/glean.toml:3"}));
}

TEST_F(Config, ARuleWithoutPatternOrWithAStrangeKeyIsRefused) {
  write_file("[[rule]]\nmode = 'threaded'\n[[rule]]\npattern = '*'\nmod = 'threaded'\npool.budget = '1GiB'\n"
             "[[rule]]\npattern = '*'\nrange = 'clip'\n[[rule]]\npattern = '*'\n'drain.threads' = 2\n");

  const std::string text = refusal();

  EXPECT_NE(text.find(":1: a rule needs a pattern"), std::string::npos) << text;
  EXPECT_NE(text.find(":5: unknown key 'mod' of a rule; did you mean 'mode'?"), std::string::npos) << text;
  EXPECT_NE(text.find(":6: unknown key 'pool' of a rule"), std::string::npos) << text;
  EXPECT_NE(text.find(":9: range = 'clip' cannot be"), std::string::npos) << text;
  EXPECT_NE(text.find("drain.threads is the same for all files"), std::string::npos) << text;
}

TEST_F(Config, AnOperatorIsNoSettingOfAFileAndSaysWhereItStands) {
  write_file("[[rule]]\npattern = '*'\nregion = 'x=0:64'\n");

  EXPECT_NE(refusal().find(":3: unknown key 'region' of a rule; it is an operator, whose result is a file of its own: [[analysis]]"),
            std::string::npos);
  EXPECT_NE(refusal({{"subsample", "2"}}).find("program: unknown key 'subsample'; it is an operator"), std::string::npos);
}

TEST_F(Config, RulesOfTheProgramComeBehindThoseOfTheFile) {
  write_file("[[rule]]\npattern = '*.nc'\nrange = 'fill'\nmode = 'passthrough'\n");

  const auto configuration = load({{"rule[0].pattern", "a*.nc"}, {"rule[0].mode", "threaded"}, {"rule[10].pattern", "*.h5"},
                                   {"rule[10].publish", "in-place"}, {"rule[2].pattern", "*"}, {"rule[2].publish", "rename"}});

  const Settings& settings = configuration.settings;
  EXPECT_EQ(settings.for_output("b.nc").mode, Mode::passthrough);
  EXPECT_EQ(settings.for_output("a1.nc").mode, Mode::threaded);
  EXPECT_EQ(settings.for_output("a.h5").publish, Publish::in_place) << "rule 10 is the last one";
  EXPECT_EQ(entry(configuration, "rule[1].pattern"), (Entry{"rule[1].pattern", "a*.nc", "program"}));
  const std::string refused = refusal({{"rule[0].mode", "threaded"}, {"rule[1].pattern", "*"}, {"rule[1].mod", "x"}, {"rule[", "x"}});
  EXPECT_NE(refused.find("program, rule[0]: a rule needs a pattern"), std::string::npos) << refused;
  EXPECT_NE(refused.find("unknown key 'mod' of a rule"), std::string::npos) << refused;
  EXPECT_NE(refused.find("unknown key 'rule['"), std::string::npos) << refused;
}

TEST_F(Config, ARuleMayGatherFilesAndSaysNothingElseThen) {
  write_file("[[rule]]\npattern = 'r.{rank}'\ninto = 'r.sion'\n");

  const auto configuration = load();

  EXPECT_TRUE(configuration.settings.any_gathers());
  EXPECT_EQ(configuration.settings.rules.at(0).into(), "r.sion");
  EXPECT_EQ(entry(configuration, "rule[0].into"), (Entry{"rule[0].into", "r.sion", directory_ + "/glean.toml:3"}));
}

TEST_F(Config, FilesThatCannotBeGatheredAreRefused) {
  write_file("into = 'a'\n[[rule]]\npattern = 'r.*'\ninto = 'r.sion'\n"
             "[[rule]]\npattern = 'r.{rank}'\ninto = 'r.{step}'\nmode = 'threaded'\n");

  const std::string text = refusal();

  EXPECT_NE(text.find(":1: into stands in a [[rule]]"), std::string::npos) << text;
  EXPECT_NE(text.find(":2: into = 'r.sion': the pattern needs {rank}"), std::string::npos) << text;
  EXPECT_NE(text.find(":5: into = 'r.{step}': the pattern has no {step}"), std::string::npos) << text;
  EXPECT_NE(text.find(":5: a rule with into has nothing else"), std::string::npos) << text;
}

TEST_F(Config, ProgramsOfTheSameNameAndConditionsThatAreNoneAreRefused) {
  write_file("analyse_with = ['a/mine.py', 'libmine.so']\ntrigger = 'dens > 0'\nanalyse_wait = '2h'\nanalyse_memory = '1KiB'\n"
             "publish_when = 'max'\n");

  const std::string text = refusal();

  for (const char* key : {":1: analyse_with =", ":2: trigger =", ":3: analyse_wait =", ":4: analyse_memory =", ":5: publish_when ="}) {
    EXPECT_NE(text.find(key), std::string::npos) << text;
  }
}

TEST_F(Config, ARuleThatIsNoListOfTablesIsRefused) {
  write_file("rule = 3\n");

  EXPECT_NE(refusal().find("a rule is written as [[rule]]"), std::string::npos);
}

TEST_F(Config, AnalysesAreTablesOfTheFileOrOfTheProgram) {
  write_file(
      "[[analysis]]\noutput = \"*_plt_*\"\nvariables = [\"dens\", \"temp\"]\n"
      "run = [\"slice z=12\", \"precision float32 dens,temp\"]\nformat = \"hdf5\"\nsuffix = \"middle\"\n");

  const Configuration made = load({{"analysis[0].output", "*.nc"}, {"analysis[0].run", "subsample 2; digits 4"}});

  ASSERT_EQ(made.settings.analyses.size(), 2U);
  EXPECT_EQ(made.settings.analyses[0],
            (AnalysisTable{"*_plt_*", {"dens", "temp"}, {"slice z=12", "precision float32 dens,temp"}, CopyFormat::hdf5, "middle"}));
  EXPECT_EQ(made.settings.analyses[1], (AnalysisTable{"*.nc", {}, {"subsample 2", "digits 4"}, CopyFormat::netcdf, "reduced"}));
  EXPECT_EQ(made.settings.results_of_output("run/sedov_plt_1.nc").size(), 2U);
  EXPECT_EQ(made.settings.results_of_output("run/sedov_chk_1").size(), 0U);
  EXPECT_EQ(entry(made, "analysis[0].run").value, "slice z=12; precision float32 dens,temp");
}

TEST_F(Config, AllThatIsWrongWithAnalysesIsSaidAtOnce) {
  write_file(
      "[[analysis]]\nvariables = \"a,,b\"\nrun = [\"regoin x=1:2\", \"tolerance 1e-3\"]\nformat = \"csv\"\nsuffxi = \"a\"\n"
      "[[analysis]]\noutput = \"*\"\n[[analysis]]\noutput = \"*\"\nrun = [\"deflate\"]\n");

  const std::string said = refusal();

  for (const char* part :
       {"glean.toml:2: variables = 'a,,b'", "glean.toml:3: run: 'regoin x=1:2': there is no operator 'regoin' (nearest: 'region')",
        "format = 'csv' cannot be", "unknown key 'suffxi' of an analysis; did you mean 'suffix'?", "needs the files that it is of",
        "'tolerance 1e-3' needs format = \"hdf5\"", "needs what it does", "their results would have one name"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << ": " << said;
  }
}

TEST(ConfigurationKeys, HaveTheirVariableAndASentence) {
  for (const KeyDescription& key : configuration_keys()) {
    EXPECT_TRUE(key.environment.starts_with("GLEAN_")) << key.name;
    EXPECT_TRUE(key.description.ends_with('.')) << key.name;
    EXPECT_FALSE(key.values.empty()) << key.name;
  }
}

TEST(ProcessEnvironment, HasOurVariablesOnly) {
  setenv("GLEAN_MODE", "threaded", 1);
  setenv("NOT_GLEAN_MODE", "x", 1);

  const Environment environment = process_environment();

  EXPECT_EQ(environment.at("GLEAN_MODE"), "threaded");
  EXPECT_FALSE(environment.contains("NOT_GLEAN_MODE"));
  unsetenv("GLEAN_MODE");
  unsetenv("NOT_GLEAN_MODE");
}

TEST_F(Config, CapturesNothingWhereARuleForAllFilesSaysSo) {
  write_file("[[rule]]\npattern = 'a*'\nmode = 'staged'\n[[rule]]\npattern = '*'\nmode = 'passthrough'\n");
  EXPECT_FALSE(load().settings.any_captures());

  write_file("[[rule]]\npattern = '*'\nmode = 'passthrough'\n[[rule]]\npattern = 'a*'\nmode = 'staged'\n");
  EXPECT_TRUE(load().settings.any_stages());
  EXPECT_FALSE(load().settings.any_drains_here());

  write_file("[[rule]]\npattern = '*'\npublish = 'in-place'\n[[rule]]\npattern = '*.h5'\nmode = 'passthrough'\n");
  EXPECT_TRUE(load().settings.any_captures()) << "of other names";
}

}  // namespace
}  // namespace glean::base
