// SPDX-License-Identifier: BSD-3-Clause
//
// One file of several large steps in mode staged, or in another one to compare with: what the ranks wait for, when the stagers have all of
// it, when it is durable. `benchmarks/staging.py` starts the stagers, and what else is to be compared, in turns.
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "command_line.hpp"
#include "glean/glean.hpp"

using namespace glean::benchmarks;

namespace {

struct Options : BenchmarkOptions {
  int steps = 4;
  double compute_seconds = 0;
  std::uint64_t step_mib = 64;   // of each rank
  std::uint64_t budget_mib = 0;  // of a node's pool; 0: room for everything
  std::string mode = "staged";
  std::string path;              // of the file
};

struct Outcome {
  double first_seconds = 0;      // blocked in a step before them, which finds the stagers making room
  std::vector<double> blocked;   // by step: the slowest rank
  double close_seconds = 0;      // blocked, too
  double staged_seconds = 0;     // from the first step until no more of it is on these nodes
  double durable_seconds = 0;    // from there until it has its name
};

Outcome write(const Ranks& ranks, const Options& options) {
  const std::uint64_t per_rank = options.step_mib * MiB / sizeof(double);
  const auto count = static_cast<std::uint64_t>(ranks.count()), rank = static_cast<std::uint64_t>(ranks.rank());
  const std::uint64_t of_all = options.step_mib * static_cast<std::uint64_t>(options.steps + 1) * count * 5 / 4 + 64;
  const std::uint64_t budget = options.budget_mib != 0 ? options.budget_mib : of_all;
  glean::Session session(MPI_COMM_WORLD, {{"mode", options.mode}, {"pool.budget", std::to_string(budget) + "MiB"}});
  glean::Output out = session.open(options.path, glean::Format::cdf5);
  const glean::Dimension dimensions[] = {out.define_unlimited("t"), out.define_dimension("x", per_rank * count)};
  const glean::Variable v = out.define_variable("v", glean::Type::float64, dimensions, {glean::Box{{per_rank * rank}, {per_rank}}});
  out.end_definitions();
  std::vector<double> data(per_rank);
  for (std::uint64_t i = 0; i < per_rank; ++i) data[i] = static_cast<double>(per_rank * rank + i);
  ranks.wait_quietly();
  Outcome outcome;
  const auto put_step = [&] {
    const double called = now_seconds();
    out.begin_step();
    out.put(v, data);
    out.end_step();
    return now_seconds() - called;
  };
  outcome.first_seconds = put_step();
  session.wait(glean::Level::durable);
  ranks.wait_quietly();
  const double begin = now_seconds();
  for (int step = 0; step < options.steps; ++step) {
    outcome.blocked.push_back(put_step());
    if (options.compute_seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(options.compute_seconds));
  }
  const double closing = now_seconds();
  out.close();
  outcome.close_seconds = now_seconds() - closing;
  session.wait(glean::Level::staged);
  outcome.staged_seconds = now_seconds() - begin;
  session.wait(glean::Level::durable);
  outcome.durable_seconds = now_seconds() - begin;
  session.close();
  for (double& blocked : outcome.blocked) blocked = ranks.max(blocked);
  for (double* each : {&outcome.first_seconds, &outcome.close_seconds, &outcome.staged_seconds, &outcome.durable_seconds}) {
    *each = ranks.max(*each);
  }
  return outcome;
}

int run(int argc, char** argv) {
  Options options;
  CommandLine command_line("One file of large steps in mode staged, or another", options);
  command_line.add_option("--steps", options.steps)->check(CLI::PositiveNumber);
  command_line.add_option("--compute", options.compute_seconds, "seconds after each step");
  command_line.add_option("--step-mib", options.step_mib, "of each rank")->check(CLI::PositiveNumber);
  command_line.add_option("--budget-mib", options.budget_mib, "of a node's pool (default: room for everything)");
  command_line.add_option("--mode", options.mode);
  command_line.add_option("--path", options.path, "of the file, which stays")->required();
  return command_line.run(argc, argv, [&](const Ranks& ranks) {
    if (options.quick) options.step_mib = 1;
    const Outcome outcome = write(ranks, options);
    if (!ranks.root()) return 0;
    double blocked = outcome.close_seconds;
    for (const double each : outcome.blocked) blocked += each;
    write_json({{"recipe", recipe(ranks, std::filesystem::path(options.path).parent_path(), 1)},
                {"mode", options.mode},
                {"ranks", ranks.count()},
                {"bytes", options.step_mib * MiB * static_cast<std::uint64_t>(options.steps * ranks.count())},
                {"first_blocked_seconds", outcome.first_seconds},
                {"blocked_seconds", blocked},
                {"staged_seconds", outcome.staged_seconds},
                {"durable_seconds", outcome.durable_seconds},
                {"each_blocked_seconds", outcome.blocked}},
               options.json);
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
