// SPDX-License-Identifier: BSD-3-Clause
//
// Steps, levels of safety, publishing, and many outputs.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "ranks.hpp"

namespace glean::test {

namespace {

// How often the bytes of a double stand in a file, most significant first as NetCDF has them.
std::size_t count_of(const std::string& bytes, double value) {
  char native[sizeof value], external[sizeof value];
  std::memcpy(native, &value, sizeof value);
  std::reverse_copy(native, native + sizeof value, external);
  std::size_t found = 0;
  for (std::size_t at = bytes.find(std::string(external, 8)); at != std::string::npos;
       at = bytes.find(std::string(external, 8), at + 8)) {
    ++found;
  }
  return found;
}

int record_count(const std::string& bytes) {   // of CDF-5, below 256
  return bytes.size() < 12 ? -1 : static_cast<unsigned char>(bytes[11]);
}

// What NumPy makes of a file: its shape, and the sum of its elements.
std::string loaded_by_numpy(const std::string& path) {
  const std::string program = "import numpy, sys; a = numpy.load(sys.argv[1]); print(a.dtype, a.shape, a.sum())";
  const std::string command = std::string(GLEAN_PYTHON) + " -c '" + program + "' '" + path + "' 2>&1";
  std::string said;
  FILE* const pipe = popen(command.c_str(), "r");
  for (char part[256]; pipe != nullptr && std::fgets(part, sizeof part, pipe) != nullptr;) said += part;
  return pipe == nullptr || pclose(pipe) != 0 ? "failed: " + said : said;
}

class Outputs : public Ranks {
 protected:
  [[nodiscard]] std::size_t all() const { return 8 * static_cast<std::size_t>(size_); }
};

TEST_F(Outputs, AppearWhenTheyAreCompleteAndNotBefore) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.out.end_definitions();
  EXPECT_FALSE(exists("a.nc"));
  for (const Level level : {Level::captured, Level::staged, Level::written, Level::durable}) {
    file.whole_step(1.25);
    file.out.wait(level);
    EXPECT_FALSE(exists("a.nc")) << static_cast<int>(level);
  }

  file.out.close();
  file.out.wait(Level::durable);

  EXPECT_TRUE(exists("a.nc"));
  EXPECT_EQ(others({"a.nc"}), std::vector<std::string>{});
  EXPECT_EQ(count_of(content("a.nc"), 1.25), 5 * all());   // four records and what is put once
  EXPECT_EQ(record_count(content("a.nc")), 4);
}

TEST_F(Outputs, OfNumpysFormatAreArraysForNumpy) {
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("a.npy"), Format::npy);
  const auto ranks = static_cast<std::uint64_t>(size_), rank = static_cast<std::uint64_t>(rank_);
  const Dimension dimensions[] = {out.define_unlimited("t"), out.define_dimension("y", ranks), out.define_dimension("x", 3)};
  const Variable v = out.define_variable("v", Type::float32, dimensions, {{{rank, 0}, {1, 3}}}, {.per_step = true});
  for (int step = 0; step < 2; ++step) {
    out.begin_step();
    // Converted, and of the last step rank 0 puts less: the rest is 0.
    const std::vector<double> values(step == 1 && rank_ == 0 ? 2 : 3, 0.5);
    out.put(v, Box{{rank, 0}, {1, values.size()}}, values.data());
    out.end_step();
  }
  out.close(Level::durable);

  if (rank_ == 0) {
    const std::string expected = "float32 (2, " + std::to_string(size_) + ", 3) " + std::to_string(size_ * 3 - 1) + ".5\n";
    EXPECT_EQ(loaded_by_numpy(path("a.npy")), expected);
  }
  EXPECT_EQ(others({"a.npy"}), std::vector<std::string>{});
}

TEST_F(Outputs, OfNumpysFormatSayWhatTheyCannotHold) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.npy"), 8, Format::npy);
  EXPECT_ERROR(file.out.end_definitions(), Errc::invalid_argument, "it holds one variable, and 2 are defined");
  EXPECT_EQ(others(), std::vector<std::string>{});
}

TEST_F(Outputs, OfNumpysFormatAreNotWrittenDirectly) {
  Session session(MPI_COMM_WORLD, with({{"mode", "passthrough"}}));
  Simple file(session, path("a.npy"), 8, Format::npy);
  EXPECT_ERROR(file.out.end_definitions(), Errc::unsupported, "'npy'");
}

