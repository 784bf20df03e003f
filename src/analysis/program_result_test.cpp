// SPDX-License-Identifier: BSD-3-Clause
//
// What programs find: joined over nodes, sent, as a table, and as numbers of a condition.
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/results.hpp"
#include "analysis/step_numbers.hpp"

namespace glean::analysis {
namespace {

using Join = ProgramResult::Join;

OutputResults found(std::uint64_t node, double value, const std::string& left_out = {}) {
  ProgramResult result;
  result.add("sum", node, {Join::sum, value});
  result.add("least", node, {Join::least, value});
  result.add("most", node, {Join::greatest, value});
  result.add("own", node, {Join::none, value});
  result.left_out = left_out;
  StepResult step;
  step.programs.emplace("mine", result);
  OutputResults results;
  results.add(3, std::move(step));
  return results;
}

TEST(ProgramResult, IsJoinedAsTheProgramSays) {
  OutputResults all = found(0, 2);
  all.merge(found(1, -0.5));

  EXPECT_EQ(all.program_table("mine"), "step,name,node,value\n3,least,,-0.5\n3,most,,2\n3,own,0,2\n3,own,1,-0.5\n3,sum,,1.5\n");
  EXPECT_EQ(all.program_table("other"), "step,name,node,value\n");
  EXPECT_EQ(all.statistics_table(), OutputResults{}.statistics_table());
}

TEST(ProgramResult, IsNoneWhereANodeHasNotLooked) {
  OutputResults all = found(0, 2);
  all.merge(found(1, 3, "it has crashed"));

  EXPECT_EQ(all.program_table("mine"), "step,name,node,value\n");
  EXPECT_EQ(all.steps().at(3).programs.at("mine").left_out, "it has crashed");
}

TEST(ProgramResult, KeepsANaN) {
  OutputResults all = found(0, 2);
  all.merge(found(1, std::nan("")));

  for (const char* name : {"sum", "least", "most"}) {
    EXPECT_TRUE(std::isnan(all.steps().at(3).programs.at("mine").values.at({name, ProgramResult::all_nodes}).value)) << name;
  }
}

// Of all steps and nodes, and what is not known is said.
TEST(Verdict, IsOfTheJoinedNumbersOrOfANodes) {
  OutputResults all = found(0, 2);
  all.merge(found(1, -0.5));
  const auto judged = [&](const char* text) { return judge(*base::Condition::parse(text), all, 2); };

  EXPECT_TRUE(judged("mine.sum == 1.5").holds);
  EXPECT_TRUE(judged("mine.own < 0").holds) << "on node 1";
  EXPECT_FALSE(judged("mine.sum > 1.5").holds);
  EXPECT_EQ(judged("mine.sum > 1.5").unknown, "");
  EXPECT_FALSE(judged("mine.sum > 1.5 or mine.other > 1").holds);
  EXPECT_EQ(judged("mine.sum > 1.5 or mine.other > 1").unknown, "there is no mine.other in any step");
  all.merge(found(2, 3, "it has crashed"));
  EXPECT_EQ(judged("mine.sum > 99").unknown, "it has crashed");
  all.lose("a drain has ended");
  EXPECT_EQ(judge(*base::Condition::parse("mine.sum > 99"), OutputResults{}, 2).unknown, "there is no mine.sum in any step");
}

TEST(ProgramResult, GoesToAnotherNode) {
  const OutputResults results = found(7, 2, "why");
  base::Encoder out;
  results.encode(out);
  EXPECT_EQ(OutputResults::decode(out.take()), results);
}

TEST(StepNumbers, AreThoseOfStatisticsAndOfPrograms) {
  OutputResults results = found(7, 2);
  Request request;
  request.statistics = true;
  VariableResult dens(request);
  const mesh::Shape shape{4};
  const mesh::Box box{{0}, {4}};
  const double values[] = {1, 2, 3, std::nan("")};
  dens.add({shape, box, 0, mesh::Type::float64, false, std::as_bytes(std::span(values))});
  StepResult step = results.steps().at(3);
  step.variables.emplace("dens", dens);

  EXPECT_EQ(number_of(step, {"dens", "nan"}, 7), 1);
  EXPECT_EQ(number_of(step, {"dens", "max"}, 7), 3);
  EXPECT_EQ(number_of(step, {"dens", "mean"}, 7), 2);
  EXPECT_EQ(number_of(step, {"dens", "median"}, 7), std::nullopt);
  EXPECT_EQ(number_of(step, {"mine", "sum"}, 7), 2);
  EXPECT_EQ(number_of(step, {"mine", "own"}, 7), 2);
  EXPECT_EQ(number_of(step, {"mine", "own"}, 8), std::nullopt);
}

TEST(Request, HasTheProgramsOfTheSettings) {
  base::AnalysisSettings settings;
  settings.programs.files = {"/no/such/mine.py", "libother.so"};
  settings.programs.wait_seconds = 1.5;
  settings.trigger = {"mine.mass > 1", "run", "mark", "tell"};

  const Request request = Request::of(settings);

  ASSERT_EQ(request.programs.size(), 2U);
  EXPECT_EQ(request.programs[0].name(), "mine");
  EXPECT_EQ(request.programs[1].name(), "other");
  EXPECT_TRUE(request.any());
  EXPECT_FALSE(request.reduces());   // the condition is of a program
  base::Encoder out;
  request.encode(out);
  const auto bytes = out.take();
  base::Decoder in(bytes, "a request");
  EXPECT_EQ(Request::decode(in), request);
  settings.trigger.condition = "dens.nan > 0";
  EXPECT_TRUE(Request::of(settings).reduces());
}

}  // namespace
}  // namespace glean::analysis
