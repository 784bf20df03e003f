// SPDX-License-Identifier: BSD-3-Clause
//
// What goes wrong on one rank or in the drain reaches all ranks, once, and says which rank and where.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "ranks.hpp"

namespace glean::test {

namespace {

class Errors : public Ranks {
 protected:
  [[nodiscard]] int last() const { return size_ - 1; }
  [[nodiscard]] std::string last_rank() const { return "rank " + std::to_string(last()); }

  // An output of which the last rank has put something twice.
  static void overlap(Simple& file) {
    file.step(1.25);
    if (file.rank + 1 == file.size) file.out.put(file.record, std::vector<double>(file.elements, 2));
    file.out.end_step();
  }
  void expect_nothing_published() { EXPECT_EQ(others(), std::vector<std::string>{}); }
};

TEST_F(Errors, OfTheDrainReachAllRanksAtWaitAndOnlyOnce) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  overlap(file);

  EXPECT_ERROR(file.out.wait(Level::written), Errc::overlap, "a.nc' cannot be completed");

  session.wait(Level::durable);
  EXPECT_ERROR(file.out.wait(Level::written), Errc::overlap, last_rank());   // it is still so
  file.out.close();
  session.wait(Level::durable);
  Simple next(session, path("b.nc"));
  next.whole_step(1);
  next.out.close();
  session.close();
  EXPECT_EQ(others({"b.nc"}), std::vector<std::string>{});
}

TEST_F(Errors, OfClosedOutputsReachAllRanksAtSessionWait) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple good(session, path("good.nc")), bad(session, path("bad.nc")), worse(session, path("worse.nc"));
  good.whole_step(1);
  overlap(bad);
  overlap(worse);
  for (Simple* file : {&good, &bad, &worse}) file->out.close();

  const auto error = thrown([&] { session.wait(Level::durable); });

  EXPECT_TRUE(says(error, "bad.nc'") && says(error, "worse.nc'") && !says(error, "good.nc'"));
  session.wait(Level::durable);
  EXPECT_ERROR(bad.out.wait(Level::durable), Errc::overlap, "bad.nc'");
  session.close();
  EXPECT_ERROR(bad.out.wait(Level::durable), Errc::overlap, "bad.nc'");
  good.out.wait(Level::durable);
  EXPECT_EQ(others({"good.nc"}), std::vector<std::string>{});
}

TEST_F(Errors, OfClosedOutputsReachAllRanksAtTheNextOpen) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple bad(session, path("bad.nc"));
  overlap(bad);
  bad.out.close();
  // The drain needs its time; whenever it is done, one open tells.
  std::optional<Error> error;
  int opened = 0;
  for (; !error && opened < 20000; ++opened) error = thrown([&] { Output out = session.open(path("next.nc"), Format::cdf5); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), Errc::overlap) << error->what();
  int least = 0;
  MPI_Allreduce(&opened, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  EXPECT_EQ(opened, least);   // the same one on all ranks
  Output out = session.open(path("next.nc"), Format::cdf5);
  out.close();
  session.close();
  EXPECT_EQ(others({"next.nc"}), std::vector<std::string>{});
}

TEST_F(Errors, OfClosedOutputsReachAllRanksAtTheLatestWhenTheSessionIsClosed) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple bad(session, path("bad.nc"));
  overlap(bad);
  bad.out.close();
  EXPECT_ERROR(session.close(), Errc::overlap, "bad.nc'");
  session.close();
  expect_nothing_published();
}

