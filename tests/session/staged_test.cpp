// SPDX-License-Identifier: BSD-3-Clause
//
// Mode staged: tests/with_stagers has started the stagers.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "ranks.hpp"

namespace glean::test {
namespace {

template <class Call>
std::string error_of(Call call) {
  try {
    call();
    return "no error";
  } catch (const std::exception& error) {
    return error.what();
  }
}

class Staged : public Ranks {
 protected:
  // What the file is without stagers.
  [[nodiscard]] std::string direct(int steps) {
    Session session(MPI_COMM_WORLD, with({{"mode", "threaded"}}));
    write(session, "direct.nc", steps);
    session.close();
    return content("direct.nc");
  }
  void write(Session& session, const std::string& name, int steps) {
    Simple file(session, path(name));
    file.out.end_definitions();
    for (int step = 0; step < steps; ++step) file.whole_step(1.25 + step);
    file.out.close();
  }
  [[nodiscard]] bool appears(const std::string& name) const {
    for (int i = 0; i < 6000 && !exists(name); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return exists(name);
  }
};

TEST_F(Staged, ASessionEndsAndItsFilesAreWritten) {
  const std::string expected = direct(3);
  Session session(MPI_COMM_WORLD, with({}));
  for (const char* name : {"a.nc", "b.nc", "c.nc"}) write(session, name, 3);
  session.close();

  for (const char* name : {"a.nc", "b.nc", "c.nc"}) {
    ASSERT_TRUE(appears(name));
    EXPECT_EQ(content(name), expected) << name;
  }
}

TEST_F(Staged, EveryLevelCanBeWaitedFor) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.out.end_definitions();
  for (const Level level : {Level::captured, Level::staged, Level::written, Level::durable}) {
    file.whole_step(1.25);
    file.out.wait(level);
    EXPECT_TRUE(file.out.reached(level)) << static_cast<int>(level);
    EXPECT_FALSE(exists("a.nc"));
  }
  file.out.close();
  file.out.wait(Level::durable);
  EXPECT_TRUE(exists("a.nc"));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(others({"a.nc"}), std::vector<std::string>{});
}

TEST_F(Staged, AFileThatCannotBeMadeIsAnErrorOnAllRanksAndTheSessionGoesOn) {
  Session session(MPI_COMM_WORLD, with({}));
  const std::string error = error_of([&] {
    Simple file(session, path("missing/a.nc"));
    file.out.end_definitions();
    file.whole_step(1.25);
    file.out.close();
    file.out.wait(Level::staged);
  });
  EXPECT_NE(error.find("missing"), error.npos) << error;

  write(session, "b.nc", 1);
  session.wait(Level::durable);
  EXPECT_TRUE(exists("b.nc"));
  const std::string exists_already = error_of([&] {
    Output out = session.open(path("b.nc"), Format::cdf5, {.existing = Existing::refuse});
    out.end_definitions();
    out.close(Level::durable, -1);
  });
  EXPECT_NE(exists_already.find("exists"), exists_already.npos) << exists_already;
  session.close();
}

TEST_F(Staged, WithoutStagersThereIsNoSession) {
  const std::string no_file = error_of([&] { Session session(MPI_COMM_WORLD, with({{"staging.address", path("none.json")}})); });
  EXPECT_NE(no_file.find("none.json"), no_file.npos) << no_file;
  const std::string no_key = error_of([&] { Session session(MPI_COMM_WORLD, with({{"staging.key", path("none.key")}})); });
  EXPECT_NE(no_key.find("none.key"), no_key.npos) << no_key;
  const std::string both = error_of([&] { Session session(MPI_COMM_WORLD, with({{"plan.files", "2"}})); });
  EXPECT_NE(both.find("staged"), both.npos) << both;
}

}  // namespace
}  // namespace glean::test
