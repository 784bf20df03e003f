// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "foresight/advice.hpp"
#include "foresight/page.hpp"
#include "simulate/strategy.hpp"

namespace glean::foresight {
namespace {

using nlohmann::json;

// 4 ranks on 2 nodes: 2 steps of 64 MiB in 30 s, of which 3 s were blocked.
json report() {
  const double half = 64 << 20;
  return {{"schema", "glean-report-1"}, {"ranks", 4}, {"nodes", 2}, {"mode", "threaded"}, {"run_seconds", 30.0}, {"setup_seconds", 1.0},
          {"closing_seconds", 0.5}, {"blocked_seconds", {{"max", 3.0}}}, {"puts", 24}, {"puts_of_boxes", 0}, {"captured_bytes", 2 * half},
          {"observed_bytes_per_second", 4e7}, {"raw_bytes_per_second", 1e8},
          {"pool", {{"budget_bytes", 1 << 28}, {"high_water_bytes", 1 << 27}}},
          {"steps", {{{"end_s", 11.0}, {"blocked_seconds", 1.0}, {"captured_bytes", half}},
                     {{"end_s", 21.0}, {"blocked_seconds", 1.5}, {"captured_bytes", half}}}},
          {"drain", {{"threads", 1}, {"busy_seconds", 1.3}, {"cpu_seconds", 0.6}, {"intervals", {{10.0, 11.5}, {20.5, 21.5}}},
                     {"requests", {{{"kind", "direct"}, {"count", 16}, {"bytes", 2 * half}},
                                   {{"kind", "buffered"}, {"count", 2}, {"bytes", 100}}}}}},
          {"outputs", {{{"path", "/out/<a>&.nc"}, {"state", "published"}, {"bytes", 2 * half}, {"steps", 2}, {"request_bytes", 8 << 20},
                        {"aggregators_per_group", 1}, {"first_capture_s", 10.0}, {"last_capture_s", 20.0}, {"durable_s", 21.5}}}},
          {"passthrough", json::array()}, {"datasets", json::array()}};
}

topology::Machine cluster() {
  topology::Machine machine{.name = "cluster", .node = {.cores = 2, .memory_bytes = Bytes{64} << 30, .copy_bytes_per_second = 5e9}};
  machine.network = topology::FatTree{.nodes = 4096, .levels = {{.down = 4096, .link_bytes_per_second = 1e10}}};
  machine.way_out.nodes_per_group = 1;
  machine.file_system = {.name = "lustre", .block_bytes = 4096, .stripe_count = 1, .stripe_bytes = 1 << 20, .targets = 64,
                         .bytes_per_second = 1e11, .target_bytes_per_second = 2e9, .request_seconds = 1e-3, .create_seconds = 1e-3,
                         .lock_seconds = 1e-4};
  return machine;
}

std::string refusal_of(const std::string& text) {
  try {
    static_cast<void>(run_from_report(text, "r.json"));
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

TEST(ARecordedRun, IsWhatItsReportSays) {
  const RecordedRun run = run_from_report(report().dump(), "r.json");

  EXPECT_EQ(run.step_count(), 2);
  EXPECT_EQ(run.step_bytes(), 64 << 20);
  EXPECT_EQ(run.compute_seconds(), 13);
  EXPECT_EQ(run.ranks_per_node(), 2);
  EXPECT_EQ(run.variables(), 3);
  EXPECT_EQ(run.pattern(), plan::Pattern::flash);
  EXPECT_EQ(verdict_of(run.blocked_share()), "acceptable");
}

TEST(ARecordedRun, OfBoxesIsOneOfBoxes) {
  json boxes = report();
  boxes["puts_of_boxes"] = 20;

  EXPECT_EQ(run_from_report(boxes.dump(), "r.json").pattern(), plan::Pattern::s3d);
}

TEST(AReport, ThatCannotBeUsedIsRefusedWithTheReason) {
  json newer = report(), older = report(), damaged = report(), empty = report();
  newer["schema"] = "glean-report-2";
  older.erase("steps");
  damaged["drain"].erase("threads");
  empty["outputs"] = json::array(), empty["captured_bytes"] = 0;

  EXPECT_EQ(refusal_of("{"), "'r.json' is no report: it is not a JSON object");
  EXPECT_EQ(refusal_of("{}"), "'r.json' is no report of GLEAN: it has no schema");
  EXPECT_EQ(refusal_of(newer.dump()), "'r.json' has the schema 'glean-report-2'; this version reads glean-report-1");
  EXPECT_EQ(refusal_of(older.dump()), "'r.json' was written by an older version: it does not have 'steps'");
  EXPECT_NE(refusal_of(damaged.dump()).find("key 'threads' not found"), std::string::npos) << refusal_of(damaged.dump());
  EXPECT_EQ(refusal_of(empty.dump()), "nothing can be foretold from 'r.json': it wrote nothing");
}

TEST(AReport, OfNumbersThatNoRunHasIsRefused) {
  json ranks = report(), steps = report(), bytes = report(), nodes = report();
  nodes["nodes"] = nodes["ranks"] = 2 << 20;
  ranks["ranks"] = std::int64_t{1} << 50;
  steps["outputs"][0]["steps"] = -5;
  bytes["captured_bytes"] = 1e300;

  EXPECT_NE(refusal_of(ranks.dump()).find("1125899906842624 ranks"), std::string::npos) << refusal_of(ranks.dump());
  EXPECT_NE(refusal_of(nodes.dump()).find("2097152 nodes, of 1048576 at most"), std::string::npos) << refusal_of(nodes.dump());
  EXPECT_NE(refusal_of(steps.dump()).find("has -5 steps"), std::string::npos) << refusal_of(steps.dump());
  EXPECT_NE(refusal_of(bytes.dump()).find("1e+300 bytes"), std::string::npos) << refusal_of(bytes.dump());
}

TEST(AForecast, HasTheBytesOfEachRankAndTheIntervalThatIsWanted) {
  const RecordedRun run = run_from_report(report().dump(), "r.json");

  const Forecast as_it_was = forecast(run, cluster()), wanted = forecast(run, cluster(), {.ranks = 256, .interval_seconds = 60});

  EXPECT_EQ(as_it_was.scenario.ranks(), 4);
  EXPECT_EQ(wanted.scenario.request.bytes_per_rank, Bytes{16} << 20);
  EXPECT_EQ(wanted.scenario.step_bytes(), Bytes{256 * 16} << 20);
  EXPECT_EQ(wanted.scenario.placement.nodes(), 128);
  EXPECT_EQ(wanted.scenario.compute_seconds, 60);
}

TEST(AForecast, IsASimulationForEachMode) {
  const RecordedRun run = run_from_report(report().dump(), "r.json");

  const Forecast forecast = foresight::forecast(run, cluster(), {.ranks = 256});

  ASSERT_EQ(forecast.modes.size(), 5U);
  for (const ModeForecast& each : forecast.modes) {
    if (!each.outcome || each.mode == "staged") continue;
    const auto again = simulate::simulate(simulate::strategy_named(each.strategy), forecast.scenario);
    EXPECT_EQ(each.outcome->blocked_seconds, again.blocked_seconds) << each.mode;
  }
}

// Seed 001, (7), from blocked times by hand.
TEST(AForecast, HasTheProductionSpeedUpOverCollectiveWriting) {
  const RecordedRun run = run_from_report(report().dump(), "r.json");

  const Forecast forecast = foresight::forecast(run, cluster(), {.ranks = 256, .interval_seconds = 10});

  const auto of = [&](const char* mode) {
    return *std::find_if(forecast.modes.begin(), forecast.modes.end(), [&](const ModeForecast& each) { return each.mode == mode; });
  };
  const double coio = of("collective").outcome->blocked_seconds, glean = of("threaded").outcome->blocked_seconds;
  EXPECT_DOUBLE_EQ(forecast.drain_overhead, 0.6 / (30.0 * 4));
  EXPECT_DOUBLE_EQ(of("threaded").production_speedup, (coio + 10) / (glean + 10) / (1 + 0.6 / 120));
  EXPECT_DOUBLE_EQ(of("collective").production_speedup, 1);
}

TEST(AForecast, NamesTheFewestStagersAndStripesThatAreEnough) {
  const RecordedRun run = run_from_report(report().dump(), "r.json");

  const Forecast forecast = foresight::forecast(run, cluster(), {.ranks = 1024, .interval_seconds = 20});

  ASSERT_GT(forecast.best_stagers, 0);
  ASSERT_GT(forecast.best_stripes, 1);
  double least = forecast.stripes.front().outcome.durable_seconds;
  for (const Trial& each : forecast.stripes) least = std::min(least, each.outcome.durable_seconds);
  for (const Trial& each : forecast.stripes) {
    if (each.value < forecast.best_stripes) {
      EXPECT_GT(each.outcome.durable_seconds, least * equal);
    }
  }
}

TEST(Advice, IsTheRatioOfTwoSimulationsOfTheRun) {
  const RecordedRun run = run_from_report(report().dump(), "r.json");
  const Forecast forecast = foresight::forecast(run, cluster(), {.ranks = 1024});

  const std::vector<Advice> advice = advice_for(run, forecast);

  const auto stripes = std::find_if(advice.begin(), advice.end(), [](const Advice& each) { return each.subject == "stripes of a file"; });
  ASSERT_NE(stripes, advice.end());
  EXPECT_TRUE(stripes->makes_a_difference);
  simulate::Scenario more = forecast.scenario;
  const double now = simulate::simulate(simulate::strategy_named("glean"), more).durable_seconds;
  more.machine.file_system.stripe_count = static_cast<int>(forecast.best_stripes);
  const double then = simulate::simulate(simulate::strategy_named("glean"), more).durable_seconds;
  EXPECT_DOUBLE_EQ(stripes->durable_gain(), now / then);
}

TEST(Advice, IsNotGivenWhereItMakesNoDifference) {
  const RecordedRun run = run_from_report(report().dump(), "r.json");
  const Forecast forecast = foresight::forecast(run, machine_of(run));   // it knows of no requests, locks or stripes

  for (const Advice& each : advice_for(run, forecast)) {
    EXPECT_NE(each.subject, "mode") << "the run shows its own only";
    if (each.subject == "request size" || each.subject == "alignment") {
      EXPECT_FALSE(each.makes_a_difference) << each.subject;
    }
  }
}

TEST(APage, AsksNothingOfTheNetworkAndShowsNamesAsTheyAre) {
  const RecordedRun run = run_from_report(report().dump(), "r.json");
  const Forecast forecast = foresight::forecast(run, cluster(), {.ranks = 256});

  const std::string page = to_html(run, forecast, advice_for(run, forecast));

  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("&lt;a&gt;&amp;.nc"), std::string::npos);
  for (const char* each : {"<script", " src=", " href=", "@import", "url("}) EXPECT_EQ(page.find(each), std::string::npos) << each;
  std::string without_names = page;
  for (std::size_t at; (at = without_names.find("http://www.w3.org/2000/svg")) != std::string::npos;) without_names.erase(at, 26);
  EXPECT_EQ(without_names.find("://"), std::string::npos) << "the name of SVG is the only address";
}

}  // namespace
}  // namespace glean::foresight
