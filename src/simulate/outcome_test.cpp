// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/outcome.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.hpp"
#include "plan/test_machines.hpp"
#include "simulate/fluid.hpp"

namespace glean::simulate {
namespace {

using base::KiB;
using base::MiB;

// Ranks of a Blue Gene/P, four a node, with Eureka beside it.
Scenario on_blue_gene(std::int64_t ranks, Bytes bytes_per_rank, int variables = 1) {
  const int racks = static_cast<int>(std::max<std::int64_t>(1, ranks / 4096));
  Scenario scenario;
  scenario.machine = ranks <= 256 ? plan::test::blue_gene_p({4, 4, 4}) : plan::test::blue_gene_p({8, 8, 16 * racks});
  scenario.machine.way_out.group_bytes_per_second = 420.0 * MiB;
  scenario.machine.file_system.request_seconds = 1e-3;
  scenario.machine.file_system.create_seconds = 1e-3;
  scenario.machine.file_system.lock_seconds = 4e-4;
  scenario.machine.staging = {.nodes = 100, .bytes_per_second = 670.0 * MiB};
  scenario.machine.offset_bytes = 400;
  scenario.machine.collective_aggregators = 8;
  scenario.placement = {.ranks = ranks, .ranks_per_node = 4};
  scenario.request = {.bytes_per_rank = bytes_per_rank, .pattern = plan::Pattern::flash, .variables = variables};
  return scenario;
}

// Those that assign gateways need some.
std::vector<const Strategy*> strategies_without_gateways() {
  std::vector<const Strategy*> all = strategies();
  std::erase_if(all, [](const Strategy* each) { return each->name().starts_with("reassigned"); });
  return all;
}

// Units that resources of each name have served, of the groups that a crowd stands for each.
std::map<std::string, double> served(const Strategy& strategy, const Scenario& scenario) {
  const plan::Plan plan = strategy.plan(scenario);
  Work work;
  Site site(scenario, plan, work);
  static_cast<void>(strategy.add_step(site, {}, nullptr));
  const Timeline timeline = run_fluid(work);
  std::map<std::string, double> sums;
  for (ResourceId each = 0; each < work.resources().size(); ++each) sums[work.resources()[each].name] += timeline.served[each];
  return sums;
}

double durable_seconds(const char* strategy, const Scenario& scenario) {
  return simulate(strategy_named(strategy), scenario).durable_seconds;
}

TEST(Simulation, WritesEveryByteOnceWithEachStrategy) {
  Scenario scenario = on_blue_gene(1024, 4 * MiB, 4);   // 4 MiB: files of ranks and groups are whole blocks, too
  scenario.stagers = 3;
  for (const Strategy* strategy : strategies_without_gateways()) {
    auto sums = served(*strategy, scenario);
    EXPECT_NEAR(sums["file system"] / static_cast<double>(scenario.step_bytes()), 1, 1e-9) << strategy->name();
  }
}

TEST(Simulation, SendsEveryByteOutOfTheGroupsOnceAndWithItsControl) {
  Scenario scenario = on_blue_gene(256, 64 * KiB);
  scenario.to_io_nodes = true;
  const double rate = 731.0 * MiB, control = 1 / 680.0 - 1 / 731.0;

  auto sums = served(strategy_named("posix"), scenario);

  EXPECT_NEAR(sums["I/O nodes"], 256 * (64.0 * KiB + control * rate), 1);
}

// 256 messages, one after the other at the I/O node: seed 000, 3.
TEST(Simulation, OfPosixToAnIoNodeIsWhatCanBeWorkedOutByHand) {
  for (const std::int64_t ranks : {256, 4096, 32768}) {
    Scenario scenario = on_blue_gene(ranks, 64 * KiB);
    scenario.to_io_nodes = true;
    EXPECT_NEAR(durable_seconds("posix", scenario), 256 * (1 / 680.0 - 1 / 731.0) + 16.0 / 731.0, 1e-9) << ranks;
  }
}

// 16 psets and 12 staging nodes: four of these have two psets each and no more than their own rate (seed 000, Table 1).
TEST(Simulation, OfGroupsThatShareAStagerWaitsForTheFullestOne) {
  Scenario scenario = on_blue_gene(4096, MiB);
  const auto staged_bytes_per_second = [&](std::int64_t stagers) {
    scenario.stagers = stagers;
    return simulate(strategy_named("glean-staged-by-group"), scenario).staged_bytes_per_second() / MiB;
  };

  EXPECT_NEAR(staged_bytes_per_second(12), 16 * 670.0 / 2, 16 * 670.0 / 2 * 0.02);
  EXPECT_NEAR(staged_bytes_per_second(8), 16 * 670.0 / 2, 16 * 670.0 / 2 * 0.02);
  EXPECT_NEAR(staged_bytes_per_second(4), 4 * 670.0, 4 * 670.0 * 0.02);
  EXPECT_GT(staged_bytes_per_second(16), 16 * 670.0 / 2 * 1.1);   // each its own
  EXPECT_DOUBLE_EQ(staged_bytes_per_second(16), staged_bytes_per_second(100));
}

TEST(Simulation, IsNeverFasterThanTheStaticBound) {
  for (const Bytes bytes : {2 * KiB, 64 * KiB, 4 * MiB}) {
    const Scenario scenario = on_blue_gene(4096, bytes, 4);
    for (const Strategy* strategy : strategies_without_gateways()) {
      const Outcome fluid = simulate(*strategy, scenario), bound = simulate(*strategy, scenario, Executor::bound);
      EXPECT_GE(fluid.blocked_seconds, bound.blocked_seconds * (1 - 1e-9)) << strategy->name();
      EXPECT_GE(fluid.staged_seconds, bound.staged_seconds * (1 - 1e-9)) << strategy->name();
      EXPECT_GE(fluid.durable_seconds, bound.durable_seconds * (1 - 1e-9)) << strategy->name();
    }
  }
}

TEST(Simulation, IsNeverSlowerOnAMachineThatIsFasterSomewhere) {
  const Scenario scenario = on_blue_gene(4096, 256 * KiB, 4);
  using Change = void (*)(topology::Machine&);
  const Change changes[] = {[](topology::Machine& m) { std::get<topology::Torus>(m.network).link_bytes_per_second *= 2; },
                            [](topology::Machine& m) { m.way_out.group_bytes_per_second *= 2; },
                            [](topology::Machine& m) { m.way_out.message_seconds /= 2; },
                            [](topology::Machine& m) { m.file_system.bytes_per_second *= 2; },
                            [](topology::Machine& m) { m.file_system.targets *= 2; },
                            [](topology::Machine& m) { m.file_system.lock_seconds /= 2; },
                            [](topology::Machine& m) { m.staging.bytes_per_second *= 2; },
                            [](topology::Machine& m) { m.offset_bytes /= 2; },
                            [](topology::Machine& m) { m.node.copy_bytes_per_second *= 2; }};
  for (const Strategy* strategy : strategies_without_gateways()) {
    for (std::size_t i = 0; i < std::size(changes); ++i) {
      Scenario faster = scenario;
      changes[i](faster.machine);
      // The same plan: one that is made for the faster machine may give up a little time for fewer files.
      faster.limits.aggregators_min = faster.limits.aggregators_max = 4;
      Scenario slower = scenario;
      slower.limits = faster.limits;
      faster.files = slower.files = 1;
      EXPECT_LE(simulate(*strategy, faster).durable_seconds, simulate(*strategy, slower).durable_seconds * (1 + 1e-9))
          << strategy->name() << " " << i;
    }
  }
}

TEST(Simulation, LetsTheDrainOverlapWithComputing) {
  Scenario scenario = on_blue_gene(4096, MiB, 4);
  const Strategy& glean = strategy_named("glean");
  const double durable = durable_seconds("glean", scenario), blocked = simulate(glean, scenario).blocked_seconds;
  scenario.steps = 5;

  scenario.compute_seconds = 2 * durable;
  const Outcome overlapped = simulate(glean, scenario);
  EXPECT_NEAR(overlapped.blocked_seconds, blocked, blocked * 1e-9);
  EXPECT_NEAR(overlapped.total_seconds, 5 * scenario.compute_seconds + 4 * blocked + durable, durable * 1e-6);

  scenario.compute_seconds = 0;
  scenario.pool_bytes = 4 * MiB;   // what a node puts in one step
  const Outcome held_up = simulate(glean, scenario);
  EXPECT_GT(held_up.blocked_seconds, 0.7 * durable);
  EXPECT_GE(held_up.total_seconds, 5 * (durable - blocked) * (1 - 1e-9));

  scenario.pool_bytes = MiB;       // less than a step: the program waits for the drain
  EXPECT_DOUBLE_EQ(simulate(glean, scenario).blocked_seconds, simulate(glean, scenario).durable_seconds);
}

// What the plan says of a phase that is regular, and what executing it takes, are the same thing told twice.
TEST(Simulation, AgreesWithThePlannerWhereOneStageDecides) {
  Scenario scenario = on_blue_gene(4096, MiB);
  scenario.to_io_nodes = true;
  scenario.machine.way_out.group_bytes_per_second = 0;

  const Outcome outcome = simulate(strategy_named("glean"), scenario);

  EXPECT_EQ(outcome.aggregators, 4);
  EXPECT_NEAR(outcome.durable_seconds, outcome.planned_seconds, 0.05 * outcome.planned_seconds);
}

// Golden: read a change of these figures as carefully as the change that makes it.
TEST(Simulation, OfARackOfFlashTakesAsLongAsBefore) {
  const Scenario scenario = on_blue_gene(4096, 3 * MiB, 24);
  const std::map<std::string, std::pair<double, double>> expected = {
      // blocked and durable, milliseconds
      {"posix", {39322.6000, 39322.6000}},
      {"file-per-process", {6554.9408, 6554.9408}},
      {"container", {2474.9408, 2474.9408}},
      {"collective", {3393.3336, 3393.3336}},
      {"coio", {2970.5962, 2970.5962}},
      {"rbio", {103.6264, 2006.0474}},
      {"threaded-rbio", {103.6264, 2006.0474}},
      {"collective-planned", {3393.3336, 3393.3336}},
      {"collective-one-sided", {2915.3063, 2915.3063}},
      {"glean", {1.5729, 1989.4961}},
      {"glean-staged", {1.5729, 2524.5767}},
      {"glean-staged-by-group", {1910.1767, 1910.1767}},
      {"glean-staged-sync", {1910.1767, 1910.1767}},
  };
  for (const Strategy* strategy : strategies_without_gateways()) {
    const Outcome outcome = simulate(*strategy, scenario);
    const auto found = expected.find(std::string(strategy->name()));
    if (found == expected.end()) {
      ADD_FAILURE() << fmt::format("\n      {{\"{}\", {{{:.4f}, {:.4f}}}}},", strategy->name(), outcome.blocked_seconds * 1e3,
                                   outcome.durable_seconds * 1e3);
      continue;
    }
    EXPECT_NEAR(outcome.blocked_seconds * 1e3, found->second.first, 1e-3) << strategy->name();
    EXPECT_NEAR(outcome.durable_seconds * 1e3, found->second.second, 1e-3) << strategy->name();
  }
}

// To I/O nodes, where nothing but the way out counts (seed 003).
TEST(Simulation, ThroughReassignedGatewaysIsNotSlowerAndCoalescingSavesMessages) {
  Scenario scenario;
  scenario.machine = plan::test::blue_gene_q();
  scenario.placement = {.ranks = 512 * 16, .ranks_per_node = 16};
  scenario.to_io_nodes = true;
  for (const Bytes bytes : {8 * KiB, 64 * KiB, 2 * MiB}) {
    scenario.request = {.bytes_per_rank = bytes};
    const double posix = durable_seconds("posix", scenario);
    EXPECT_LT(durable_seconds("reassigned", scenario), posix * 1.1) << bytes;   // what is sent to a gateway is there before it writes
    EXPECT_LT(durable_seconds("reassigned-coalesced", scenario), durable_seconds("reassigned", scenario)) << bytes;
  }
  scenario.machine.way_out.gateways.clear();
  EXPECT_THROW(static_cast<void>(simulate(strategy_named("reassigned"), scenario)), base::Error);
}

// Of each rank each aggregator hears once, and not each rank of each (seed 002): small data of many ranks gain most.
TEST(Simulation, OfOneSidedCollectiveWritingDoesNotTellAllRanksOfAll) {
  Scenario small = on_blue_gene(32768, 4 * KiB), large = on_blue_gene(32768, 4 * MiB);
  small.to_io_nodes = large.to_io_nodes = true;
  const auto gain = [](const Scenario& scenario) {
    return durable_seconds("collective", scenario) / durable_seconds("collective-one-sided", scenario);
  };

  EXPECT_GT(gain(small), 5);
  EXPECT_GT(gain(large), 1);
  EXPECT_GT(gain(small), gain(large));
}

// A session copies, and exchanges, sends and writes in the background; stagers write a step when they have all of it.
TEST(Simulation, OfASessionBlocksForTheCopyAndWritesWhatIsStaged) {
  Scenario scenario = on_blue_gene(4096, 4 * MiB);
  scenario.machine.node.memory_bytes_per_second = scenario.machine.node.copy_bytes_per_second;   // one of four at a time
  const double copies = 4 * 4.0 * MiB / scenario.machine.node.copy_bytes_per_second;

  const Outcome glean = simulate(strategy_named("glean"), scenario), staged = simulate(strategy_named("glean-staged"), scenario);

  EXPECT_NEAR(glean.blocked_seconds, copies, 1e-9);
  EXPECT_NEAR(staged.blocked_seconds, copies, 1e-9);
  const double port = 100 * 670.0 * MiB;
  EXPECT_GE(staged.durable_seconds, staged.staged_seconds + static_cast<double>(scenario.step_bytes()) / port);
}

// The order that all papers report.
TEST(Simulation, OrdersStrategiesAsThePapersDo) {
  const Scenario scenario = on_blue_gene(32768, MiB / 2, 4);
  const auto observed = [&](const char* name) { return simulate(strategy_named(name), scenario).observed_bytes_per_second(); };

  EXPECT_GT(observed("threaded-rbio"), observed("coio"));
  EXPECT_GT(observed("coio"), observed("collective"));
  EXPECT_GT(observed("glean-staged-by-group"), observed("glean-staged-sync"));
  EXPECT_GT(observed("glean-staged-sync"), observed("collective"));
}

TEST(Simulation, CopesWithAHundredThousandRanks) {
  const Scenario scenario = on_blue_gene(131072, MiB, 4);
  for (const Strategy* strategy : strategies_without_gateways()) {
    const Outcome outcome = simulate(*strategy, scenario);
    EXPECT_EQ(outcome.bytes, 131072 * MiB) << strategy->name();
    EXPECT_GT(outcome.durable_seconds, 0) << strategy->name();
    EXPECT_LT(outcome.phases.size(), 1000U) << strategy->name();   // phases are of all ranks that do the same
  }
}

TEST(Simulation, SaysWhatAStepWaitsFor) {
  Scenario scenario = on_blue_gene(4096, 2 * KiB);
  scenario.to_io_nodes = true;
  const Outcome outcome = simulate(strategy_named("posix"), scenario);

  ASSERT_FALSE(outcome.limits.empty());
  EXPECT_EQ(outcome.limits.front(), (Limit{"I/O nodes", 1}));
}

TEST(Simulation, RefusesWhatCannotBeAllAtOnce) {
  Scenario scenario = on_blue_gene(256, MiB);
  scenario.steps = 0;
  scenario.files = 257;
  scenario.stagers = 101;
  try {
    static_cast<void>(simulate(strategy_named("glean-staged"), scenario));
    FAIL();
  } catch (const base::Error& error) {
    const std::string what = error.what();
    for (const char* part : {"0 steps", "257 files of 256 ranks", "101 stagers: blue gene/p has 100"}) {
      EXPECT_NE(what.find(part), std::string::npos) << what;
    }
  }
  EXPECT_THROW(static_cast<void>(strategy_named("posx")), base::Error);
}

}  // namespace
}  // namespace glean::simulate
