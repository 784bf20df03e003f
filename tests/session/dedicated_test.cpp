// SPDX-License-Identifier: BSD-3-Clause
//
// Mode `dedicated`: the last rank of each node writes, the others compute. Run with GLEAN_TOPOLOGY_RANKS_PER_NODE for several nodes.
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "program.hpp"
#include "ranks.hpp"

namespace glean::test {

namespace {

class Dedicated : public Ranks {
 protected:
  static Settings dedicated(Settings more = {}) {
    more.insert({"mode", "dedicated"});
    return with(std::move(more));
  }
  void SetUp() override {
    Ranks::SetUp();
    const char* text = std::getenv("GLEAN_TOPOLOGY_RANKS_PER_NODE");
    ranks_per_node_ = text == nullptr ? size_ : std::atoi(text);
    nodes_ = (size_ + ranks_per_node_ - 1) / ranks_per_node_;
  }
  [[nodiscard]] bool is_last_of_node() const { return (rank_ + 1) % ranks_per_node_ == 0 || rank_ == size_ - 1; }
  [[nodiscard]] int computing() const { return size_ - nodes_; }

  int ranks_per_node_ = 1, nodes_ = 1;

  // One array of which each rank of `comm` has a part.
  static Variable define(Output& out, MPI_Comm comm, std::uint64_t per_rank) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const Dimension x = out.define_dimension("x", per_rank * static_cast<std::uint64_t>(ranks));
    return out.define_variable("v", Type::float64, std::span(&x, 1), {Box{{per_rank * static_cast<std::uint64_t>(rank)}, {per_rank}}});
  }

  static std::vector<std::string> pools_of_this_process() {
    std::vector<std::string> names;
    const std::string prefix = "glean." + std::to_string(getuid()) + "." + std::to_string(getpid()) + ".";
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      if (const auto name = entry.path().filename().string(); name.starts_with(prefix)) names.push_back(name);
    }
    return names;
  }

  static std::set<std::string> threads_here() {
    std::set<std::string> names;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(thread.path() / "comm") >> std::ws, name);
      names.insert(name);
    }
    return names;
  }
};

