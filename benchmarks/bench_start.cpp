// SPDX-License-Identifier: BSD-3-Clause
//
// How long a session takes to open, and how fast the memory of its pool is when it is used for the first time.
//
// Beside it: the ranks zero as much shared memory that is new, each its part, and nothing else. No pool whose pages exist when the
// session is open can be made faster but with larger pages.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "glean/glean.hpp"

using namespace glean::benchmarks;

namespace {

// Opens a file of new shared memory that all ranks of the node share. Collective.
int shared_memory_of_all(const Ranks& ranks, std::uint64_t bytes) {
  const std::string name = "/glean-bench-start." + std::to_string(static_cast<long>(ranks.of_root(getpid())));
  int descriptor = -1;
  if (ranks.root()) descriptor = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  ranks.wait_quietly();
  if (!ranks.root()) descriptor = shm_open(name.c_str(), O_RDWR, 0);
  ranks.wait_quietly();
  if (ranks.root()) shm_unlink(name.c_str());
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("no shared memory");
  return descriptor;
}

double zeroing_seconds(const Ranks& ranks, std::uint64_t bytes) {
  const int descriptor = shared_memory_of_all(ranks, bytes);
  const std::uint64_t part = bytes / static_cast<std::uint64_t>(ranks.count());
  ranks.start_line();
  const double begin = now_seconds();
  void* const memory = mmap(nullptr, part, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, static_cast<off_t>(part) * ranks.rank());
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  std::memset(memory, 0, part);
  const double seconds = ranks.max(now_seconds() - begin);
  munmap(memory, part);
  close(descriptor);
  ranks.wait_quietly();
  return seconds;
}

// One step of so many bytes, until they are captured.
double put_seconds(const Ranks& ranks, glean::Session& session, const std::string& path, const std::vector<double>& data,
                   std::uint64_t puts) {
  glean::Output out = session.open(path, glean::Format::cdf5);
  const auto all = static_cast<std::uint64_t>(ranks.count()) * puts;
  const glean::Dimension dimensions[] = {out.define_dimension("put", all), out.define_dimension("element", data.size())};
  const auto mine = static_cast<std::uint64_t>(ranks.rank()) * puts;
  const glean::Variable variable = out.define_variable("data", glean::Type::float64, dimensions, {{{mine, 0}, {puts, data.size()}}});
  out.end_definitions();
  out.begin_step();
  ranks.start_line();
  const double begin = now_seconds();
  for (std::uint64_t i = 0; i < puts; ++i) out.put(variable, {{mine + i, 0}, {1, data.size()}}, data.data());
  const double seconds = ranks.max(now_seconds() - begin);
  out.end_step();
  out.close();
  session.wait(glean::Level::durable);
  return seconds;
}

// Opens a session and closes it again.
double open_seconds(const Ranks& ranks, const std::string& budget) {
  ranks.start_line();
  const double begin = now_seconds();
  glean::Session session(MPI_COMM_WORLD, {{"pool.budget", budget}});
  const double seconds = ranks.max(now_seconds() - begin);
  session.close();
  return seconds;
}

// The speed of puts that fill the pool for the first time, beside that of the second time.
double first_to_steady(const Ranks& ranks, const BenchmarkOptions& options, std::uint64_t pool_bytes) {
  const std::vector<double> data(options.quick ? 1024 : 512 * 1024, 1.5);
  // Of the pool, what ranks can have taken when each sits on a chunk.
  const std::uint64_t puts = pool_bytes / 8 * 7 / (data.size() * sizeof(double)) / static_cast<std::uint64_t>(ranks.count());
  glean::Session session(MPI_COMM_WORLD, {{"pool.budget", std::to_string(pool_bytes)}});
  const double first = put_seconds(ranks, session, options.directory + "/first.nc", data, puts);
  const double second = put_seconds(ranks, session, options.directory + "/second.nc", data, puts);
  session.close();
  return second / first;
}

int run(int argc, char** argv) {
  BenchmarkOptions options;
  options.repetitions = 10;
  CommandLine command_line("How long a session takes to open, and how fast its pool is at first", options);
  std::uint64_t pool_mib = 1024;
  command_line.add_option("--pool-mib", pool_mib)->check(CLI::PositiveNumber);
  return command_line.run(argc, argv, [&](const Ranks& ranks) {
    const std::uint64_t bytes = (options.quick ? 32 : pool_mib) * MiB;
    std::vector<double> opens, zeroings, shares;
    // One right after the other, and the first does not count: where the system is a virtual machine that gives free memory back to its
    // host, memory that has been free for a while would be made anew by the host.
    for (int repetition = 0; repetition <= options.repetitions; ++repetition) {
      zeroings.push_back(zeroing_seconds(ranks, bytes));
      opens.push_back(open_seconds(ranks, std::to_string(bytes)));
    }
    zeroings.erase(zeroings.begin());
    opens.erase(opens.begin());
    for (int repetition = 0; repetition < options.repetitions; ++repetition) {
      if (ranks.root()) empty_directory(options.directory);
      ranks.wait_quietly();
      shares.push_back(first_to_steady(ranks, options, bytes));
    }
    if (ranks.root()) {
      write_json({{"benchmark", "start"},
                  {"recipe", recipe(ranks, options.directory, options.repetitions)},
                  {"quick", options.quick},
                  {"statement", "seconds of the slowest rank, medians; zeroing: all ranks zero as much new shared memory; "
                                "first_to_steady: speed of the puts that fill the pool for the first time, beside the second time"},
                  {"pool_bytes", bytes},
                  {"open_seconds", median(opens)},
                  {"zeroing_seconds", median(zeroings)},
                  {"open_to_zeroing", median(opens) / median(zeroings)},
                  {"first_to_steady", median(shares)},
                  {"each_open_seconds", opens},
                  {"each_zeroing_seconds", zeroings},
                  {"each_first_to_steady", shares}},
                 options.json);
    }
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
