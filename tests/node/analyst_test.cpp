// SPDX-License-Identifier: BSD-3-Clause
//
// Tables of what a drain has found out of steps, and none where a part of the ranks' puts was not seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "drain/engine.hpp"
#include "raw_output.hpp"
#include "store/posix/temporary_directory.hpp"
#include "virtual_ranks.hpp"

namespace glean::tests::analyst_test {
namespace {

constexpr int ranks = 3;
constexpr std::uint64_t elements = 600, steps = 4;

VirtualOutput analysed(const std::string& path) {
  VirtualOutput output;
  output.steps = steps;
  store::OutputDescription& description = output.description;
  description.display_path = path;
  description.names = {path + ".part", path};
  description.layout.header_bytes = 64;
  description.layout.variables.push_back({"v", mesh::Type::int32, {elements}, 64, 4 * elements, false, {}});
  mesh::Definitions definitions;
  definitions.dimensions = {{"t", 0, true}, {"x", elements, false}};
  definitions.variables.push_back({.name = "v", .external = mesh::Type::int32, .dimensions = {0, 1}});
  description.definitions = definitions;
  description.analysis.statistics = true;
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto start = static_cast<std::uint64_t>(rank) * elements / ranks;
      output.puts.push_back({step, rank, 0, mesh::Type::int32, {{start}, {elements / ranks}}});
    }
  }
  return output;
}

struct Node {
  store::TemporaryDirectory directory;
  plan::NodePlan plan = pool::roomy_plan();
  pool::TestPool made{ranks, plan};
  store::SystemCalls calls;
  VirtualOutput output = analysed(directory / "a.nc");
  VirtualRanks all{made};

  void put_all() { EXPECT_EQ(all.run({output}), std::vector<std::string>{}); }
  void expect_file() {
    EXPECT_TRUE(wait_until_finished(made.pool, all.keys()));
    EXPECT_EQ(bytes_of_file(output.description.names.final_path), output.file());
  }
  [[nodiscard]] std::string table() const { return output.description.names.final_path + ".statistics.csv"; }
};

TEST(Analyst, MakesATableOfAllStepsBeforeTheFileAppears) {
  Node node;
  drain::Engine engine(node.made.pool, node.plan, node.calls);

  node.put_all();

  node.expect_file();
  std::ifstream file(node.table());
  std::string line;
  std::getline(file, line);
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::int32_t least = value_of(0, step, 0), most = least;
    for (std::uint64_t i = 0; i < elements; ++i) {
      least = std::min<std::int32_t>(least, value_of(0, step, i));
      most = std::max<std::int32_t>(most, value_of(0, step, i));
    }
    std::getline(file, line);
    std::ostringstream begin;
    begin.precision(17);
    begin << step << ",v," << elements << "," << least << "," << most << ",";
    EXPECT_EQ(line.substr(0, begin.str().size()), begin.str());
  }
}

TEST(Analyst, MakesNoneWhereADrainHasEndedThatMayHaveSeenAPartAndRemovesThatOfAnEarlierFile) {
  Node node;
  std::ofstream(node.table()) << "of an earlier file";
  drain::Engine(node.made.pool, node.plan, node.calls).stop(drain::Engine::Unfinished::leave);

  node.put_all();
  drain::Engine second(node.made.pool, node.plan, node.calls);

  node.expect_file();
  EXPECT_FALSE(std::filesystem::exists(node.table()));
}

}  // namespace
}  // namespace glean::tests::analyst_test