TEST_F(Outputs, LeaveTheOldFileUntouchedUntilThen) {
  if (rank_ == 0) std::ofstream(path("a.nc")) << "the old file";
  MPI_Barrier(MPI_COMM_WORLD);
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.whole_step(1.25);
  file.out.wait(Level::durable);
  EXPECT_EQ(content("a.nc"), "the old file");

  file.out.close();
  session.wait(Level::durable);

  EXPECT_EQ(count_of(content("a.nc"), 1.25), 2 * all());
}

// Replacing it would leave the other name with the old contents, and give it another owner.
TEST_F(Outputs, AreWrittenInPlaceWhereReplacingLeavesATrace) {
  if (rank_ == 0) {
    std::ofstream(path("a.nc")) << "the old file";
    std::filesystem::create_hard_link(path("a.nc"), path("another name"));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (const char* mode : {"threaded", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    Simple file(session, path("a.nc"));
    file.whole_step(1.25);
    file.out.close();
    session.wait(Level::durable);

    EXPECT_EQ(count_of(content("another name"), 1.25), 2 * all()) << mode;
    EXPECT_EQ(others({"a.nc", "another name"}), std::vector<std::string>{}) << mode;
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Outputs, KeepThePermissionsOfTheFileThatTheyReplace) {
  for (const char* mode : {"threaded", "passthrough"}) {
    if (rank_ == 0) {
      std::ofstream(path("a.nc")) << "the old file";
      std::filesystem::permissions(path("a.nc"), std::filesystem::perms{0640});
    }
    MPI_Barrier(MPI_COMM_WORLD);
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    Simple file(session, path("a.nc"));
    file.whole_step(1.25);
    file.out.close();
    session.wait(Level::durable);

    EXPECT_EQ(std::filesystem::status(path("a.nc")).permissions(), std::filesystem::perms{0640}) << mode;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) std::filesystem::remove(path("a.nc"));
  }
}

TEST_F(Outputs, AreThereWhenTheyAreClosedDurably) {
  Session session(MPI_COMM_WORLD, with({{"close", "durable"}}));
  Simple file(session, path("a.nc"));
  file.whole_step(1.25);
  file.out.close();
  EXPECT_TRUE(exists("a.nc"));

  Simple refused(session, path("b.nc"));
  refused.whole_step(1.25);
  refused.out.wait(Level::durable);
  if (rank_ == 0) std::filesystem::create_directory(path("b.nc"));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THROW(refused.out.close(), Error) << "it cannot be published";
}

TEST_F(Outputs, AreInTheFileWhenTheyAreWrittenAndCountedWhenTheyAreDurable) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.whole_step(2.5);
  file.out.wait(Level::written);
  EXPECT_EQ(count_of(content(working_name()), 2.5), 2 * all());
  MPI_Barrier(MPI_COMM_WORLD);
  file.whole_step(3.5);

  file.out.wait(Level::durable);

  EXPECT_EQ(count_of(content(working_name()), 3.5), all());
  EXPECT_EQ(record_count(content(working_name())), 2);
  MPI_Barrier(MPI_COMM_WORLD);
  file.out.close();
}

TEST_F(Outputs, SayHowFarTheyAreWithoutWaiting) {
  for (const char* mode : {"threaded", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    Simple file(session, path("a.nc"));
    EXPECT_TRUE(file.out.reached(Level::durable)) << "nothing was put: " << mode;
    file.whole_step(1.25);
    EXPECT_TRUE(file.out.reached(Level::captured)) << mode;
    if (mode == std::string("threaded")) {
      while (!file.out.reached(Level::durable)) std::this_thread::yield();   // it has asked the drain for that
    }
    file.out.wait(Level::durable);
    EXPECT_TRUE(file.out.reached(Level::durable)) << mode;
    file.out.close(Level::durable);
    EXPECT_TRUE(file.out.reached(Level::durable)) << mode;
    EXPECT_TRUE(exists("a.nc")) << mode;
    session.close();
    EXPECT_TRUE(file.out.reached(Level::durable)) << mode;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) std::filesystem::remove(path("a.nc"));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Outputs, NeverReachALevelWhenTheyHaveFailed) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.whole_step(1.25);
  file.out.wait(Level::durable);
  if (rank_ == 0) std::filesystem::create_directory(path("a.nc"));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THROW(file.out.close(Level::durable), Error) << "it cannot be published";
  EXPECT_FALSE(file.out.reached(Level::staged));
}

// Rank 0 goes through end_step and close while rank 1 has not even put: neither waits for another.
TEST_F(Outputs, CloseWithoutWaiting) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.step(1.25);
  int token = 0;
  if (rank_ == 1) MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  file.out.end_step();
  file.out.close();
  EXPECT_TRUE(rank_ != 0 || !exists("a.nc"));
  if (rank_ == 0) MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);

  session.wait(Level::durable);

  EXPECT_EQ(count_of(content("a.nc"), 1.25), 2 * all());
}

