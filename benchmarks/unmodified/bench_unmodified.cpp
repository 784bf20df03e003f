// SPDX-License-Identifier: BSD-3-Clause
//
// A program that writes and reads files and knows nothing of GLEAN: benchmarks/run starts it by itself and under `glean run`, in turns.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "unmodified/cases.hpp"

using namespace glean::benchmarks;

namespace {

struct Options : BenchmarkOptions {
  std::string interface = "mpiio";
  std::string only;
};

// Without a number in it: files whose names differ in their numbers only are of one kind for GLEAN, and each case is another.
std::string directory_of(const Options& options, int index) {
  return options.directory + "/" + static_cast<char>('a' + index / 26) + static_cast<char>('a' + index % 26);
}

std::vector<Case> cases_of(const Options& options, const Ranks& ranks) {
  if (options.interface == "pnetcdf") return pnetcdf_cases(ranks, options.quick);
#ifdef GLEAN_BENCH_HDF5
  if (options.interface == "hdf5") return hdf5_cases(ranks, options.quick);
#else
  if (options.interface == "hdf5") return {};
#endif
  if (options.interface == "pieces") return piece_cases(ranks, options.quick);
  if (options.interface == "copy") return copy_cases(ranks, options.quick);
  return mpiio_cases(ranks, options.quick);
}

// Looking at a file waits for its drain; then it is on the storage, and the next case begins with an idle one.
void wait_until_durable(const Ranks& ranks, const Case& one, const std::string& directory) {
  if (ranks.root()) {
    for (const std::string& file : one.files) synchronize_file(directory + "/" + file);
    synchronize_file_system(directory);
  }
  ranks.wait_quietly();
}

void prepare(const Ranks& ranks, const Case& one, const std::string& directory) {
  if (ranks.root()) {
    empty_directory(directory);
    if (one.prepare) {
      one.prepare(directory);
      synchronize_file_system(directory);
    }
  }
  ranks.wait_quietly();
}

// The time of the slowest rank. Collective.
double time_of(const Ranks& ranks, const std::function<void(const std::string&)>& what, const std::string& directory) {
  ranks.start_line();
  const double begin = now_seconds();
  what(directory);
  return ranks.max(now_seconds() - begin);
}

// In calls, and until everything is on the storage.
void measure(const Ranks& ranks, const Case& one, const std::string& directory, Json& result) {
  prepare(ranks, one, directory);
  const double begin = now_seconds();
  const double blocked = time_of(ranks, one.run, directory);
  wait_until_durable(ranks, one, directory);
  result["blocked_seconds"].push_back(blocked);
  result["durable_seconds"].push_back(ranks.max(now_seconds() - begin));
}

// Means of turns, of which every second one begins with the other side.
void measure_beside(const Ranks& ranks, const Case& one, const std::string& directory, Json& result) {
  prepare(ranks, one, directory);
  double sum = 0, sum_past = 0;
  for (int turn = 0; turn < one.turns; ++turn) {
    if (turn % 2 == 0) sum += time_of(ranks, one.run, directory);
    sum_past += time_of(ranks, one.run_past, directory);
    if (turn % 2 == 1) sum += time_of(ranks, one.run, directory);
  }
  for (const char* what : {"blocked_seconds", "durable_seconds"}) result[what].push_back(sum / one.turns);
  result["past_seconds"].push_back(sum_past / one.turns);
}

int run(int argc, char** argv) {
  Options options;
  CommandLine command_line("files of a program that knows nothing of GLEAN", options);
  command_line.add_option("--interface", options.interface,
                          "what the program writes through; pieces: many small ones; copy: no file, only the copy of the bytes")
      ->check(CLI::IsMember({"mpiio", "pnetcdf", "hdf5", "pieces", "copy"}));
  command_line.add_option("--only", options.only, "cases whose name has this in it");
  return command_line.run(argc, argv, [&](const Ranks& ranks) {
    Json results = Json::array();
    int index = 0;
    for (const Case& one : cases_of(options, ranks)) {
      const std::string directory = directory_of(options, index++);
      if (one.name.find(options.only) == std::string::npos) continue;
      Json result = {{"case", one.name}, {"bytes", one.bytes}, {"files", one.files}, {"directory", directory}};
      for (int repetition = 0; repetition < options.repetitions; ++repetition) {
        (one.run_past ? measure_beside : measure)(ranks, one, directory, result);
      }
      results.push_back(std::move(result));
    }
    if (ranks.root()) {
      write_json({{"recipe", recipe(ranks, options.directory, options.repetitions)}, {"quick", options.quick}, {"results", results}},
                 options.json);
    }
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
