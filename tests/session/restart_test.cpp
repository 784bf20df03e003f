// SPDX-License-Identifier: BSD-3-Clause
//
// Session::restart opens the newest complete file of a family, the same on all ranks.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ranks.hpp"

namespace glean::test {
namespace {

namespace fs = std::filesystem;

class Restarts : public Ranks {
 protected:
  void write(Session& session, const std::string& name, double value, Level level = Level::durable) {
    Simple file(session, path(name));
    file.whole_step(value);
    file.out.close();
    session.wait(level);
  }
  // On rank 0, with the others waiting.
  template <class Action>
  void alone(Action action) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) action();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void age(const std::string& name, long seconds) {
    const timespec times[2] = {{0, UTIME_OMIT}, {1'700'000'000 - seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path(name).c_str(), times, 0), 0);
  }
  void cut(const std::string& name, std::uintmax_t bytes) { fs::resize_file(path(name), fs::file_size(path(name)) - bytes); }
  // Of the file, as every rank finds it.
  static double value_in(const Input& in) { return in.read<double>(in.find_variable("record"), in.steps() - 1).back(); }
};

TEST_F(Restarts, FromTheFileThatWasModifiedLast) {
  Session session(MPI_COMM_WORLD, with({}));
  for (const double number : {1.0, 2.0, 3.0}) write(session, "chk_" + std::to_string(static_cast<int>(number)) + ".nc", number);
  alone([&] {
    age("chk_1.nc", 0);
    age("chk_2.nc", 50);
    age("chk_3.nc", 90);
  });

  const Input in = session.restart(path("chk_*.nc"));

  EXPECT_EQ(in.path(), path("chk_1.nc"));
  EXPECT_EQ(value_in(in), 1.0);
  session.close();
  EXPECT_EQ(value_in(in), 1.0);
}

TEST_F(Restarts, FromTheHighestNumberOfThoseOfOneTime) {
  Session session(MPI_COMM_WORLD, with({}));
  for (const char* name : {"chk_9.nc", "chk_10.nc", "chk_8.nc"}) write(session, name, 1);
  alone([&] {
    for (const char* name : {"chk_9.nc", "chk_10.nc", "chk_8.nc"}) age(name, 7);
  });

  EXPECT_EQ(session.restart(path("chk_*.nc")).path(), path("chk_10.nc"));
  session.close();
}

TEST_F(Restarts, PassesOverWhatIsNotComplete) {
  Session session(MPI_COMM_WORLD, with({}));
  for (int number = 1; number <= 4; ++number) write(session, "chk_" + std::to_string(number) + ".nc", number);
  alone([&] {
    for (int number = 1; number <= 4; ++number) age("chk_" + std::to_string(number) + ".nc", 10 - number);
    cut("chk_4.nc", 8);
    age("chk_4.nc", 0);
    cut("chk_3.nc", fs::file_size(path("chk_3.nc")) - 70);   // in the middle of the header
    age("chk_3.nc", 1);
    std::ofstream(path("chk_5.nc")) << "no such file";
    std::ofstream(path("chk_6.nc"));
    fs::create_directory(path("chk_7.nc"));
    fs::create_symlink("nowhere", path("chk_8.nc"));
    ASSERT_EQ(mkfifo(path("chk_9.nc").c_str(), 0600), 0);
    std::ofstream(path(".chk_0.nc.glean-1-2.part")) << "still being written";
  });

  const Input in = session.restart(path("chk_*.nc"));

  EXPECT_EQ(in.path(), path("chk_2.nc"));
  EXPECT_EQ(value_in(in), 2);
  session.close();
}

// With checksums the length is known that such a file has to have.
TEST_F(Restarts, FromAFileWhoseLastVariableNoRankHasPutOnlyWithChecksums) {
  for (const char* checksums : {"true", "false"}) {
    const std::string name = std::string("part_") + checksums + ".nc";
    Session session(MPI_COMM_WORLD, with({{"checksums", checksums}}));
    Output out = session.open(path(name), Format::cdf5);
    const Dimension x = out.define_dimension("x", 1000);
    const Variable put = out.define_variable("put", Type::float32, std::span(&x, 1), {Box{{0}, {rank_ == 0 ? 10U : 0U}}});
    out.begin_step();
    out.put(put, std::vector<float>(rank_ == 0 ? 10 : 0, 2.5F));
    out.end_step();
    out.close();
    session.wait(Level::durable);
    if (std::string(checksums) == "true") {
      EXPECT_EQ(session.restart(path(name)).path(), path(name));
    } else {
      EXPECT_ERROR((void)session.restart(path(name)), Errc::io, "checksums could tell");
    }
    session.close();
  }
}

TEST_F(Restarts, SayThatThereIsNothingYet) {
  Session session(MPI_COMM_WORLD, with({}));

  EXPECT_ERROR((void)session.restart(path("chk_*.nc")), Errc::not_found, "start from scratch");
  EXPECT_ERROR((void)session.restart(path("nowhere/chk_*.nc")), Errc::not_found, "no file matches");
  EXPECT_ERROR((void)session.restart(path("chk.nc")), Errc::not_found, "no file matches");
  EXPECT_ERROR((void)session.restart(""), Errc::invalid_argument, "empty");

  write(session, "chk_1.nc", 1);   // the session goes on
  EXPECT_EQ(value_in(session.restart(path("chk_*.nc"))), 1);
  session.close();
}

TEST_F(Restarts, SayWhyNoneIsComplete) {
  Session session(MPI_COMM_WORLD, with({}));
  write(session, "chk_1.nc", 1);
  alone([&] { cut("chk_1.nc", 1); });

  EXPECT_ERROR((void)session.restart(path("chk_?.nc")), Errc::io, "none of 1 file that match");
  EXPECT_ERROR((void)session.restart(path("chk_?.nc")), Errc::io, "it ends 1 bytes before its last variable does");
  session.close();
}

TEST_F(Restarts, FromWhatThisSessionStillDrains) {
  const fs::path before = fs::current_path();
  if (rank_ == 0) {
    fs::create_directory(path("run"));
    fs::create_symlink("run", path("link"));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  fs::current_path(path("run"));
  Session session(MPI_COMM_WORLD, with({{"drain.request", "64KiB"}}));
  int number = 0;
  for (const std::string& pattern : {path("run/chk_*.nc"), path("link/chk_*.nc"), std::string("chk_*.nc"), std::string("../run/chk_*.nc"),
                                     std::string("./chk_*.nc")}) {
    SCOPED_TRACE(pattern);
    Simple file(session, "chk_" + std::to_string(++number) + ".nc", 200'000);
    file.whole_step(number);
    file.out.close();

    EXPECT_EQ(value_in(session.restart(pattern)), number);
  }
  session.close();
  fs::current_path(before);
}

// What lies under its name is what counts then.
TEST_F(Restarts, FromTheFileBeforeAnOutputThatHasFailed) {
  Session session(MPI_COMM_WORLD, with({}));
  write(session, "latest.nc", 1);
  Simple bad(session, path("latest.nc"));
  bad.step(2);
  if (rank_ == size_ - 1) bad.out.put(bad.record, std::vector<double>(bad.elements, 3.5));
  bad.out.end_step();
  EXPECT_EQ(value_in(session.restart(path("latest*"))), 1);   // it is still open
  bad.out.close();

  EXPECT_EQ(value_in(session.restart(path("latest*"))), 1);
  EXPECT_ERROR(session.wait(Level::durable), Errc::overlap, "latest.nc");
  EXPECT_EQ(value_in(session.restart(path("latest*"))), 1);
  session.close();
}

TEST_F(Restarts, NotFromAFileThatIsOpenAndWrittenInPlace) {
  for (const char* mode : {"threaded", "passthrough"}) {
    SCOPED_TRACE(mode);
    Session session(MPI_COMM_WORLD, with({{"publish", "in-place"}, {"mode", mode}}));
    write(session, "chk_1.nc", 1);
    Simple open(session, path("chk_2.nc"));
    open.whole_step(2);
    open.out.wait(Level::durable);

    EXPECT_EQ(session.restart(path("chk_*.nc")).path(), path("chk_1.nc"));
    open.out.close();
    session.wait(Level::durable);
    EXPECT_EQ(session.restart(path("chk_*.nc")).path(), path("chk_2.nc"));
    session.close();
    alone([&] { fs::remove(path("chk_2.nc")); });
  }
}

TEST_F(Restarts, OfModePassthrough) {
  Session session(MPI_COMM_WORLD, with({{"mode", "passthrough"}}));
  write(session, "chk_1.nc", 1);
  write(session, "chk_2.nc", 2);
  alone([&] { age("chk_1.nc", 1); });

  EXPECT_EQ(value_in(session.restart(path("chk_*.nc"))), 2);
  session.close();
}

// None takes as long as the limit, all take longer.
TEST_F(Restarts, WaitForAllOutputsTogetherNoLongerThanTheyAreTold) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  Session session(MPI_COMM_WORLD, with({}));
  std::vector<Simple> files;
  for (const char* name : {"chk_1.nc", "chk_2.nc", "chk_3.nc"}) {
    files.emplace_back(session, path(name));
    files.back().whole_step(1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (Simple& file : files) {
    if (rank_ == size_ - 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    file.out.close();
  }

  EXPECT_ERROR((void)session.restart(path("chk_*.nc"), 0.8), Errc::timeout, "has not closed");

  EXPECT_EQ(value_in(session.restart(path("chk_*.nc"))), 1);
  session.close();
}

TEST_F(Restarts, TellAllRanksWhenOneMakesAnotherCall) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  Session session(MPI_COMM_WORLD, with({{"pool.deadline", "3s"}}));
  if (rank_ == size_ - 1) {
    EXPECT_TRUE(thrown([&] { session.wait(Level::durable); }));
  } else {
    EXPECT_TRUE(says(thrown([&] { (void)session.restart(path("chk_*.nc")); }), "restart"));
  }
}

}  // namespace
}  // namespace glean::test
