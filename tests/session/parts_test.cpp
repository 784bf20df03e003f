// SPDX-License-Identifier: BSD-3-Clause
//
// An output as several files: each is written without the others, and `glean join` makes the one that there would be otherwise.
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "nodes.hpp"
#include "program.hpp"

namespace glean::test {

namespace {

class Parts : public Nodes {
 protected:
  [[nodiscard]] int nodes() const { return size_ / ranks_per_node_; }
  // Without a machine every node is an I/O group.
  [[nodiscard]] int part_of_this_rank(int files) const { return rank_ / ranks_per_node_ * files / nodes(); }
  [[nodiscard]] static std::string part(const std::string& name, int k, int files) {
    return name + "." + std::to_string(k) + "of" + std::to_string(files);
  }

  struct Outcome {
    int status = -1;
    std::string says;
  };
  // On rank 0, with the others waiting.
  Outcome join(const std::string& name, const std::string& options = "") {
    MPI_Barrier(MPI_COMM_WORLD);
    Outcome outcome;
    if (rank_ == 0) {
      const std::string command = "env -i " + std::string(std::getenv("COMMAND")) + " join " + path(name) + " " + options + " 2>&1";
      FILE* pipe = popen(command.c_str(), "r");
      char buffer[4096];
      while (fgets(buffer, sizeof buffer, pipe) != nullptr) outcome.says += buffer;
      outcome.status = WEXITSTATUS(pclose(pipe));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return outcome;
  }
  void expect_joined(const std::string& name, const std::string& expected) {
    const Outcome outcome = join(name, "--remove");
    if (rank_ == 0) {
      EXPECT_EQ(outcome.status, 0) << outcome.says;
    }
    expect_same_files(name, expected);
  }
  // All other ranks wait until the ranks of part 0 have done `first`, and do `then` after it.
  template <class First, class Then>
  void one_part_after_another(int files, First first, Then then) {
    const bool is_first = part_of_this_rank(files) == 0;
    if (is_first) first();
    MPI_Barrier(MPI_COMM_WORLD);
    if (!is_first) then();
    MPI_Barrier(MPI_COMM_WORLD);
  }
};

TEST_F(Parts, BecomeTheFileOfASessionWithoutParts) {
  std::vector<std::string> counts = {"1", "2", "group"};
  if (nodes() > 2) counts.emplace_back("3");
  const char* modes[] = {"threaded", "collective", "passthrough"};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {   // each number of files in each mode once
    const Program program = random_program(seed, size_);
    Session passthrough(MPI_COMM_WORLD, {{"mode", "passthrough"}});
    write_with_glean(passthrough, path("expected.nc"), program, seed);
    passthrough.close();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::string& files = counts[i];
      const char* mode = modes[(seed + i) % 3];
      SCOPED_TRACE("seed " + std::to_string(seed) + ", files " + files + ", mode " + mode);
      Session session(MPI_COMM_WORLD, with({{"plan.files", files}, {"mode", mode}, {"drain.request", "4KiB"}}));
      write_with_glean(session, path("a.nc"), program, seed);
      session.close();
      if (files == "1") expect_same_files("a.nc", "expected.nc");
      else expect_joined("a.nc", "expected.nc");
      if (rank_ == 0) {
        EXPECT_EQ(others({"a.nc", "expected.nc"}), std::vector<std::string>());
      }
    }
  }
}

// The chunks of all parts are found in the one file.
TEST_F(Parts, OfHdf5BecomeTheFileOfASessionWithoutParts) {
  if (!GLEAN_HAVE_HDF5) GTEST_SKIP() << "the library is built without HDF5";
  const auto write = [&](const std::string& files, const std::string& name, int steps) {
    Session session(MPI_COMM_WORLD, with({{"plan.files", files}, {"drain.request", "4KiB"}}));
    Simple file(session, path(name), 100, Format::hdf5);
    for (int step = 0; step < steps; ++step) file.whole_step(step + 0.5);
    file.out.close();
    session.close();
  };
  for (const int steps : {3, 300}) {   // of 300 the indexes of chunks lie behind the data
    write("1", "expected.h5", steps);
    write("2", "a.h5", steps);
    expect_joined("a.h5", "expected.h5");
  }
}

// Neighbours in the machine are not neighbours in the order of ranks, and each part has two nodes that exchange.
TEST_F(Parts, HaveTheNodesOfIoGroups) {
  if (nodes() < 4) GTEST_SKIP() << "needs four nodes";
  if (rank_ == 0) {
    std::ofstream(path("square.toml")) << "name = \"square\"\n[network]\nkind = \"torus\"\nextents = [2, 2]\n"
                                          "[way_out]\ngroup_extents = [2, 1]\n";
  }
  {
    Session passthrough(MPI_COMM_WORLD, {{"mode", "passthrough"}});
    Crossing file(passthrough, path("expected.nc"), 10'000);
    for (int step = 0; step < 3; ++step) file.step();
    file.out.close();
    passthrough.close();
  }
  for (const char* aggregators : {"0", "1"}) {
    Session session(MPI_COMM_WORLD, with({{"plan.files", "group"}, {"topology.machine", path("square.toml")}, {"drain.request", "16KiB"},
                                          {"plan.aggregators", aggregators}, {"report.file", path("report.json")}}));
    {
      Crossing file(session, path("a.nc"), 10'000);
      for (int step = 0; step < 3; ++step) file.step();
      file.out.close();
    }
    session.close();
    barrier();
    if (rank_ == 0) {
      EXPECT_TRUE(exists("a.nc.0of2") && exists("a.nc.1of2"));
      const auto report = nlohmann::json::parse(content("report.json"));
      EXPECT_EQ(report["outputs"].size(), 2U) << report["outputs"];
      EXPECT_EQ(report["ranks"], size_);
    }
    expect_joined("a.nc", "expected.nc");
  }
  for (const char* files : {"3", "4"}) {
    EXPECT_ERROR(Session(MPI_COMM_WORLD, with({{"plan.files", files}, {"topology.machine", path("square.toml")}})), Errc::invalid_config,
                 "4 nodes are in 2 I/O groups");
  }
}

TEST_F(Parts, DoNotWaitForEachOther) {
  Session session(MPI_COMM_WORLD, with({{"plan.files", "2"}}));
  const auto write = [&] {
    Simple file(session, path("a.nc"), 1000);
    file.whole_step(1);
    file.out.wait(Level::durable);
    file.whole_step(2);
    file.out.close();
    session.wait(Level::durable);
  };
  one_part_after_another(
      2,
      [&] {
        write();
        EXPECT_TRUE(exists("a.nc.0of2") && exists("a.nc.0of2.index"));
        EXPECT_FALSE(exists("a.nc.1of2"));
      },
      write);
  session.close();
  {
    Session passthrough(MPI_COMM_WORLD, {{"mode", "passthrough"}});
    Simple file(passthrough, path("expected.nc"), 1000);
    file.whole_step(1);
    file.whole_step(2);
    file.out.close();
    passthrough.close();
  }
  expect_joined("a.nc", "expected.nc");
}

// The coordinates of a grid are put by one rank of the session, not by one of each part.
TEST_F(Parts, OfAGridAreJoined) {
  const auto write = [&](Session& session, const std::string& name) {
    const auto size = static_cast<std::uint64_t>(size_), rank = static_cast<std::uint64_t>(rank_);
    Output out = session.open(path(name), Format::cdf5);
    const Grid grid = out.define_grid(UniformGrid{{size, 5}, {0, 0}, {1, 1}, {Box{{rank, 0}, {1, 5}}}, {}});
    const Variable variable = out.define_variable("dens", Type::float32, grid, {.per_step = true});
    out.begin_step();
    out.put(variable, std::vector<float>(5, static_cast<float>(rank_)));
    out.end_step();
    out.close();
  };
  Session passthrough(MPI_COMM_WORLD, {{"mode", "passthrough"}}), session(MPI_COMM_WORLD, with({{"plan.files", "group"}}));
  write(passthrough, "expected.nc");
  passthrough.close();
  for (int time = 0; time < 2; ++time) write(session, "a.nc");   // the later one replaces
  session.close();
  expect_joined("a.nc", "expected.nc");
}

// What is put in part is filled in its own file, what no rank may put when they are joined.
TEST_F(Parts, AreFilledWhereNoRankPuts) {
  const auto write = [&](Session& session, const std::string& name) {
    const auto size = static_cast<std::uint64_t>(size_), rank = static_cast<std::uint64_t>(rank_);
    Output out = session.open(path(name), Format::cdf2);
    const Dimension dimensions[] = {out.define_unlimited("t"), out.define_dimension("x", size * 100)};
    const std::vector<Box> blocks = {Box{{rank * 100 + 10}, {80}}};
    const Variable record = out.define_variable("record", Type::float64, dimensions, blocks, {.fill = Fill::on});
    const Variable fixed = out.define_variable("fixed", Type::int16, std::span(dimensions + 1, 1), blocks, {.fill = Fill::on});
    out.define_variable("not_put", Type::int32, dimensions, {}, {.fill = Fill::on});
    const std::vector<double> values(40, rank_);
    for (int step = 0; step < 3; ++step) {
      out.begin_step();
      if (step == rank_ % 3) out.put(record, Box{{rank * 100 + 30}, {40}}, values.data());
      if (step == 0) out.put(fixed, Box{{rank * 100 + 30}, {40}}, values.data());
      out.end_step();
    }
    out.close();
  };
  Session passthrough(MPI_COMM_WORLD, {{"mode", "passthrough"}}), session(MPI_COMM_WORLD, with({{"plan.files", "2"}}));
  write(passthrough, "expected.nc");
  passthrough.close();
  write(session, "a.nc");
  session.close();
  expect_joined("a.nc", "expected.nc");
}

TEST_F(Parts, AreReadByTheirOwnNames) {
  Session session(MPI_COMM_WORLD, with({{"plan.files", "2"}}));
  Simple file(session, path("a.nc"), 10);
  file.whole_step(rank_ + 1);
  const std::string mine = path(part("a.nc", part_of_this_rank(2), 2));
  const auto own = [&](InputOptions options) {
    const Input in = session.open_input(mine, options);
    std::vector<double> values(10);
    in.read(in.find_variable("record"), 0, Box{{10 * static_cast<std::uint64_t>(rank_)}, {10}}, values);
    return values;
  };
  EXPECT_EQ(own({.reading = Reading::written}), std::vector<double>(10, rank_ + 1));
  file.out.close();
  EXPECT_EQ(own({}), std::vector<double>(10, rank_ + 1));
  EXPECT_ERROR(static_cast<void>(session.open_input(path("a.nc"))), Errc::not_found, "glean join");
  session.close();
}

TEST_F(Parts, ThatFailDoNotFailTheOthers) {
  Session session(MPI_COMM_WORLD, with({{"plan.files", "2"}}));
  {
    Simple file(session, path("a.nc"), 10);
    file.step(1);
    if (rank_ == size_ - 1) file.out.put(file.record, std::vector<double>(10, 2.0));   // once more
    file.out.end_step();
    file.out.close();
    if (part_of_this_rank(2) == 1) {
      EXPECT_ERROR(file.out.wait(Level::durable), Errc::overlap, "rank " + std::to_string(size_ - 1));
    } else {
      file.out.wait(Level::durable);
    }
  }
  session.close();
  const Outcome outcome = join("a.nc");
  if (rank_ != 0) return;
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.says.find("a.nc.1of2'"), std::string::npos) << outcome.says;
  EXPECT_NE(outcome.says.find("missing"), std::string::npos) << outcome.says;
  EXPECT_EQ(others({"a.nc.0of2", "a.nc.0of2.index"}), std::vector<std::string>());
}

TEST_F(Parts, ThatAreGivenUpLeaveNothingInAnyMode) {
  for (const char* mode : {"threaded", "collective"}) {
    Session session(MPI_COMM_WORLD, with({{"plan.files", "2"}, {"mode", mode}, {"log.level", "off"}}));
    Simple file(session, path("a.nc"), 10);
    file.whole_step(1);
    session.close();
    EXPECT_EQ(others(), std::vector<std::string>()) << mode;
    barrier();
  }
}

TEST_F(Parts, NameRanksOfTheSessionInErrors) {
  Session session(MPI_COMM_WORLD, with({{"plan.files", "2"}}));
  Output out = session.open(path("a.nc"), Format::cdf5);
  out.define_dimension(rank_ == size_ - 1 ? "y" : "x", 3);
  if (part_of_this_rank(2) == 0) {
    out.end_definitions();
    out.close();
  } else {
    EXPECT_ERROR(out.end_definitions(), Errc::invalid_argument,
                 "rank " + std::to_string(size_ - 1) + " has defined it otherwise than rank");
  }
  session.close();
  barrier();
  if (rank_ == 0) {
    EXPECT_EQ(others({"a.nc.0of2", "a.nc.0of2.index"}), std::vector<std::string>());
  }
}

// The blocks of a rank are what the index says of its part.
TEST_F(Parts, RefuseWhatLiesOutsideOfTheBlocks) {
  Session session(MPI_COMM_WORLD, with({{"plan.files", "2"}}));
  Simple file(session, path("a.nc"), 10);
  file.out.begin_step();
  const std::vector<double> values(10 * static_cast<std::size_t>(size_));
  EXPECT_ERROR(file.out.put(file.record, Box{{0}, {values.size()}}, values.data()), Errc::invalid_argument, "outside the blocks");
}

TEST_F(Parts, AreRefusedWhereTheyCannotBe) {
  const std::string too_many = std::to_string(nodes() + 1);
  EXPECT_ERROR(Session(MPI_COMM_WORLD, with({{"plan.files", too_many}})), Errc::invalid_config, "plan.files = " + too_many);
  const std::pair<const char*, const char*> others[] = {{"mode", "dedicated"}, {"publish", "in-place"}};
  for (const auto& [key, value] : others) {
    EXPECT_ERROR(Session(MPI_COMM_WORLD, with({{"plan.files", "2"}, {key, value}})), Errc::invalid_config, "plan.files");
  }
  EXPECT_ERROR(Session(MPI_COMM_WORLD, with({{"plan.files", "none"}})), Errc::invalid_config, "plan.files");
}

// An output of one session may be overwritten by another that has other ideas of it.
TEST_F(Parts, OfDifferentOutputsAreNotJoined) {
  for (const char* name : {"a.nc", "b.nc"}) {
    Session session(MPI_COMM_WORLD, with({{"plan.files", "2"}}));
    Simple file(session, path(name), 10);
    file.whole_step(*name);
    file.out.close();
    session.close();
  }
  barrier();
  if (rank_ == 0) {
    for (const char* suffix : {"", ".index"}) {
      std::filesystem::rename(path("b.nc.1of2") + suffix, path("a.nc.1of2") + suffix);
    }
  }
  const Outcome outcome = join("a.nc");
  if (rank_ != 0) return;
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.says.find("not parts of one output"), std::string::npos) << outcome.says;
  EXPECT_FALSE(exists("a.nc"));
}

}  // namespace

}  // namespace glean::test