TEST_F(Outputs, AreThereAfterTheSessionIsClosed) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.whole_step(1.25);
  file.out.close();
  session.close();
  EXPECT_EQ(count_of(content("a.nc"), 1.25), 2 * all());
  file.out.wait(Level::durable);   // known already
  session.close();                 // nothing to do
}

TEST_F(Outputs, AppearAtOnceInPlace) {
  for (const char* mode : {"threaded", "collective", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"publish", "in-place"}, {"mode", mode}}));
    Simple file(session, path(mode));
    file.out.end_definitions();
    EXPECT_TRUE(exists(mode));
    EXPECT_EQ(others({"threaded", "collective", "passthrough"}), std::vector<std::string>{});
    file.whole_step(1.25);
    file.out.close();
    session.close();
    EXPECT_EQ(count_of(content(mode), 1.25), 2 * all());
  }
}

TEST_F(Outputs, FollowTheRulesOfTheConfigurationFile) {
  const std::string file = path("rules.toml");
  if (rank_ == 0) {
    std::ofstream(file) << "[[rule]]\npattern = \"*_plt_*\"\npublish = \"in-place\"\n"
                           "[[rule]]\npattern = \"*.dump\"\nmode = \"passthrough\"\n";
  }
  setenv("GLEAN_CONFIG", file.c_str(), 1);
  Session session(MPI_COMM_WORLD, with({{"report.file", path("report.json")}}));
  setenv("GLEAN_CONFIG", "", 1);
  Simple plot(session, path("s_plt_1.nc")), restart(session, path("s_chk_1.nc")), dump(session, path("s.dump"));
  for (Simple* output : {&plot, &restart, &dump}) output->whole_step(1.25);
  EXPECT_TRUE(exists("s_plt_1.nc"));
  EXPECT_FALSE(exists("s_chk_1.nc"));
  for (Simple* output : {&plot, &restart, &dump}) output->out.close();
  session.close();
  EXPECT_TRUE(exists("s_chk_1.nc"));
  EXPECT_TRUE(exists("s.dump"));
  EXPECT_NE(content("report.json").find("\"passthrough\": [\n    {\n      \"path\": \"" + path("s.dump")),
            std::string::npos);
}

TEST_F(Outputs, AreManyMoreThanThePoolHasPlacesFor) {
  Session session(MPI_COMM_WORLD, with({}));
  for (int i = 0; i < 150; ++i) {
    Simple file(session, path(std::to_string(i)));
    file.whole_step(i + 0.5);
    file.out.close();
  }
  session.close();
  for (int i = rank_; i < 150; i += size_) {
    EXPECT_EQ(count_of(content(std::to_string(i)), i + 0.5), 2 * all()) << i;
  }
}

TEST_F(Outputs, AreOpenAtTheSameTime) {
  Session session(MPI_COMM_WORLD, with({{"drain.threads", "2"}}));
  std::vector<Simple> files;
  for (int i = 0; i < 10; ++i) files.emplace_back(session, path(std::to_string(i)));
  for (int step = 0; step < 3; ++step) {
    for (int i = 9; i >= 0; --i) files[static_cast<std::size_t>(i)].whole_step(i + 0.5);
  }
  for (Simple& file : files) file.out.close();
  session.wait(Level::durable);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(count_of(content(std::to_string(i)), i + 0.5), 4 * all()) << i;
}

TEST_F(Outputs, OfTheSameNameFollowEachOther) {
  Session session(MPI_COMM_WORLD, with({{"drain.threads", "3"}}));
  for (int i = 1; i <= 20; ++i) {
    Simple file(session, path("latest.nc"), i % 2 == 0 ? 8 : 50000);
    file.whole_step(i + 0.5);
    file.out.close();
  }
  session.close();
  EXPECT_EQ(count_of(content("latest.nc"), 20.5), 2 * all());
  EXPECT_EQ(others({"latest.nc"}), std::vector<std::string>{});
}

