// SPDX-License-Identifier: BSD-3-Clause
//
// What a program waits for that reads its restart file, in all ways in turns, from storage and from the page cache. The file is written
// by another run (--write), with as many ranks as one likes.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "command_line.hpp"
#include "glean/glean.hpp"
#include "restart/readers.hpp"

using namespace glean::benchmarks;

namespace {

struct Options : BenchmarkOptions {
  std::string pattern = "flash";
  bool write = false;
  bool nodes = false;
  int steps = 0;
  double compute_seconds = 0.2;
};

Parts room_for(const RestartPattern& pattern) {
  Parts parts;
  for (const RestartArray& array : pattern.arrays) {
    std::uint64_t elements = 1;
    for (const std::uint64_t count : array.mine.count) elements *= count;
    parts.emplace_back(elements * element_bytes);
  }
  return parts;
}

// Nothing of a file that is on the storage stays in the page cache.
void forget_pages(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || fsync(descriptor) != 0 || posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) != 0) {
    throw std::runtime_error("cannot take '" + path + "' out of the page cache");
  }
  close(descriptor);
}

int write(const Ranks& ranks, const Options& options, const RestartPattern& pattern) {
  if (ranks.root()) std::filesystem::create_directories(options.directory);
  ranks.wait_quietly();
  glean::Session session(MPI_COMM_WORLD, {{"pool.budget", "256MiB"}});
  Parts parts = room_for(pattern);
  for (std::size_t i = 0; i < parts.size(); ++i) fill(pattern.arrays[i], i, parts[i].data());
  write_restart_files(session, options.directory, pattern, parts);
  session.close();
  return 0;
}

// Of one read of all: of the slowest rank, and the processor time of all ranks.
struct Cost {
  double seconds, cpu_seconds;
};
using Costs = std::map<std::string, std::vector<Cost>>;   // by reader

Cost one_read(const Ranks& ranks, const RestartReader& reader, const std::string& path, const RestartPattern& pattern, Parts& into) {
  ranks.wait_quietly();
  ranks.start_line();
  const double begin = now_seconds(), cpu_begin = cpu_seconds();
  reader.read(path, pattern, into);
  const double took = now_seconds() - begin, cpu_took = cpu_seconds() - cpu_begin;
  return {ranks.max(took), ranks.sum(cpu_took)};
}

double wrong_in(const Ranks& ranks, const RestartPattern& pattern, const Parts& parts) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) wrong += wrong_values(pattern.arrays[i], i, parts[i].data());
  return ranks.sum(static_cast<double>(wrong));
}

Json result_of(const std::vector<RestartReader>& readers, const std::string& cache, const Costs& costs, std::uint64_t bytes) {
  const auto each = [&](const std::string& reader, double Cost::*member) {
    std::vector<double> values;
    for (const Cost& cost : costs.at(reader)) values.push_back(cost.*member);
    return values;
  };
  Json results = Json::array();
  const double glean = median(each(readers.front().name, &Cost::seconds));
  for (const RestartReader& reader : readers) {
    const std::vector<double> seconds = each(reader.name, &Cost::seconds);
    results.push_back({{"reader", reader.name},
                       {"seconds", median(seconds)},
                       {"cpu_seconds", median(each(reader.name, &Cost::cpu_seconds))},
                       {"mb_per_s", static_cast<double>(bytes) / median(seconds) / 1e6},
                       {"glean_to_this", glean / median(seconds)},
                       {"each_seconds", seconds}});
  }
  return {{"cache", cache}, {"results", results}};
}

int read(const Ranks& ranks, const Options& options, const RestartPattern& pattern) {
  glean::Session session(MPI_COMM_WORLD, {{"pool.budget", "64MiB"}, {"topology.ranks_per_node", options.nodes ? "1" : "0"}});
  const std::vector<RestartReader> readers = restart_readers(session);
  Parts parts = room_for(pattern);
  Json caches = Json::array();
  double wrong = 0;
  for (const bool cold : {true, false}) {
    Costs costs;
    for (int repetition = -1; repetition < options.repetitions; ++repetition) {   // the first one does not count, and is looked at
      for (std::size_t turn = 0; turn < readers.size(); ++turn) {
        const RestartReader& reader = readers[(turn + static_cast<std::size_t>(repetition + 1)) % readers.size()];
        const std::string path = options.directory + "/" + pattern.name + reader.file;
        if (cold && (ranks.root() || options.nodes)) forget_pages(path);
        if (repetition < 0) {
          for (auto& part : parts) std::fill(part.begin(), part.end(), std::byte{0xff});
        }
        const Cost cost = one_read(ranks, reader, path, pattern, parts);
        if (repetition >= 0) costs[reader.name].push_back(cost);
        else wrong += wrong_in(ranks, pattern, parts);
      }
    }
    caches.push_back(result_of(readers, cold ? "cold" : "warm", costs, pattern.bytes()));
  }
  session.close();
  if (!ranks.root()) return 0;
  write_json({{"benchmark", "restart"},
              {"recipe", recipe(ranks, options.directory, options.repetitions)},
              {"quick", options.quick},
              {"statement",
               "medians, slowest rank, from opening the file to closing it; cpu: of all ranks, waiting in "
               "MPI included; cold: nothing of it in the page cache"},
              {"pattern", pattern.name},
              {"bytes", pattern.bytes()},
              {"wrong_values", wrong},
              {"caches", caches}},
             options.json);
  return wrong == 0 ? 0 : 1;
}