TEST_F(Errors, OfAPutOfOneRankReachTheOthers) {
  for (const char* mode : {"threaded", "collective", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    Simple file(session, path("a.nc"));
    file.step(1);
    if (rank_ == last()) {
      const std::vector<double> data(3);
      EXPECT_ERROR(file.out.put(file.record, data), Errc::invalid_argument, "3 elements");
      EXPECT_ERROR(file.out.put(file.record, Box{{1000}, {3}}, data.data()), Errc::invalid_argument, last_rank());
      EXPECT_ERROR(file.out.put(Variable{77}, data), Errc::not_found, "no such variable");
      EXPECT_ERROR(file.out.put(file.fixed, std::vector<char>(8)), Errc::invalid_argument, "type mismatch");
    }
    file.out.end_step();
    EXPECT_ERROR(file.out.wait(Level::staged), Errc::invalid_argument, last_rank() + ": shape mismatch");
    file.out.close();
    session.close();
    expect_nothing_published();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// As a language binding does that has found it before the call.
TEST_F(Errors, OfWhatIsRefusedOnOneRankReachTheOthers) {
  for (const char* mode : {"threaded", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    Simple file(session, path("a.nc"));
    file.step(1);
    if (rank_ == last()) file.out.fail(Error(Errc::invalid_argument, "an array of shape (3,)", "of the shape (2, 3)"));
    file.out.end_step();
    EXPECT_ERROR(file.out.wait(Level::staged), Errc::invalid_argument, last_rank() + ": an array of shape (3,) (of the shape (2, 3))");
    file.out.close();
    file.out.fail(Error(Errc::invalid_argument, "too late to matter"));
    session.close();
    expect_nothing_published();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Errors, OfWhatIsRefusedAmongTheDefinitionsLeaveNoFile) {
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("a.nc"), Format::cdf5);
  if (rank_ == last()) out.fail(Error(Errc::unsupported, "a type of its own"));
  EXPECT_ERROR(out.end_definitions(), Errc::unsupported, last_rank() + ": a type of its own");
  session.close();
  expect_nothing_published();
}

TEST_F(Errors, NameTheValueThatIsOutOfRange) {
  struct Way {
    const char *mode, *range, *value;
  };
  for (const auto& [mode, range, value] : {Way{"threaded", "error", "1000"}, Way{"threaded", "fill", "1000"},
                                           Way{"collective", "error", "1000"}, Way{"passthrough", "fill", "1000"},
                                           Way{"threaded", "error", "NaN"}, Way{"threaded", "fill", "NaN"},
                                           Way{"collective", "fill", "NaN"}, Way{"passthrough", "error", "NaN"}}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}, {"range", range}}));
    Output out = session.open(path("a.nc"), Format::cdf1);
    const Dimension x = out.define_dimension("x", 4);
    const Variable v = out.define_variable("v", Type::int8, std::span(&x, 1), {Box{{0}, {rank_ == last() ? 4U : 0U}}});
    out.begin_step();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (rank_ == last() && std::string(value) == "1000") out.put(v, std::vector<int>{1, 2, 1000, -1000});
    else if (rank_ == last()) out.put(v, std::vector<double>{1, 2, nan, nan});
    out.end_step();
    const auto error = thrown([&] { out.wait(Level::written); });
    EXPECT_EQ(error.has_value(), std::string(range) == "error") << mode << ", " << value;
    EXPECT_TRUE(!error || error->code() == Errc::out_of_range) << error->what();
    EXPECT_TRUE(!error || (says(error, "value " + (value == std::string("1000") ? "1000" : std::string("nan")) + " of 'v' at [2] (") &&
                            says(error, "step 0) does not fit into int8") && says(error, last_rank()))) << error->what();
    out.close();
    session.close();
    EXPECT_EQ(exists("a.nc"), !error) << mode;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) std::filesystem::remove(path("a.nc"));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Errors, NameTheRankThatDefinesSomethingElse) {
  for (const char* mode : {"threaded", "collective", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    const int repetitions = size_ > 1 && mode == std::string("threaded") ? 70 : 1;   // no place in the pool is lost
    for (int i = 0; i < repetitions && size_ > 1; ++i) {
      Output out = session.open(path("a.nc"), Format::cdf5);
      out.define_dimension("x", rank_ == last() ? 4 : 5);
      EXPECT_ERROR(out.end_definitions(), Errc::invalid_argument, last_rank() + " has defined it otherwise");
      EXPECT_ERROR(out.begin_step(), Errc::invalid_state, "there is no file");
      EXPECT_ERROR(out.close(), Errc::invalid_state, "there is no file");
    }
    Output out = session.open(path("a.nc"), Format::cdf5);
    if (rank_ == last()) {
      EXPECT_ERROR(out.define_dimension("x", 0), Errc::invalid_argument, "length 0");
    } else {
      out.define_dimension("x", 4);
    }
    EXPECT_ERROR(out.begin_step(), Errc::invalid_argument, last_rank() + ": dimension 'x' has length 0");
    session.close();
    expect_nothing_published();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Errors, OfDefinitionsReachAllRanksAndLeaveNoFile) {
  for (const char* mode : {"threaded", "collective", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    Output out = session.open(path("a.nc"), Format::cdf2);
    const Dimension x = out.define_dimension("x", 4);
    const std::string long_name(300, 'n');
    EXPECT_ERROR(out.define_variable(long_name, Type::float64, std::span(&x, 1), {}), Errc::invalid_argument, "variable 'nnn");
    EXPECT_ERROR(out.define_dimension("", 4), Errc::invalid_argument, "the name of dimension '' cannot be used: it is empty");
    EXPECT_ERROR(out.define_variable("", Type::float64, std::span(&x, 1), {}), Errc::invalid_argument, "it is empty");
    EXPECT_ERROR(out.define_attribute("", "text"), Errc::invalid_argument, "name of attribute ''");
    EXPECT_ERROR(out.end_definitions(), Errc::invalid_argument, "variable 'nnn");
    Output other = session.open(path("a.nc"), Format::cdf2);
    other.define_variable("v", Type::uint64, std::span<const Dimension>(), {});
    EXPECT_ERROR(other.end_definitions(), Errc::invalid_argument, "variable 'v'");
    Output third = session.open(path("a.nc"), Format::cdf2);
    EXPECT_ERROR(third.define_variable("v", Type::float64, std::span(&x, 1), {}), Errc::not_found, "'v'");
    session.close();
    expect_nothing_published();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Errors, OfTheFileSystemReachAllRanksAtOpen) {
  if (rank_ == 0) {
    std::ofstream(path("old.nc")) << "old";
    std::ofstream(path("read_only.nc")) << "old";
    chmod(path("read_only.nc").c_str(), 0444);
  }
  Session session(MPI_COMM_WORLD, with({}));
  EXPECT_ERROR((void)session.open(path("missing/a.nc"), Format::cdf5), Errc::not_found, "missing/a.nc");
  EXPECT_ERROR((void)session.open(path("read_only.nc"), Format::cdf5), Errc::permission, "read_only.nc");
  EXPECT_ERROR((void)session.open(path("old.nc"), Format::cdf5, {.existing = Existing::refuse}), Errc::exists, "old.nc");
  EXPECT_ERROR((void)session.open(path("."), Format::cdf5), Errc::exists, "directory");
  EXPECT_EQ(content("old.nc"), "old");
  EXPECT_EQ(others({"old.nc", "read_only.nc"}), std::vector<std::string>{});
}

TEST_F(Errors, OfTheConfigurationReachAllRanks) {
  const Settings misspelled = rank_ == 0 ? Settings{{"pool.buget", "1GiB"}} : Settings{};
  EXPECT_ERROR(Session(MPI_COMM_WORLD, misspelled), Errc::invalid_config, "'pool.budget'");
  EXPECT_ERROR(Session(MPI_COMM_WORLD, {{"pool.budget", "1000TiB"}}), Errc::no_space, "pool.budget");
}

TEST_F(Errors, NameTheRankThatHasNotEndedItsStep) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  move_to_memory();
  Session session(MPI_COMM_WORLD, with({{"pool.deadline", "1s"}}));
  Simple file(session, path("a.nc"));
  file.step(1);
  if (rank_ != last()) file.out.end_step();

  EXPECT_ERROR(session.wait(Level::staged), Errc::timeout, last_rank() + " has not ended step 0");
  EXPECT_ERROR(file.out.wait(Level::staged, 0.1), Errc::timeout, last_rank() + " has not ended step 0");

  if (rank_ == last()) file.out.end_step();
  session.wait(Level::staged);
  file.out.close();
  session.close();
  EXPECT_TRUE(exists("a.nc"));
}

TEST_F(Errors, NameTheRankThatHasNotClosed) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  move_to_memory();
  Session session(MPI_COMM_WORLD, with({{"pool.deadline", "500ms"}}));
  Simple file(session, path("a.nc"));
  file.whole_step(1);
  if (rank_ != last()) file.out.close();
  EXPECT_ERROR(session.wait(Level::durable), Errc::timeout, last_rank() + " has not closed it");
  if (rank_ == last()) file.out.close();
  session.close();
  EXPECT_TRUE(exists("a.nc"));
}

TEST_F(Errors, OfARankThatAbandonsReachTheOthers) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  for (const int leaver : {0, last()}) {
    Session session(MPI_COMM_WORLD, with({}));
    std::optional<Simple> file;
    file.emplace(session, path("a.nc"));
    file->whole_step(1);
    if (rank_ == leaver) file.reset();
    else file->out.close();
    EXPECT_ERROR(session.close(), Errc::invalid_state, "abandoned by rank " + std::to_string(leaver));
    expect_nothing_published();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Errors, OfARankThatAbandonsLeaveTheStepsThatAreDurable) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  for (const std::string kept : {"a.nc", "a.nc.unclosed"}) {   // the second time there is a file
    Session session(MPI_COMM_WORLD, with({}));
    std::optional<Simple> file;
    file.emplace(session, path("a.nc"));
    file->whole_step(1);
    file->whole_step(2);
    file->out.wait(Level::durable);
    file->step(3);
    if (rank_ == last()) {
      file.reset();
    } else {
      file->out.end_step();
      file->out.close();
    }
    EXPECT_ERROR(session.close(), Errc::invalid_state, "abandoned by " + last_rank());
    MPI_Barrier(MPI_COMM_WORLD);

    Session reader(MPI_COMM_WORLD, with({}));
    Input in = reader.open_input(path(kept));
    EXPECT_EQ(in.steps(), 2U);
    std::vector<double> values(8 * static_cast<std::size_t>(size_));
    for (const std::uint64_t step : {0, 1}) {
      in.read(in.find_variable("record"), step, {{0}, {values.size()}}, values);
      EXPECT_EQ(values, std::vector<double>(values.size(), static_cast<double>(step + 1)));
    }
    reader.close();
  }
  EXPECT_EQ(others({"a.nc", "a.nc.unclosed"}), std::vector<std::string>{});
}

TEST_F(Errors, OfMisuseLeaveTheSessionUsable) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  const std::vector<double> data(8);
  file.step(1);
  EXPECT_ERROR(file.out.begin_step(), Errc::invalid_state, "a step is open");
  EXPECT_ERROR((void)file.out.define_dimension("late", 3), Errc::invalid_state, "definitions of this output have ended");
  file.out.end_step();
  EXPECT_ERROR(file.out.put(file.record, data), Errc::invalid_state, "begin_step");
  EXPECT_ERROR(file.out.wait(Level::staged), Errc::invalid_state, "definitions of this output have ended");
  file.out.close();
  EXPECT_ERROR(file.out.close(), Errc::invalid_state, "is closed");
  EXPECT_ERROR(file.out.put(file.record, data), Errc::invalid_state, "is closed");
  EXPECT_ERROR((void)file.out.find_variable("nothing"), Errc::not_found, "no variable 'nothing'");

  Simple early(session, path("b.nc"));
  EXPECT_ERROR(early.out.wait(Level::staged), Errc::invalid_state, "wait of '" + path("b.nc") + "': the definitions have not ended");
  EXPECT_ERROR(early.out.put(early.record, data), Errc::invalid_state, "begin_step");
  EXPECT_ERROR(early.out.begin_step(), Errc::invalid_state, "rank 0");
  session.close();
  EXPECT_ERROR((void)session.open(path("c.nc"), Format::cdf5), Errc::invalid_state, "the session is closed");
  EXPECT_ERROR(session.wait(Level::staged), Errc::invalid_state, "the session is closed");
}

