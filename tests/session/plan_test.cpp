// SPDX-License-Identifier: BSD-3-Clause
//
// Which nodes write, and in which requests: as a machine file, a setting or what was measured says. Files never depend on it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "nodes.hpp"

namespace glean::test {

namespace {

using nlohmann::json;

class Plans : public Nodes {
 protected:
  void SetUp() override {
    Nodes::SetUp();
    if (IsSkipped()) return;
    if (rank_ == 0) {
      std::ofstream(path("line.toml")) << machine_file();
      std::ofstream(path("pair.toml")) << "name = \"pair\"\n[network]\nkind = \"torus\"\nextents = [2]\n[way_out]\nnodes_per_group = 1\n";
    }
    Session session(MPI_COMM_WORLD, with({{"mode", "passthrough"}}));
    write(session, "expected.nc");
    session.close();
  }
  // One I/O group of all nodes in a line, with a gateway at either end; the machine lets all data leave through the first.
  [[nodiscard]] std::string machine_file() const {
    const int nodes = size_ / ranks_per_node_;
    return fmt::format("name = \"line\"\n[network]\nkind = \"torus\"\nextents = [{0}]\nwraps = [false]\n[way_out]\n"
                       "group_extents = [{0}]\ngateways = [[0], [{1}]]\ndefault_gateway = [{2}]\n",
                       nodes, nodes - 1, fmt::join(std::vector<int>(static_cast<std::size_t>(nodes), 0), ", "));
  }
  void write(Session& session, const std::string& name) {
    Crossing file(session, path(name), per_rank);
    for (int step = 0; step < 3; ++step) file.step();
    file.out.close();
  }
  [[nodiscard]] json report() const { return json::parse(content("report.json")); }

  static constexpr std::uint64_t per_rank = 40'000;
};

TEST_F(Plans, MakeTheSameFileWhicheverNodesWrite) {
  for (const char* aggregators : {"0", "1", "2"}) {
    for (const std::string& machine : {std::string(), path("line.toml")}) {
      Session session(MPI_COMM_WORLD, with({{"topology.machine", machine}, {"plan.aggregators", aggregators},
                                            {"drain.request", "128KiB"}, {"report.file", path("report.json")}}));
      write(session, "a.nc");
      session.close();
      expect_same_files("a.nc", "expected.nc");
      if (rank_ == 0 && !machine.empty() && *aggregators != '0') {
        EXPECT_EQ(report()["outputs"][0]["aggregators_per_group"], *aggregators - '0');
      }
    }
  }
}

TEST_F(Plans, LetNoMoreNodesWriteThanASettingAllows) {
  if (size_ < 3) GTEST_SKIP() << "needs three nodes";
  Session session(MPI_COMM_WORLD, with({{"topology.ranks_per_node", "1"}, {"plan.writers", "2"}, {"plan.tune", "false"},
                                        {"drain.request", "128KiB"}, {"report.file", path("report.json")}}));
  write(session, "a.nc");
  session.close();
  expect_same_files("a.nc", "expected.nc");
  if (rank_ == 0) {
    EXPECT_EQ(report()["outputs"][0]["aggregators_per_group"], 2);   // all nodes are one
  }
}

// The last but one node aggregates for the far end of the line, and the gateway there is closer to it than its own: it writes.
TEST_F(Plans, LetAGatewayWriteOnBehalfOfTheNodesNearIt) {
  if (size_ / ranks_per_node_ < 4) GTEST_SKIP() << "needs four nodes";
  const int silent = size_ - 2 * ranks_per_node_;
  for (const bool knows_the_machine : {true, false}) {
    Session session(MPI_COMM_WORLD, with({{"topology.machine", knows_the_machine ? path("line.toml") : ""},
                                          {"plan.aggregators", "2"}, {"drain.request", "128KiB"}}));
    {
      std::optional<FilesNoLongerThan> limit;
      if (rank_ == silent) limit.emplace(4096);
      write(session, "a.nc");
      if (knows_the_machine) session.wait(Level::durable);
      else EXPECT_ERROR(session.wait(Level::durable), Errc::io, "a.nc' cannot be completed");
      barrier();
    }
    session.close();
    if (knows_the_machine) expect_same_files("a.nc", "expected.nc");
  }
}

TEST_F(Plans, AreTunedBetweenFilesAFewTimes) {
  for (const char* tune : {"true", "false"}) {
    Session session(MPI_COMM_WORLD, with({{"topology.machine", path("line.toml")}, {"plan.tune", tune}, {"drain.request", "512KiB"},
                                          {"report.file", path("report.json")}}));
    const int files = tune == std::string("true") ? 12 : 4;
    for (int i = 0; i < files; ++i) {
      Crossing file(session, path(fmt::format("tuned{}.nc", i)), 10 * per_rank);
      file.step();
      file.out.close();
      session.wait(Level::durable);
      expect_values(session, path(fmt::format("tuned{}.nc", i)), 1);
    }
    session.close();
    barrier();
    if (rank_ != 0) continue;
    const json changes = report()["tuning"], outputs = report()["outputs"];
    ASSERT_EQ(outputs.size(), static_cast<std::size_t>(files));
    if (std::string(tune) == "false") {
      EXPECT_EQ(changes, json::array());
      continue;
    }
    ASSERT_GE(changes.size(), 1U);
    EXPECT_LE(changes.size(), 8U);
    for (const json& change : changes) {
      EXPECT_NE(change["from"], change["to"]);
      const auto first = std::find_if(outputs.begin(), outputs.end(), [&](const json& each) { return each["path"] == change["path"]; });
      ASSERT_NE(first, outputs.end());
      EXPECT_EQ((*first)["aggregators_per_group"], change["to"]["aggregators_per_group"]);
      EXPECT_EQ((*first)["request_bytes"], change["to"]["request_bytes"]);
    }
  }
}

TEST_F(Plans, AreRefusedByAllRanksWhereTheMachineIsNotTheJobs) {
  if (size_ / ranks_per_node_ > 2) {
    EXPECT_ERROR(Session(MPI_COMM_WORLD, with({{"topology.machine", path("pair.toml")}})), Errc::invalid_config, "has 2 nodes");
  }
  EXPECT_ERROR(Session(MPI_COMM_WORLD, with({{"topology.machine", "mirra"}})), Errc::not_found, "mira");
}

}  // namespace

}  // namespace glean::test
