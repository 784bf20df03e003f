// SPDX-License-Identifier: BSD-3-Clause
// Random programs that use MPI-IO, one after the other in one job, held to what the MPI standard says.
//
//   transparent_random DIRECTORY --seed FIRST [--cases N] [--seconds T] [--print] [--repeat] [what to leave out]
//   transparent_random DIRECTORY --seed SEED --witness FILE [--room BYTES]: one, whose files stay, and which does not mind errors; on a
//     disk that has so much room
//   transparent_random DIRECTORY --seed SEED --check FILE --of RANKS: what is left of that (survivors.hpp)
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "execution.hpp"
#include "survivors.hpp"

namespace {

using transparent::Care;
using transparent::Simplify;

struct Options {
  std::string directory;
  std::uint64_t seed = 1;
  long cases = 1;
  double seconds = 1e9;
  bool print = false;
  bool repeat = false;   // the same program all the time, until it fails
  Care care;
  Simplify simplify;
  transparent::Types types = transparent::Types::common;
  transparent::Names names = transparent::Names::some;
  std::string witness, check;
  long room = -1;
  int ranks_before = 0;
};

std::set<int> numbers_of(const char* text) {
  std::set<int> numbers;
  for (char* end = nullptr; *text != '\0'; text = *end == ',' ? end + 1 : end) {
    numbers.insert(static_cast<int>(std::strtol(text, &end, 10)));
    if (end == text) break;
  }
  return numbers;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word[0] != '-') options.directory = word;
    else if (word == "--print") options.print = true;
    else if (word == "--repeat") options.repeat = true;
    else if (word == "--strict") options.care.barriers = false;
    else if (word == "--no-nonblocking-collective") options.care.nonblocking_collective = false;
    else if (word == "--no-names") options.names = transparent::Names::no;
    else if (word == "--names") options.names = transparent::Names::all;
    else if (word == "--any-types") options.types = transparent::Types::any;
    else if (word == "--plain-memory") options.simplify.plain_memory = true;
    else if (word == "--plain-views") options.simplify.plain_views = true;
    else if (word == "--blocking") options.simplify.blocking = true;
    else if (word == "--explicit-offsets") options.simplify.explicit_offsets = true;
    else if (word == "--seed") options.seed = std::strtoull(value, nullptr, 10), ++i;
    else if (word == "--cases") options.cases = std::atol(value), ++i;
    else if (word == "--seconds") options.seconds = std::atof(value), ++i;
    else if (word == "--count-max") options.simplify.count_max = std::atoi(value), ++i;
    else if (word == "--witness") options.witness = value, ++i;
    else if (word == "--check") options.check = value, ++i;
    else if (word == "--room") options.room = std::atol(value), ++i;
    else if (word == "--of") options.ranks_before = std::atoi(value), ++i;
    else if (word == "--keep") options.simplify.keep = numbers_of(value), ++i;
    else if (word == "--ranks") options.simplify.ranks = numbers_of(value), ++i;
    else return false;
  }
  return !options.directory.empty();
}

// Rank 0 prints what all ranks have found wrong. Returns whether there is anything.
bool report(std::uint64_t seed, const std::vector<std::string>& failures, int rank, int ranks) {
  std::string text;
  for (std::size_t i = 0; i < failures.size() && i < 5; ++i) text += "    " + failures[i] + "\n";
  const int mine = static_cast<int>(failures.size());
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (all == 0) return false;
  if (rank != 0) {
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    return true;
  }
  std::printf("failed %llu\n%s", static_cast<unsigned long long>(seed), text.c_str());
  for (int from = 1; from < ranks; ++from) {
    MPI_Status status;
    int bytes = 0;
    MPI_Probe(from, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    std::string other(static_cast<std::size_t>(bytes), ' ');
    MPI_Recv(other.data(), bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::fputs(other.c_str(), stdout);
  }
  std::fflush(stdout);
  return true;
}

// What is left of one that was killed, or met a full disk.
int check(const Options& options) {
  const auto drawn = transparent::draw_scenario(options.seed, options.ranks_before, options.types, options.names);
  const auto scenario = simplified(drawn, options.simplify);
  if (options.print) std::printf("%s", text_of(scenario, options.simplify).c_str());
  const auto problems = transparent::Survivors(scenario, options.simplify, options.directory, options.check).check();
  for (const std::string& problem : problems) std::printf("%s\n", problem.c_str());
  return problems.empty() ? 0 : 1;
}

// One whose files stay, and which goes on after errors, as a program does that only says them.
void leave(const Options& options, int rank, int ranks) {
  const auto scenario = simplified(transparent::draw_scenario(options.seed, ranks, options.types, options.names), options.simplify);
  transparent::Witness witness(options.witness, rank);
  transparent::Execution execution(scenario, options.simplify, {options.directory, true, &witness, options.room}, options.care);
  for (const std::string& failure : execution.run()) {
    if (options.print) std::printf("%s\n", failure.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Options options;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!parse(argc, argv, options)) {
    if (rank == 0) std::fprintf(stderr, "transparent_random: see the first lines of its main.cpp\n");
    MPI_Finalize();
    return 2;
  }
  if (!options.check.empty() || !options.witness.empty()) {
    const int code = options.check.empty() ? 0 : check(options);
    if (options.check.empty()) leave(options, rank, ranks);
    MPI_Finalize();
    return code;
  }
  const double start = MPI_Wtime();
  long cases = 0, failed = 0;
  long long compared = 0;
  for (; cases < options.cases; ++cases) {
    int go_on = MPI_Wtime() - start < options.seconds ? 1 : 0;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (go_on == 0) break;
    if (options.repeat && failed > 0) break;
    const std::uint64_t seed = options.repeat ? options.seed : options.seed + static_cast<std::uint64_t>(cases);
    const auto scenario = simplified(transparent::draw_scenario(seed, ranks, options.types, options.names), options.simplify);
    if (rank == 0 && !(options.repeat && cases > 0)) {
      std::printf("case %llu\n", static_cast<unsigned long long>(seed));   // so that a crash has a number
      if (options.print) std::printf("%s", text_of(scenario, options.simplify).c_str());
      std::fflush(stdout);
    }
    transparent::Execution execution(scenario, options.simplify, {.directory = options.directory}, options.care);
    failed += report(seed, execution.run(), rank, ranks) ? 1 : 0;   // the same on all ranks
    compared += execution.bytes_compared();
  }
  long long all_compared = 0;
  MPI_Reduce(&compared, &all_compared, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("end: %ld cases, %ld failed, %lld bytes compared in %.1f s\n", cases, failed, all_compared, MPI_Wtime() - start);
  }
  MPI_Finalize();
  return failed > 0 ? 1 : 0;
}