TEST_F(Errors, NameValuesThatCannotBe) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.whole_step(1);

  EXPECT_ERROR((void)session.open(path("b.nc"), static_cast<Format>(77)), Errc::invalid_argument, "no glean::Format 77");
  EXPECT_ERROR((void)session.open(std::string("a\0b", 3), Format::cdf5), Errc::invalid_argument, "zero byte");
  EXPECT_ERROR(file.out.wait(static_cast<Level>(9)), Errc::invalid_argument, "no glean::Level 9");
  EXPECT_ERROR((void)file.out.reached(static_cast<Level>(-1)), Errc::invalid_argument, "no glean::Level -1");
  EXPECT_ERROR(session.wait(Level::durable, std::nan("")), Errc::invalid_argument, "not a number");
  file.out.close();
  session.close();

  EXPECT_TRUE(exists("a.nc"));
}

TEST_F(Errors, OfAStepThatOneRankLeavesOpenReachAllAtWait) {
  move_to_memory();
  Session session(MPI_COMM_WORLD, with({{"pool.deadline", "500ms"}}));
  Simple file(session, path("a.nc"));
  file.step(1);
  if (rank_ != last()) file.out.end_step();
  const auto error = thrown([&] { file.out.wait(Level::captured); });
  EXPECT_TRUE(error && error->code() == Errc::invalid_state && says(error, "a step is open")) << error->what();
  if (rank_ == last()) file.out.end_step();
  file.out.close();
  session.close();
  EXPECT_TRUE(exists("a.nc"));
}

