// SPDX-License-Identifier: BSD-3-Clause
//
// What a put does when the pool is full: each policy, chosen by file name.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ranks.hpp"

namespace glean::test {

namespace {

constexpr std::uint64_t budget_bytes = 8 << 20;

class FullPool : public Ranks {
 protected:
  Settings settings(Settings more = {}) const {
    more.insert({"pool.budget", std::to_string(budget_bytes)});
    return with(more);
  }
  OutputStatus status(const Session& session, const std::string& name) const {
    const auto outputs = session.outputs();
    const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const auto& each) { return each.path == path(name); });
    return found == outputs.end() ? OutputStatus{} : *found;
  }
  std::uint64_t sum(std::uint64_t mine) const {
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return mine;
  }
};

// Holds all of the pool: a step that is not ended stays there for as long as no rank waits for room.
class Hog {
 public:
  Hog(Session& session, const std::string& path, int rank) : rank_(rank), out_(session.open(path, Format::cdf5)) {
    const Dimension x = out_.define_dimension("x", length);
    variable_ = out_.define_variable("v", Type::uint8, std::span(&x, 1), {{{0}, {rank == 0 ? length : 0}}});
    out_.begin_step();
    if (rank == 0) fill(session);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // What it holds comes into its file.
  void let_go() {
    out_.end_step();
    out_.wait(Level::written);
    out_.close();
  }

 private:
  static constexpr std::uint64_t length = 2 * budget_bytes;

  void fill(Session& session) {
    constexpr std::uint64_t piece = 4096;
    const std::vector<std::uint8_t> data(piece, 7);
    std::uint64_t high = session.statistics().pool_high_water_bytes, chunk = 0, begin = 0;
    while (chunk == 0 || budget_bytes - high >= chunk) {
      out_.put(variable_, {{begin}, {piece}}, data.data());
      begin += piece;
      const std::uint64_t now = session.statistics().pool_high_water_bytes;
      if (now != high && chunk == 0 && begin > piece) chunk = now - high;
      high = now;
    }
    // To the end of its last chunk.
    for (std::uint64_t i = piece; i < chunk; i += piece, begin += piece) out_.put(variable_, {{begin}, {piece}}, data.data());
  }

  int rank_;
  Output out_;
  Variable variable_;
};

// The same program, with the pool full in the middle, gives the same file whatever it does then.
class Policies : public FullPool, public testing::WithParamInterface<const char*> {};

TEST_P(Policies, MakeTheFileThatBlockMakes) {
  constexpr std::uint64_t per_rank = 60'001;
  const std::string policy = GetParam();
  const auto write = [&](Session& session, const std::string& name) {
    Simple file(session, path(name), per_rank), other(session, path("other_" + name), 8);
    file.out.end_definitions();   // takes room for the description
    other.whole_step(1);          // what each rank has of a chunk
    Hog hog(session, path("hog_" + name), rank_);
    for (const double value : {1.0, 2.0, 3.0}) file.whole_step(value);
    file.out.close();
    other.out.close();
    hog.let_go();
    session.wait(Level::durable);
  };
  {
    Session session(MPI_COMM_WORLD, settings());
    write(session, "block.nc");
  }
  if (rank_ == 0) std::filesystem::create_directory(path("spill"));
  MPI_Barrier(MPI_COMM_WORLD);
  Session session(MPI_COMM_WORLD, settings({{"full", policy}, {"spill.directory", path("spill")}, {"spill.budget", "64MiB"},
                                            {"checksums", "true"}, {"report.file", path("report.json")}}));
  write(session, "policy.nc");

  expect_same_files("policy.nc", "block.nc");
  expect_same_files("hog_policy.nc", "hog_block.nc");
  const Statistics mine = session.statistics();
  const std::uint64_t spilled = sum(mine.spilled_bytes), written = sum(mine.synchronous_bytes);
  EXPECT_EQ(spilled > 0, policy == "spill");
  EXPECT_EQ(written > 0, policy == "synchronous");
  EXPECT_LE(mine.pool_high_water_bytes, budget_bytes);
  session.close();
  if (rank_ == 0) {
    EXPECT_TRUE(std::filesystem::is_empty(path("spill"))) << "spill files go with the session";
    const auto full_pool = nlohmann::json::parse(content("report.json"))["full_pool"];
    EXPECT_EQ(full_pool["spilled"]["bytes"], spilled);
    EXPECT_EQ(full_pool["spilled"]["high_water_bytes"].get<std::uint64_t>() > 0, policy == "spill");
    EXPECT_EQ(full_pool["synchronous"]["bytes"], written);
    EXPECT_EQ(full_pool["steps_dropped"], 0);
    for (const char* what : {"pool", "journal"}) {
      const auto& waited = full_pool["waited"][what];
      EXPECT_EQ(waited["times"].get<std::uint64_t>() > 0, waited["seconds"].get<double>() > 0) << what;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Each, Policies, testing::Values("block", "spill", "synchronous"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(FullPool, AValueThatDoesNotFitIsToldAsByTheDrain) {
  Session session(MPI_COMM_WORLD, settings({{"full", "synchronous"}, {"log.level", "off"}}));
  Output out = session.open(path("range.nc"), Format::cdf5);
  const Dimension x = out.define_dimension("x", static_cast<std::uint64_t>(size_) * 1000);
  const Variable v = out.define_variable("v", Type::int8, std::span(&x, 1),
                                         {{{static_cast<std::uint64_t>(rank_) * 1000}, {1000}}});
  out.end_definitions();
  Simple other(session, path("other.nc"), 8);
  other.whole_step(1);
  Hog hog(session, path("hog.nc"), rank_);
  for (int i = 0; i < 600; ++i) other.whole_step(2);   // uses up what the ranks have of their chunks
  std::vector<int> values(1000, 5);
  values[999] = 300;
  out.begin_step();
  out.put(v, values);
  out.end_step();
  out.close();
  other.out.close();
  hog.let_go();
  EXPECT_ERROR(session.wait(Level::durable), Errc::out_of_range, "value 300 of 'v' at [");
  EXPECT_FALSE(exists("range.nc"));
}

TEST_F(FullPool, SpillNeedsAPlace) {
  EXPECT_ERROR(Session(MPI_COMM_WORLD, settings({{"full", "spill"}})), Errc::invalid_config, "needs spill.directory");
  EXPECT_ERROR(Session(MPI_COMM_WORLD, settings({{"full", "spill"}, {"spill.directory", path("none")}})),
               Errc::invalid_config, "needs spill.budget");
  EXPECT_ERROR(Session(MPI_COMM_WORLD, settings({{"full", "spill"}, {"spill.directory", path("none")}, {"spill.budget", "1GiB"}})),
               Errc::invalid_config, "No such file or directory");
}

TEST_F(FullPool, DropLeavesOutWholeStepsAndTheRestIsAsIfTheyHadNotBeen) {
  constexpr std::uint64_t per_rank = 50'000;
  Session session(MPI_COMM_WORLD, settings({{"full", "block"}}));
  {
    Simple kept(session, path("expected.nc"), per_rank);
    for (const double value : {1.0, 5.0, 6.0}) kept.whole_step(value);
    kept.out.close();
    kept.out.wait(Level::durable);
  }
  session.close();
  Session dropping(MPI_COMM_WORLD, settings({{"full", "drop"}, {"report.file", path("report.json")}}));
  Simple file(dropping, path("dropped.nc"), per_rank);
  file.whole_step(1);
  file.out.wait(Level::written);
  {
    Hog hog(dropping, path("hog.nc"), rank_);
    for (const double value : {2.0, 3.0, 4.0}) file.whole_step(value);
    hog.let_go();
  }
  file.whole_step(5);
  file.out.wait(Level::written);
  file.whole_step(6);
  file.out.close();
  file.out.wait(Level::durable);

  expect_same_files("dropped.nc", "expected.nc");
  const OutputStatus found = status(dropping, "dropped.nc");
  EXPECT_EQ(found.state, OutputState::published);
  EXPECT_EQ(found.steps_dropped, 3U);
  EXPECT_EQ(found.steps_durable, 3U);
  EXPECT_EQ(dropping.statistics().steps_dropped, 3U);
  dropping.close();
}

TEST_F(FullPool, AFileWithoutRecordsIsDroppedAsAWhole) {
  Session session(MPI_COMM_WORLD, settings({{"full", "drop"}, {"log.level", "off"}}));
  Output out = session.open(path("plot.nc"), Format::cdf5);
  const Dimension x = out.define_dimension("x", static_cast<std::uint64_t>(size_) * 100'000);
  const Variable v = out.define_variable("v", Type::float64, std::span(&x, 1),
                                         {{{static_cast<std::uint64_t>(rank_) * 100'000}, {100'000}}});
  out.end_definitions();   // takes room for the description
  Hog hog(session, path("hog.nc"), rank_);
  out.begin_step();
  out.put(v, std::vector<double>(100'000, 1.0));
  out.end_step();
  out.close();
  out.wait(Level::durable);

  EXPECT_EQ(status(session, "plot.nc").state, OutputState::dropped);
  EXPECT_ERROR(static_cast<void>(session.open_input(path("plot.nc"))), Errc::not_found, "all of its steps were dropped");
  hog.let_go();
  session.wait(Level::durable);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_FALSE(exists("plot.nc"));
  EXPECT_EQ(others({"hog.nc"}), std::vector<std::string>{});
  EXPECT_ERROR(static_cast<void>(session.open_input(path("plot.nc"))), Errc::not_found, "all of its steps were dropped");
  session.close();
}

TEST_F(FullPool, AFixedVariableOfAnOutputThatDropsGoesIntoTheFirstStep) {
  Session session(MPI_COMM_WORLD, settings({{"full", "drop"}, {"log.level", "off"}}));
  Simple file(session, path("late.nc"));
  file.out.begin_step();
  file.out.put(file.record, std::vector<double>(8));
  file.out.end_step();
  file.out.begin_step();
  EXPECT_ERROR(file.out.put(file.fixed, std::vector<double>(8)), Errc::invalid_state, "put it in the first step");
}

TEST_F(FullPool, RulesChooseThePolicy) {
  if (rank_ == 0) {
    std::ofstream(path("glean.toml")) << "[[rule]]\npattern = '*plt*'\nfull = 'drop'\n";
  }
  setenv("GLEAN_CONFIG", path("glean.toml").c_str(), 1);
  MPI_Barrier(MPI_COMM_WORLD);
  Session session(MPI_COMM_WORLD, settings());
  setenv("GLEAN_CONFIG", "", 1);
  {
    Simple plot(session, path("plt_1.nc"), 10'000), restart(session, path("chk_1.nc"), 10'000);
    plot.whole_step(1);
    restart.whole_step(1);
    session.wait(Level::written);
    Hog hog(session, path("hog.nc"), rank_);
    plot.whole_step(2);
    restart.whole_step(2);
    hog.let_go();
    plot.out.close();
    restart.out.close();
    session.wait(Level::durable);
  }
  for (const auto& output : session.outputs()) {
    EXPECT_EQ(output.steps_dropped, output.path == path("plt_1.nc") ? 1U : 0U) << output.path;
  }
  session.close();
}

}  // namespace
}  // namespace glean::test
