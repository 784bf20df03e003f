// SPDX-License-Identifier: BSD-3-Clause
//
// Session::append adds steps to a file that is there.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ranks.hpp"

namespace glean::test {
namespace {

namespace fs = std::filesystem;

class Appends : public Ranks {
 protected:
  [[nodiscard]] Box mine() const { return {{8 * static_cast<std::uint64_t>(rank_)}, {8}}; }
  // Steps of the values, in one output.
  void write(Session& session, const std::string& name, const std::vector<double>& values, Format format = Format::cdf5) {
    Simple file(session, path(name), 8, format);
    for (const double value : values) file.whole_step(value);
    file.out.close(Level::durable);
  }
  void add(Output& out, double value) {
    out.begin_step();
    const std::vector<double> data(8, value);
    out.put(out.find_variable("record"), mine(), data.data());
    out.end_step();
  }
  void expect_steps(Session& session, const std::string& name, const std::vector<double>& values) {
    const Input in = session.open_input(path(name));
    ASSERT_EQ(in.steps(), values.size());
    for (std::size_t step = 0; step < values.size(); ++step) {
      EXPECT_EQ(in.read<double>(in.find_variable("record"), step).back(), values[step]) << step;
    }
  }
  template <class Action>
  void alone(Action action) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) action();
    MPI_Barrier(MPI_COMM_WORLD);
  }
};

TEST_F(Appends, TheFileIsTheSameAsOfOneOutput) {
  for (const Format format : {Format::cdf1, Format::cdf2, Format::cdf5}) {
    Session session(MPI_COMM_WORLD, with({}));
    write(session, "whole.nc", {1, 2, 3, 4}, format);
    write(session, "parts.nc", {1, 2}, format);
    {
      Output out = session.append(path("parts.nc"));
      add(out, 3);
      out.close();
    }
    Output out = session.append(path("parts.nc"));   // waits for the one before
    add(out, 4);
    out.close(Level::durable);

    expect_same_files("parts.nc", "whole.nc");
    session.close();
  }
}

TEST_F(Appends, ReadersSeeTheOldFileUntilTheNewStepsAreDurable) {
  Session session(MPI_COMM_WORLD, with({}));
  write(session, "hist.nc", {1});
  const std::string before = content("hist.nc").substr(0, 12);   // magic and number of records
  Output out = session.append(path("hist.nc"));
  add(out, 2);
  out.wait(Level::written);
  EXPECT_EQ(content("hist.nc").substr(0, 12), before);
  MPI_Barrier(MPI_COMM_WORLD);

  out.wait(Level::durable);
  EXPECT_NE(content("hist.nc").substr(0, 12), before) << "on one node the header counts what is durable";
  add(out, 3);
  out.close();

  expect_steps(session, "hist.nc", {1, 2, 3});
  session.close();
}

TEST_F(Appends, AnOutputThatIsGivenUpLeavesTheOldFile) {
  Session session(MPI_COMM_WORLD, with({}));
  write(session, "hist.nc", {1, 2});
  {
    Output out = session.append(path("hist.nc"));
    add(out, 9);
    out.wait(Level::written);
  }
  session.close();

  Session next(MPI_COMM_WORLD, with({}));
  expect_steps(next, "hist.nc", {1, 2});
  Output out = next.append(path("hist.nc"));
  out.begin_step();   // of which nothing is put: what was written before does not shine through
  out.end_step();
  add(out, 4);
  out.close(Level::durable);
  expect_steps(next, "hist.nc", {1, 2, 0, 4});
  next.close();
}

TEST_F(Appends, WithoutAStepTheFileStaysAsItIs) {
  Session session(MPI_COMM_WORLD, with({}));
  write(session, "hist.nc", {1, 2});
  const std::string before = content("hist.nc");
  MPI_Barrier(MPI_COMM_WORLD);

  session.append(path("hist.nc")).close(Level::durable);

  EXPECT_EQ(content("hist.nc"), before);
  session.close();
}

TEST_F(Appends, FilesThatHaveNoRecordsYet) {
  Session session(MPI_COMM_WORLD, with({}));
  write(session, "hist.nc", {});
  Output out = session.append(path("hist.nc"));
  add(out, 5);
  out.close(Level::durable);

  expect_steps(session, "hist.nc", {5});
  session.close();
}

