// SPDX-License-Identifier: BSD-3-Clause
//
// Whatever way data takes, the file is the one that PnetCDF writes.
#include <algorithm>
#include <numeric>

#include "program.hpp"
#include "ranks.hpp"

namespace glean::test {

namespace {

class Equality : public Ranks {
 protected:
  static std::uint64_t first_seed() { return arguments.empty() ? 1 : std::stoull(arguments[0]); }
  static std::uint64_t seeds() { return arguments.size() < 2 ? 10 : std::stoull(arguments[1]); }

  // Writes random programs both ways, several outputs draining at a time, and compares.
  void compare(const Settings& settings, std::uint64_t count) {
    {
      Session threaded(MPI_COMM_WORLD, with(settings));
      Session passthrough(MPI_COMM_WORLD, {{"mode", "passthrough"}});
      Session collective(MPI_COMM_WORLD, {{"mode", "collective"}});
      for (std::uint64_t seed = first_seed(); seed < first_seed() + count; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Program program = random_program(seed, size_);
        write_with_glean(threaded, path("t" + std::to_string(seed)), program, seed);
        write_with_glean(passthrough, path("p" + std::to_string(seed)), program, seed + 1);
        write_with_glean(collective, path("c" + std::to_string(seed)), program, seed + 2);
        if (seed % 2 == 0) write_with_pnetcdf(MPI_COMM_WORLD, path("n" + std::to_string(seed)), program);
      }
      threaded.close();
      passthrough.close();
      collective.close();
    }
    for (std::uint64_t seed = first_seed(); seed < first_seed() + count; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const std::string number = std::to_string(seed);
      expect_same_files("t" + number, "p" + number);
      expect_same_files("c" + number, "p" + number);
      if (seed % 2 == 0) expect_same_files("t" + number, "n" + number);
    }
  }

  // A program by hand, both ways and with PnetCDF alone.
  void compare(const Program& program) {
    {
      Session threaded(MPI_COMM_WORLD, with({}));
      Session passthrough(MPI_COMM_WORLD, {{"mode", "passthrough"}});
      write_with_glean(threaded, path("t"), program, 0);
      write_with_glean(passthrough, path("p"), program, 0);
      Session collective(MPI_COMM_WORLD, {{"mode", "collective"}, {"drain.request", "4KiB"}});
      write_with_glean(collective, path("c"), program, 0);
    }
    write_with_pnetcdf(MPI_COMM_WORLD, path("n"), program);
    expect_same_files("t", "n");
    expect_same_files("p", "n");
    expect_same_files("c", "n");
  }