TEST_F(Errors, TellAtOnceWhenAllPlacesForOutputsAreTaken) {
  Session session(MPI_COMM_WORLD, with({}));
  std::vector<Simple> files;
  for (int i = 0; i < 64; ++i) {
    files.emplace_back(session, path(std::to_string(i)));
    files.back().out.end_definitions();
  }
  Simple one_more(session, path("one_more"));
  EXPECT_ERROR(one_more.out.end_definitions(), Errc::invalid_state, "64 outputs are open");
  files[10].out.close();
  Simple again(session, path("again"));
  again.whole_step(1);
  again.out.close();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i != 10) files[i].out.close();
  }
  session.close();
  EXPECT_TRUE(exists("again"));
  EXPECT_FALSE(exists("one_more"));
  EXPECT_EQ(others().size(), 65U);
}

TEST_F(Errors, TellThatAnOutputOfTheSameNameIsOpen) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.whole_step(1);
  Simple same(session, path("a.nc"));
  EXPECT_ERROR(same.out.end_definitions(), Errc::invalid_state, "is an open output");
  file.out.close();
  session.close();
  EXPECT_TRUE(exists("a.nc"));
}

TEST_F(Errors, OfTheReportReachAllRanks) {
  Session session(MPI_COMM_WORLD, with({{"report.file", path("missing/report.json")}}));
  EXPECT_ERROR(session.close(), Errc::not_found, "missing/report.json");
}

}  // namespace

}  // namespace glean::test
