// SPDX-License-Identifier: BSD-3-Clause
//
// appending write FILE MICROSECONDS: adds records to a file, which it makes if there is none, until it kills itself, each rank a little
// later than the one before. Every element of record n is n. Says in FILE.durable for how many records a wait has returned.
// appending check FILE: compares, on one rank, and prints how many records there are.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "glean/glean.hpp"

namespace {

using namespace glean;

constexpr std::uint64_t elements = 40'000;
constexpr const char* names[] = {"a", "b"};

struct Ranks {
  int rank = 0, ranks = 1;
  [[nodiscard]] Box mine() const {
    const std::uint64_t each = elements / static_cast<std::uint64_t>(ranks);
    return {{each * static_cast<std::uint64_t>(rank)}, {each}};
  }
};

void put(Output& out, std::uint64_t record, const Ranks& ranks) {
  const Box mine = ranks.mine();
  const std::vector<double> data(mine.count[0], static_cast<double>(record));
  out.begin_step();
  for (const char* name : names) out.put(out.find_variable(name), mine, data.data());
  out.end_step();
}

void make(Session& session, const std::string& path, const Ranks& ranks) {
  Output out = session.open(path, Format::cdf2);
  const Dimension over[] = {out.define_unlimited("t"), out.define_dimension("x", elements)};
  for (const char* name : names) static_cast<void>(out.define_variable(name, Type::float64, over, {ranks.mine()}));
  put(out, 0, ranks);
  out.close(Level::durable);
}

void write(const std::string& path, const Ranks& ranks) {
  Session session(MPI_COMM_WORLD, {{"pool.budget", "16MiB"}});
  const bool is_new = access(path.c_str(), F_OK) != 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_new) make(session, path, ranks);
  for (int round = 0;; ++round) {
    std::uint64_t record = session.open_input(path).steps();
    MPI_Barrier(MPI_COMM_WORLD);
    Output out = session.append(path);
    for (int step = 0; step <= round % 4; ++step) {
      put(out, record++, ranks);
      if (round % 3 != 1) continue;
      out.wait(Level::durable);
      if (ranks.rank == 0) std::ofstream(path + ".durable") << record << std::flush;
    }
    out.close();
  }
}

int check(const std::string& path) {
  Session session(MPI_COMM_SELF, {{"pool.budget", "4MiB"}});
  const Input in = session.open_input(path);
  for (std::uint64_t record = 0; record < in.steps(); ++record) {
    for (const char* name : names) {
      for (const double value : in.read<double>(in.find_variable(name), record)) {
        if (value == static_cast<double>(record)) continue;
        std::printf("record %llu of %s has %g\n", static_cast<unsigned long long>(record), name, value);
        return 1;
      }
    }
  }
  std::printf("%llu\n", static_cast<unsigned long long>(in.steps()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, result = 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 3) result = check(argv[2]);
  if (argc == 4) {
    std::thread([until = std::atoi(argv[3]) + 3000 * rank] {
      usleep(static_cast<useconds_t>(until));
      kill(getpid(), SIGKILL);
    }).detach();
    try {
      write(argv[2], {rank, ranks});
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return result;
}