TEST_F(Outputs, LeaveNothingWhenTheyAreAbandoned) {
  for (const char* mode : {"threaded", "collective", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    {
      Simple never_defined(session, path("a.nc"));
      Simple defined(session, path("b.nc"));
      defined.out.end_definitions();
      Simple with_data(session, path("c.nc"));
      with_data.whole_step(1.25);
      with_data.step(2.5);
    }
    Simple left_open(session, path("d.nc"));
    left_open.whole_step(1.25);
    Simple good(session, path("good.nc"));
    good.whole_step(1.25);
    good.out.close();
    session.close();
    EXPECT_EQ(others({"good.nc"}), std::vector<std::string>{}) << mode;
    EXPECT_TRUE(exists("good.nc"));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Outputs, CanBeMoved) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple first(session, path("a.nc"));
  first.whole_step(1.25);
  Simple second(session, path("b.nc"));
  second.whole_step(1.25);

  second.out = std::move(first.out);   // abandons b.nc
  second.out.close();

  EXPECT_ERROR(first.out.close(), Errc::invalid_state, "moved from");
  session.close();
  EXPECT_TRUE(exists("a.nc"));
  EXPECT_EQ(others({"a.nc"}), std::vector<std::string>{});
}

TEST_F(Outputs, OutliveTheirSessionWithoutHarm) {
  std::optional<Simple> open, closed;
  {
    Session session(MPI_COMM_WORLD, with({{"log.level", "off"}}));
    open.emplace(session, path("open.nc"));
    open->whole_step(1.25);
    closed.emplace(session, path("closed.nc"));
    closed->whole_step(1.25);
    closed->out.close();
  }
  closed->out.wait(Level::durable);
  EXPECT_ERROR(open->step(1), Errc::invalid_state, "the session is closed");
  EXPECT_ERROR(open->out.close(), Errc::invalid_state, "the session is closed");
  EXPECT_ERROR(open->out.wait(Level::durable), Errc::invalid_state, "the session is closed");
  EXPECT_TRUE(exists("closed.nc"));
  EXPECT_FALSE(exists("open.nc"));
}

TEST_F(Outputs, HaveGridsWithCoordinates) {
  for (const char* mode : {"threaded", "collective", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    Output out = session.open(path(mode), Format::cdf5);
    const auto ranks = static_cast<std::uint64_t>(size_), mine = static_cast<std::uint64_t>(rank_);
    const Grid grid = out.define_grid(UniformGrid{.shape = {ranks, 4},
                                                  .origin = {0, 1},
                                                  .spacing = {1, 0.25},
                                                  .blocks = {Box{{mine, 0}, {1, 2}}, Box{{mine, 2}, {1, 2}}},
                                                  .dimension_names = {}});
    AmrGrid mesh{.blocks_total = ranks - 1 + 2, .first_block = mine, .blocks = {}, .cells_per_block = {2, 2}};
    for (std::uint64_t i = 0; i < (mine + 1 == ranks ? 2U : 1U); ++i) {
      const double y = 1.5 + 2.0 * static_cast<double>(i);
      mesh.blocks.push_back({.level = 3, .parent = -1, .lower = {0.5, y}, .upper = {2.5, y + 2}});
    }
    const Grid blocks = out.define_grid(mesh);
    const Variable temperature = out.define_variable("temperature", Type::float32, grid, {.per_step = true});
    const Variable density = out.define_variable("density", Type::float64, blocks);
    out.begin_step();
    out.put(temperature, std::vector<double>{1, 2, 3, 4});
    out.put(density, std::vector<double>(4 * mesh.blocks.size(), 7.125));
    out.end_step();
    out.close();
    session.close();
  }
  expect_same_files("threaded", "passthrough");
  expect_same_files("collective", "passthrough");
  const std::string bytes = content("threaded");
  EXPECT_EQ(count_of(bytes, 1.125), 1U);   // a cell centre
  EXPECT_EQ(count_of(bytes, 7.125), 4 * static_cast<std::size_t>(size_ + 1));
}

}  // namespace

}  // namespace glean::test
