// SPDX-License-Identifier: BSD-3-Clause
//
// A miniature of NekCEM: spectral elements in a waveguide, and NekCEM's ways to write.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "run.hpp"

namespace {

bool simulate(const nekcem::Options& options, int rank) {
  nekcem::Simulation simulation(MPI_COMM_WORLD, options);
  const nekcem::Outcome outcome = simulation.go();
  const std::vector<nekcem::RankTimes> ranks = simulation.gather_times();
  if (rank == 0) {
    const nekcem::Summary summary = nekcem::summarise(ranks, outcome.output_bytes);
    std::fputs(nekcem::describe(outcome, summary, options).c_str(), stdout);
    if (!options.json_file.empty()) {
      std::ofstream file(options.json_file);
      file << nekcem::to_json(outcome, summary, options, simulation.mesh(), ranks);
      if (!file.flush()) throw std::runtime_error("cannot write " + options.json_file);
    }
  }
  return outcome.passed();
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);   // the thread of a writer makes no calls of MPI
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int status = 0;
  try {
    const nekcem::Options options = nekcem::parse_options({argv + 1, static_cast<std::size_t>(argc - 1)}, ranks);
    if (options.help) {
      if (rank == 0) std::fputs(nekcem::usage().c_str(), stdout);
    } else {
      status = simulate(options, rank) ? 0 : 1;
    }
  } catch (const std::invalid_argument& error) {   // the same on every rank
    if (rank == 0) std::fprintf(stderr, "nekcem_like: %s\n", error.what());
    status = 2;
  } catch (const std::exception& error) {
    // The other ranks may be in a call that waits for this one.
    std::fprintf(stderr, "nekcem_like: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return status;
}