TEST_F(Dedicated, SetsTheLastRankOfEachNodeAsideUntilTheOthersClose) {
  const pid_t mine = getpid();
  Session session(MPI_COMM_WORLD, dedicated({{"report.file", path("report.json")}}));
  EXPECT_EQ(session.is_writer(), is_last_of_node());
  if (session.is_writer()) {
    EXPECT_TRUE(exists("a.nc"));   // the constructor has returned because all is done
    EXPECT_EQ(session.application_comm(), MPI_COMM_NULL);
    EXPECT_ERROR(session.open(path("b.nc"), Format::cdf5), Errc::invalid_state, "set aside to write");
    EXPECT_ERROR(session.wait(Level::durable), Errc::invalid_state, "set aside to write");
    EXPECT_ERROR((void)session.open_input(path("a.nc")), Errc::invalid_state, "set aside to write");
    EXPECT_EQ(session.outputs().size(), 0U);
    session.close();
    return;
  }
  const MPI_Comm comm = session.application_comm();
  int rank = -1, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  EXPECT_EQ(rank, rank_ - rank_ / ranks_per_node_);
  EXPECT_EQ(ranks, computing());
  Output out = session.open(path("a.nc"), Format::cdf5);
  const Variable v = define(out, comm, 100'000);
  out.begin_step();
  out.put(v, std::vector<double>(100'000, 1.25));
  out.end_step();
  out.wait(Level::durable);
  EXPECT_EQ(threads_here().count("glean-drain"), 0U) << "process " << mine << " drains";
  out.close();
  session.close();
  EXPECT_TRUE(pools_of_this_process().empty());
  if (rank_ != 0) return;
  const auto report = nlohmann::json::parse(content("report.json"));
  EXPECT_EQ(report["outputs"][0]["state"], "published");   // the writer has left it
  EXPECT_EQ(report["ranks"], computing());
  EXPECT_EQ(report["outputs"][0]["bytes"], computing() * 100'000 * 8);   // of all writers
}

TEST_F(Dedicated, WritesWhatPnetcdfWrites) {
  constexpr std::uint64_t programs = 12;
  [&] {
    Session session(MPI_COMM_WORLD, dedicated());
    if (session.is_writer()) return;
    for (std::uint64_t seed = 1; seed <= programs; ++seed) {
      const Program program = random_program(seed, computing());
      write_with_glean(session, path("d" + std::to_string(seed)), program, seed);
      write_with_pnetcdf(session.application_comm(), path("n" + std::to_string(seed)), program);
    }
    session.close();
  }();
  for (std::uint64_t seed = 1; seed <= programs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_files("d" + std::to_string(seed), "n" + std::to_string(seed));
  }
}

TEST_F(Dedicated, DrainsWhatRulesSayToo) {
  const std::string file = path("rules.toml");
  if (rank_ == 0) std::ofstream(file) << "[[rule]]\npattern = \"*.chk\"\nmode = \"dedicated\"\n";
  MPI_Barrier(MPI_COMM_WORLD);
  setenv("GLEAN_CONFIG", file.c_str(), 1);
  Session session(MPI_COMM_WORLD, with({{"mode", "collective"}}));
  setenv("GLEAN_CONFIG", "", 1);
  EXPECT_EQ(session.is_writer(), is_last_of_node());
  if (session.is_writer()) return;
  for (const char* name : {"a.chk", "a.nc"}) {
    Output out = session.open(path(name), Format::cdf5);
    const Variable v = define(out, session.application_comm(), 100);
    out.begin_step();
    out.put(v, std::vector<double>(100, 1.25));
    out.end_step();
    out.close();
  }
  session.close();
  EXPECT_EQ(content("a.chk"), content("a.nc"));
  EXPECT_FALSE(content("a.chk").empty());
}

TEST_F(Dedicated, OpensNothingForAProgramThatHasNotAskedWhoWrites) {
  Session session(MPI_COMM_WORLD, dedicated());
  if (is_last_of_node()) return;   // which only this test knows
  EXPECT_ERROR(session.open(path("a.nc"), Format::cdf5), Errc::invalid_state, "has not asked which (call is_writer()");
  EXPECT_NE(session.application_comm(), MPI_COMM_NULL);   // that is a question, too
  Output out = session.open(path("a.nc"), Format::cdf5);
  out.close();
  session.close();
}

TEST_F(Dedicated, TellsAllRanksOfAnError) {
  Session session(MPI_COMM_WORLD, dedicated());
  if (session.is_writer()) return;
  Output out = session.open(path("a.nc"), Format::cdf5);
  const Variable v = define(out, session.application_comm(), 100);
  out.begin_step();
  const std::vector<double> data(100, 1.25);
  out.put(v, data);
  if (rank_ == size_ - 2) out.put(v, data);   // the last one of the last node
  out.end_step();
  out.close();
  EXPECT_ERROR(session.wait(Level::durable), Errc::overlap, "a.nc");
  session.close();
  EXPECT_FALSE(exists("a.nc"));
}

TEST_F(Dedicated, RefusesOnAllRanksWhatCannotBe) {
  EXPECT_ERROR(Session(MPI_COMM_WORLD, dedicated({{"pool.budget", "1KiB"}})), Errc::invalid_config, "pool.budget");
  if (nodes_ == 1) {
    EXPECT_ERROR(Session(MPI_COMM_WORLD, dedicated({{"spill.directory", path("none")}, {"spill.budget", "1MiB"}, {"full", "spill"}})),
                 Errc::invalid_config, "spill.directory");   // found when the writer waits already
  }
  EXPECT_ERROR(Session(MPI_COMM_SELF, dedicated()), Errc::invalid_config, "node 0 has no other than rank 0");
  if (size_ == 2) return;
  // All nodes but the last one could.
  EXPECT_ERROR(Session(MPI_COMM_WORLD, dedicated({{"topology.ranks_per_node", std::to_string(size_ - 1)}})), Errc::invalid_config,
               "node 1 has no other than rank " + std::to_string(size_ - 1));
}

TEST_F(Dedicated, LeavesAllRanksInOtherModes) {
  for (const char* mode : {"threaded", "collective", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    EXPECT_FALSE(session.is_writer());
    EXPECT_EQ(session.application_comm(), MPI_COMM_WORLD);
  }
}

}  // namespace

}  // namespace glean::test
