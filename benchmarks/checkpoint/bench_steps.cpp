// SPDX-License-Identifier: BSD-3-Clause
//
// Checkpoints in one mode, a file each, and each durable before the next begins: when the program goes on, when the data have left its
// nodes, when they are durable. `benchmarks/forecast.py` puts that beside what `glean simulate` makes of the run's report.
#include <filesystem>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "glean/glean.hpp"

using namespace glean::benchmarks;

namespace {

struct Options : BenchmarkOptions {
  std::string mode = "threaded";
  int steps = 4;
  int variables = 4;
  std::uint64_t step_mib = 64;   // of all ranks together

  [[nodiscard]] std::uint64_t step_bytes() const { return step_mib * MiB; }
  [[nodiscard]] std::string path_of(int step) const { return directory + "/step" + std::to_string(step) + ".nc"; }
};

// Seconds since the begin of the step, of the slowest rank.
struct Step {
  double blocked = 0, staged = 0, durable = 0;
};

double slowest(MPI_Comm comm, double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, comm);
  return all;
}

Step write(glean::Session& session, const Options& options, const std::string& path) {
  const MPI_Comm comm = session.application_comm();
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const std::uint64_t each = options.step_bytes() / sizeof(double) / static_cast<std::uint64_t>(options.variables * ranks);
  const std::vector<double> data(each, 1.5 + rank);
  MPI_Barrier(comm);
  const double begin = now_seconds();
  glean::Output out = session.open(path, glean::Format::cdf5);
  const glean::Dimension x = out.define_dimension("x", each * static_cast<std::uint64_t>(ranks));
  std::vector<glean::Variable> variables;
  const glean::Dimension dimensions[] = {x};
  for (int i = 0; i < options.variables; ++i) {
    variables.push_back(out.define_variable("v" + std::to_string(i), glean::Type::float64, dimensions,
                                            {glean::Box{{each * static_cast<std::uint64_t>(rank)}, {each}}}));
  }
  out.end_definitions();
  out.begin_step();
  for (const glean::Variable variable : variables) out.put(variable, data);
  out.end_step();
  out.close();
  Step step{.blocked = now_seconds() - begin};
  session.wait(glean::Level::staged);
  step.staged = now_seconds() - begin;
  session.wait(glean::Level::durable);
  step.durable = now_seconds() - begin;
  return {slowest(comm, step.blocked), slowest(comm, step.staged), slowest(comm, step.durable)};
}

Json of(const std::vector<Step>& steps, double Step::*member) {
  std::vector<double> values;
  for (const Step& step : steps) values.push_back(step.*member);
  return values;
}

int run(int argc, char** argv) {
  Options options;
  CommandLine command_line("Checkpoints in one mode, each durable before the next", options);
  command_line.add_option("--mode", options.mode);
  command_line.add_option("--steps", options.steps, "that are measured, behind one that is not")->check(CLI::PositiveNumber);
  command_line.add_option("--variables", options.variables)->check(CLI::PositiveNumber);
  command_line.add_option("--step-mib", options.step_mib, "of all ranks together")->check(CLI::PositiveNumber);
  return command_line.run(argc, argv, [&](const Ranks& ranks) {
    if (options.quick) options.step_mib = 8, options.steps = 2;
    const std::string budget = std::to_string(options.step_mib * 2 + 64) + "MiB";
    glean::Session session(MPI_COMM_WORLD, {{"mode", options.mode}, {"pool.budget", budget}});
    if (session.is_writer()) return 0;
    std::vector<Step> steps;
    for (int i = 0; i <= options.steps; ++i) steps.push_back(write(session, options, options.path_of(i)));
    steps.erase(steps.begin());   // connections are made, pages touched
    session.close();
    if (!ranks.root()) return 0;
    write_json({{"mode", options.mode},
                {"ranks", ranks.count()},
                {"step_bytes", options.step_bytes()},
                {"blocked_seconds", of(steps, &Step::blocked)},
                {"staged_seconds", of(steps, &Step::staged)},
                {"durable_seconds", of(steps, &Step::durable)}},
               options.json);
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