  static ProgramVariable variable(const std::string& name, std::vector<int> dimensions, std::vector<Part> parts,
                                  std::vector<bool> put_in_step) {
    ProgramVariable result;
    result.name = name;
    result.dimensions = std::move(dimensions);
    result.parts = std::move(parts);
    result.put_in_step = std::move(put_in_step);
    result.seed = name.size();
    return result;
  }
};

TEST_F(Equality, HoldsForRandomPrograms) { compare({}, seeds()); }

TEST_F(Equality, HoldsForTheSmallestRequestsAndSeveralThreads) {
  compare({{"drain.request", "4KiB"}, {"drain.threads", "3"}, {"drain.depth", "2"}}, seeds() / 2);
}

TEST_F(Equality, HoldsWithoutDirectIo) { compare({{"drain.direct_io", "off"}}, seeds() / 2); }

TEST_F(Equality, HoldsInSharedMemory) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  TearDown();
  make_directory("/dev/shm");
  compare({}, seeds() / 2);
}

TEST_F(Equality, HoldsForAFileWithNothingInIt) {
  Program program;
  compare(program);
  program.steps = 2;
  compare(program);
}

TEST_F(Equality, HoldsForDefinitionsWithoutSteps) {
  Program program;
  program.dimensions = {0, 5};
  program.variables = {variable("fixed", {1}, {}, {}), variable("record", {0, 1}, {}, {})};
  program.variables[1].per_step = true;
  compare(program);
  for (auto& variable : program.variables) variable.fill = true;
  compare(program);
}

TEST_F(Equality, HoldsForScalars) {
  Program program;
  program.dimensions = {0};
  program.steps = 3;
  const int last = size_ - 1;
  program.variables = {variable("scalar", {}, {{{}, 0}}, {false, true, false}),
                       variable("of_last_rank", {}, {{{}, last}}, {true, false, false}),
                       variable("of_no_rank", {}, {}, {true, false, false}),
                       variable("per_step", {0}, {{{}, last}}, {true, true, true})};
  program.variables[2].fill = true;
  program.variables[3].per_step = true;
  compare(program);
}

// Records that no rank puts exist if a variable is filled, and do not if none is.
TEST_F(Equality, HoldsForStepsInWhichNoRankPuts) {
  for (const bool fill : {false, true}) {
    SCOPED_TRACE(fill ? "filled" : "not filled");
    Program program;
    program.dimensions = {0, 6};
    program.steps = 4;
    program.variables = {variable("put_once", {0, 1}, {{{{1}, {3}}, 0}}, {false, true, false, false}),
                         variable("never_put", {0, 1}, {{{{0}, {6}}, 0}}, {false, false, false, false})};
    for (auto& variable : program.variables) variable.per_step = true;
    program.variables[1].fill = fill;
    compare(program);
  }
}

// Eight times the pool goes through it.
TEST_F(Equality, HoldsWhenThePoolIsSmall) {
  const std::uint64_t per_rank = (std::uint64_t{32} << 20) / 8 / static_cast<std::uint64_t>(size_) / 4 * 4;
  Program program;
  program.dimensions = {0, per_rank / 4 * static_cast<std::uint64_t>(size_)};
  program.steps = 4;
  std::vector<Part> parts;
  for (int rank = 0; rank < size_; ++rank) {
    parts.push_back({{{per_rank / 4 * static_cast<std::uint64_t>(rank)}, {per_rank / 4}}, rank});
  }
  program.variables = {variable("data", {0, 1}, parts, {true, true, true, true})};
  program.variables[0].per_step = true;
  program.variables[0].memory = Type::float64;
  {
    Session session(MPI_COMM_WORLD, {{"pool.budget", "4MiB"}, {"pool.deadline", "60s"}, {"drain.request", "1MiB"}});

    write_with_glean(session, path("t"), program, 0);
    session.close();

    const Statistics statistics = session.statistics();
    EXPECT_EQ(statistics.pool_budget_bytes, 4U << 20);
    EXPECT_LE(statistics.pool_high_water_bytes, statistics.pool_budget_bytes);
    EXPECT_GT(statistics.pool_high_water_bytes, statistics.pool_budget_bytes / 2);
    EXPECT_EQ(statistics.captured_bytes, per_rank * 8);
  }
  write_with_pnetcdf(MPI_COMM_WORLD, path("n"), program);
  expect_same_files("t", "n");
}

// Twice as many puts as the journals have room for, which the ranks of a node share, while the output stays open.
TEST_F(Equality, HoldsForALongSeriesOfSmallSteps) {
  Program program;
  program.dimensions = {0, static_cast<std::uint64_t>(size_)};
  const char* per_node = std::getenv("GLEAN_TOPOLOGY_RANKS_PER_NODE");
  program.steps = 4000 / (per_node != nullptr ? std::atoi(per_node) : size_);
  std::vector<Part> parts;
  for (int rank = 0; rank < size_; ++rank) parts.push_back({{{static_cast<std::uint64_t>(rank)}, {1}}, rank});
  program.variables = {variable("series", {0, 1}, parts, std::vector<bool>(program.steps, true))};
  program.variables[0].per_step = true;
  {
    Session session(MPI_COMM_WORLD, {{"pool.budget", "2MiB"}, {"pool.deadline", "20s"}});
    write_with_glean(session, path("t"), program, 0);
    session.close();
  }
  write_with_pnetcdf(MPI_COMM_WORLD, path("n"), program);
  expect_same_files("t", "n");
}

}  // namespace

}  // namespace glean::test