// A series of steps of 32 MiB, which an analysis reads one after the other: what it waits for in all reads, with and without prefetch.
int write_series(const Ranks& ranks, const Options& options, const std::string& path, std::uint64_t elements) {
  if (ranks.root()) std::filesystem::create_directories(options.directory);
  ranks.wait_quietly();
  glean::Session session(MPI_COMM_WORLD, {{"pool.budget", "256MiB"}});
  glean::Output out = session.open(path, glean::Format::cdf5);
  const auto count = static_cast<std::uint64_t>(ranks.count());
  const glean::Dimension over[] = {out.define_unlimited("t"), out.define_dimension("x", elements * count)};
  const glean::Variable v =
      out.define_variable("v", glean::Type::float64, over, {glean::Box{{elements * static_cast<std::uint64_t>(ranks.rank())}, {elements}}});
  for (int step = 0; step < options.steps; ++step) {
    out.begin_step();
    out.put(v, std::vector<double>(elements, step));
    out.end_step();
  }
  out.close(glean::Level::durable);
  session.close();
  return 0;
}

double read_series(const Ranks& ranks, const Options& options, const glean::Input& input, std::uint64_t elements, bool prefetches) {
  const glean::Variable v = input.find_variable("v");
  const glean::Box mine{{elements * static_cast<std::uint64_t>(ranks.rank())}, {elements}};
  std::vector<double> values(elements);
  double waited = 0;
  for (std::uint64_t step = 0; step < input.steps(); ++step) {
    const double begin = now_seconds();
    input.read(v, step, mine, values);
    if (prefetches) input.prefetch(v, step + 1, mine);
    waited += now_seconds() - begin;
    if (values.front() != static_cast<double>(step) || values.back() != static_cast<double>(step)) {
      throw std::runtime_error("step " + std::to_string(step) + " is not what was written");
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(options.compute_seconds));
  }
  return ranks.max(waited);
}

int read_steps(const Ranks& ranks, const Options& options) {
  const std::string path = options.directory + "/series.nc";
  const std::uint64_t elements = (options.quick ? MiB : 32 * MiB) / sizeof(double) / static_cast<std::uint64_t>(ranks.count());
  if (options.write) return write_series(ranks, options, path, elements);
  glean::Session session(MPI_COMM_WORLD, {{"pool.budget", "64MiB"}});
  std::vector<double> with, without;
  for (int turn = 0; turn < 2 * options.repetitions; ++turn) {
    if (ranks.root()) forget_pages(path);
    ranks.wait_quietly();
    const bool prefetches = turn % 2 != 0;
    (prefetches ? with : without).push_back(read_series(ranks, options, session.open_input(path), elements, prefetches));
  }
  session.close();
  if (!ranks.root()) return 0;
  write_json({{"benchmark", "restart"},
              {"recipe", recipe(ranks, options.directory, options.repetitions)},
              {"quick", options.quick},
              {"statement", "medians, slowest rank: seconds in the reads of all steps, nothing of them in the page cache before"},
              {"step_bytes", elements * sizeof(double) * static_cast<std::uint64_t>(ranks.count())},
              {"compute_seconds", options.compute_seconds},
              {"without_prefetch_seconds", median(without)},
              {"with_prefetch_seconds", median(with)},
              {"each_without_seconds", without},
              {"each_with_seconds", with}},
             options.json);
  return 0;
}

int run(int argc, char** argv) {
  Options options;
  CommandLine command_line("What a program waits for that reads its restart file", options);
  command_line.add_option("--pattern", options.pattern, "flash, s3d or mesh");
  command_line.add_flag("--nodes", options.nodes, "each rank is a node, with a page cache of its own where the caller has seen to that");
  command_line.add_option("--steps", options.steps,
                          "reads so many steps one after the other, with computing in between, instead of the pattern");
  command_line.add_option("--compute", options.compute_seconds, "seconds after each step");
  command_line.add_flag("--write", options.write, "writes the files that other runs read, and measures nothing");
  return command_line.run(argc, argv, [&](const Ranks& ranks) {
    if (options.steps > 0) return read_steps(ranks, options);
    const RestartPattern pattern = restart_pattern(options.pattern, ranks.rank(), ranks.count(), options.quick);
    return options.write ? write(ranks, options, pattern) : read(ranks, options, pattern);
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