TEST_F(Appends, OfOneVariableWithoutPadding) {
  Session session(MPI_COMM_WORLD, with({}));
  for (const int steps : {3, 1}) {
    Output out = session.open(path(steps == 3 ? "whole.nc" : "parts.nc"), Format::cdf2);
    const Dimension dimensions[] = {out.define_unlimited("t"), out.define_dimension("x", 3)};
    std::vector<Box> blocks;
    if (rank_ == 0) blocks.push_back({{0}, {3}});
    const Variable v = out.define_variable("bytes", Type::int8, dimensions, blocks);
    for (int step = 0; step < steps; ++step) {
      out.begin_step();
      const std::vector<std::int8_t> values(3, static_cast<std::int8_t>(step));
      if (rank_ == 0) out.put(v, values);
      out.end_step();
    }
    out.close(Level::durable);
  }

  Output out = session.append(path("parts.nc"));
  for (int step = 1; step < 3; ++step) {
    out.begin_step();
    const std::vector<std::int8_t> values(3, static_cast<std::int8_t>(step));
    if (rank_ == 0) out.put(out.find_variable("bytes"), values);
    out.end_step();
  }
  out.close(Level::durable);

  expect_same_files("parts.nc", "whole.nc");
  session.close();
}

TEST_F(Appends, WhatIsNotPerStepAndWhatCannotBeIsRefused) {
  Session session(MPI_COMM_WORLD, with({}));
  write(session, "hist.nc", {1});
  write(session, "cut.nc", {1, 2, 3});
  alone([&] {
    std::ofstream(path("text.nc")) << "no such file";
    fs::resize_file(path("cut.nc"), fs::file_size(path("cut.nc")) / 2);
  });
  {
    Output plain = session.open(path("plain.nc"), Format::cdf5);
    static_cast<void>(plain.define_dimension("x", 3));
    plain.close(Level::durable);
  }

  EXPECT_ERROR(session.append(path("nothing.nc")), Errc::not_found, "there is no such file");
  EXPECT_ERROR(session.append(path("text.nc")), Errc::unsupported, "no classic NetCDF file");
  EXPECT_ERROR(session.append(path("cut.nc")), Errc::io, "it was cut short");
  EXPECT_ERROR(session.append(path("plain.nc")), Errc::invalid_argument, "no unlimited dimension");
  Output out = session.append(path("hist.nc"));
  EXPECT_ERROR(session.append(path("hist.nc")), Errc::invalid_state, "this session has it open");
  out.begin_step();
  const std::vector<double> data(8, 1);
  EXPECT_ERROR(out.put(out.find_variable("fixed"), mine(), data.data()), Errc::unsupported, "does not change");
  out.end_step();
  out.close();
  EXPECT_ERROR(session.wait(Level::durable), Errc::unsupported, "does not change");
  {
    Output again = session.append(path("hist.nc"));
    EXPECT_ERROR(static_cast<void>(again.define_dimension("y", 3)), Errc::invalid_state, "have ended");
    again.close();
    EXPECT_ERROR(session.wait(Level::durable), Errc::invalid_state, "have ended");
  }
  session.close();
  Session next(MPI_COMM_WORLD, with({}));
  expect_steps(next, "hist.nc", {1});
  next.close();

  for (const char* mode : {"passthrough", "collective"}) {
    Session other(MPI_COMM_WORLD, with({{"mode", mode}}));
    EXPECT_ERROR(other.append(path("hist.nc")), Errc::unsupported, "modes passthrough, collective and staged");
    other.close();
  }
}

TEST_F(Appends, AnotherJobThatAppendsIsNoticed) {
  Session session(MPI_COMM_WORLD, with({}));
  write(session, "hist.nc", {1});
  int descriptor = -1;
  alone([&] {
    descriptor = open(path("hist.nc").c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    ASSERT_EQ(fcntl(descriptor, F_OFD_SETLK, &lock), 0);
  });
  EXPECT_ERROR(session.append(path("hist.nc")), Errc::invalid_state, "another job");
  alone([&] { ::close(descriptor); });

  Output out = session.append(path("hist.nc"));
  add(out, 2);
  out.close(Level::durable);
  expect_steps(session, "hist.nc", {1, 2});
  session.close();
}

}  // namespace
}  // namespace glean::test
