// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks of data between nodes over TCP in the background and over MPI inside the program's calls, in turns: every rank puts what
// another node writes, and sleeps between two steps, as a program does that computes on cores of its own. Each rank is a node.
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/contenders.hpp"
#include "command_line.hpp"
#include "glean/glean.hpp"
#include "measure.hpp"

using namespace glean::benchmarks;

namespace {

struct Options {
  std::string directory = "bench-files", json;
  int repetitions = 5, steps = 4;
  double compute_seconds = 2;
  std::uint64_t step_mib = 32;   // of each rank
  bool quick = false;
};

struct Outcome {
  double blocked_seconds = 0;   // in the calls of all steps, and in that which closes the file
  double rest_seconds = 0;      // what is left to wait for, from there until all is durable
  double durable_seconds = 0;   // from the first step on
};

Outcome write(const Ranks& ranks, const Options& options, const std::string& exchange) {
  const std::uint64_t per_rank = options.step_mib * MiB / sizeof(double);
  const auto count = static_cast<std::uint64_t>(ranks.count());
  const std::uint64_t budget = options.step_mib * static_cast<std::uint64_t>(2 * options.steps) + 64;
  glean::Session session(MPI_COMM_WORLD, {{"exchange", exchange}, {"topology.ranks_per_node", "1"},
                                         {"pool.budget", std::to_string(budget) + "MiB"}});
  glean::Output out = session.open(options.directory + "/" + exchange + ".nc", glean::Format::cdf5);
  const glean::Dimension dimensions[] = {out.define_unlimited("t"), out.define_dimension("x", per_rank * count)};
  const std::uint64_t first = per_rank * (count - 1 - static_cast<std::uint64_t>(ranks.rank()));
  const glean::Variable v = out.define_variable("v", glean::Type::float64, dimensions, {glean::Box{{first}, {per_rank}}});
  out.end_definitions();
  std::vector<double> data(per_rank);
  for (std::uint64_t i = 0; i < per_rank; ++i) data[i] = static_cast<double>(first + i);
  ranks.wait_quietly();
  Outcome outcome;
  const double begin = now_seconds();
  for (int step = 0; step < options.steps; ++step) {
    const double called = now_seconds();
    out.begin_step();
    out.put(v, data);
    out.end_step();
    outcome.blocked_seconds += now_seconds() - called;
    std::this_thread::sleep_for(std::chrono::duration<double>(options.compute_seconds));
  }
  const double closed = now_seconds();
  out.close();
  outcome.blocked_seconds = ranks.max(outcome.blocked_seconds + now_seconds() - closed);
  session.wait(glean::Level::durable);
  outcome.rest_seconds = ranks.max(now_seconds() - closed);
  outcome.durable_seconds = ranks.max(now_seconds() - begin);
  session.close();
  return outcome;
}

Json result_of(const std::string& exchange, const std::vector<Outcome>& outcomes) {
  const auto of = [&](double Outcome::*member) {
    std::vector<double> values;
    for (const Outcome& outcome : outcomes) values.push_back(outcome.*member);
    return values;
  };
  return {{"exchange", exchange},
          {"blocked_seconds", median(of(&Outcome::blocked_seconds))},
          {"rest_seconds", median(of(&Outcome::rest_seconds))},
          {"durable_seconds", median(of(&Outcome::durable_seconds))},
          {"each_blocked_seconds", of(&Outcome::blocked_seconds)},
          {"each_rest_seconds", of(&Outcome::rest_seconds)}};
}

int run(int argc, char** argv) {
  Options options;
  CommandLine line("Blocks between nodes, over TCP in the background and over MPI inside calls");
  line.option("--directory", options.directory, "where the files go");
  line.option("--json", options.json, "write the result here, not to standard output");
  line.positive("--repetitions", options.repetitions);
  line.positive("--steps", options.steps);
  line.option("--compute", options.compute_seconds, "seconds after each step");
  line.positive("--step-mib", options.step_mib, "of each rank");
  line.flag("--quick", options.quick, "tiny sizes; the figures mean nothing");
  if (const auto status = line.parse(argc, argv)) return *status;
  if (options.quick) {
    options.step_mib = 1;
    options.compute_seconds = 0.05;
  }
  Ranks ranks(argc, argv);
  return run_or_abort([&] {
    std::map<std::string, std::vector<Outcome>> outcomes;
    bool identical = true;
    for (int repetition = 0; repetition < options.repetitions; ++repetition) {
      if (ranks.root()) empty_directory(options.directory);
      ranks.wait_quietly();
      for (const int turn : {repetition % 2, 1 - repetition % 2}) {
        const std::string exchange = turn == 0 ? "tcp" : "mpi";
        outcomes[exchange].push_back(write(ranks, options, exchange));
      }
      if (ranks.root()) identical = identical && same_bytes(options.directory + "/tcp.nc", options.directory + "/mpi.nc");
    }
    if (!ranks.root()) return 0;
    const double step_bytes = static_cast<double>(options.step_mib * MiB) * ranks.count();
    write_json({{"benchmark", "exchange"},
                {"recipe", recipe(ranks, options.directory, options.repetitions)},
                {"quick", options.quick},
                {"statement", "medians, slowest rank; every rank puts what another node writes; blocked: in the calls that write steps and "
                              "close the file; rest: from that close until all is durable; durable: from the first step on"},
                {"steps", options.steps},
                {"step_bytes", step_bytes},
                {"compute_seconds", options.compute_seconds},
                {"results", {result_of("tcp", outcomes["tcp"]), result_of("mpi", outcomes["mpi"])}},
                {"identical_files", identical}},
               options.json);
    std::filesystem::remove_all(options.directory);
    return identical ? 0 : 1;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
