// SPDX-License-Identifier: BSD-3-Clause
//
// Simulated times as text: whatever changes one of them shows in review. With GLEAN_RECORD=1 in its environment this
// writes what there is now.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "simulate/outcome.hpp"
#include "topology/machine_files.hpp"

namespace glean::simulate {
namespace {

struct Case {
  const char* machine;
  std::int64_t ranks;
  int ranks_per_node;
  const char* workload;
  int steps;
  double compute_seconds;
};

constexpr Case cases[] = {{"intrepid", 16384, 4, "flash-checkpoint", 1, 0}, {"intrepid", 65536, 4, "s3d-restart", 3, 20},
                          {"jugene", 32768, 4, "flash-plot", 1, 0},         {"mira", 131072, 16, "flash-checkpoint", 2, 30},
                          {"jaguar", 32768, 16, "nekcem", 3, 10},           {"theta", 16384, 64, "s3d-restart", 1, 0},
                          {"fat-tree", 1024, 16, "flash-plot", 2, 5},       {"dragonfly", 1024, 16, "flash-plot", 2, 5}};

std::string times_of(const Case& of) {
  Scenario scenario;
  const topology::Machine whole = topology::load_machine(GLEAN_MACHINE_FILES "/" + std::string(of.machine) + ".toml");
  scenario.placement = {.ranks = of.ranks, .ranks_per_node = of.ranks_per_node};
  scenario.machine = topology::partition(whole, scenario.placement.nodes());
  for (const Workload& each : workloads()) {
    if (each.name != std::string_view(of.workload)) continue;
    scenario.request = {.bytes_per_rank = each.bytes_per_rank, .pattern = each.pattern, .variables = each.variables};
  }
  scenario.steps = of.steps;
  scenario.compute_seconds = of.compute_seconds;
  std::string text = fmt::format("\n{}, {} ranks, {}, {} steps, {} s before each\n", of.machine, of.ranks, of.workload, of.steps,
                                 of.compute_seconds);
  for (const Strategy* strategy : strategies()) {
    try {
      const Outcome outcome = simulate(*strategy, scenario);
      text += fmt::format("  {:<22} blocked {:<12.6g} staged {:<12.6g} durable {:<12.6g} total {:<12.6g} {}\n", outcome.strategy,
                          outcome.blocked_seconds, outcome.staged_seconds, outcome.durable_seconds, outcome.total_seconds,
                          outcome.limits.empty() ? "-" : outcome.limits.front().what);
    } catch (const base::Error&) {
      text += fmt::format("  {:<22} cannot be\n", strategy->name());
    }
  }
  return text;
}

TEST(SimulatedTimes, AreAsRecorded) {
  std::string times = "Seconds, simulated. Made by golden_test.cpp with GLEAN_RECORD=1.\n";
  for (const Case& each : cases) times += times_of(each);
  if (std::getenv("GLEAN_RECORD") != nullptr) std::ofstream(GLEAN_RECORDED_TIMES) << times;

  std::ifstream file(GLEAN_RECORDED_TIMES);
  const std::string recorded{std::istreambuf_iterator<char>(file), {}};

  EXPECT_EQ(times, recorded) << "if that is meant, GLEAN_RECORD=1 records it: the difference belongs in review";
}

}  // namespace
}  // namespace glean::simulate
