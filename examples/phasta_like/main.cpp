// SPDX-License-Identifier: BSD-3-Clause
//
// A miniature of PHASTA's output: a mesh of tetrahedra that changes from step to step.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "run.hpp"

namespace {

bool simulate(const phasta::Options& options, int rank, int ranks) {
  phasta::Simulation simulation(MPI_COMM_WORLD, options);
  simulation.go();
  if (rank == 0) {
    std::puts(phasta::verdict(simulation).c_str());
    if (!options.json_file.empty()) {
      std::ofstream file(options.json_file);
      file << phasta::to_json(simulation, options, ranks);
      if (!file.flush()) throw std::runtime_error("cannot write " + options.json_file);
    }
  }
  return simulation.passed();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    const phasta::Options options = phasta::parse_options({argv + 1, static_cast<std::size_t>(argc - 1)});
    if (options.help) {
      if (rank == 0) std::fputs(phasta::usage().c_str(), stdout);
    } else {
      status = simulate(options, rank, ranks) ? 0 : 1;
    }
  } catch (const std::invalid_argument& error) {   // the same on every rank
    if (rank == 0) std::fprintf(stderr, "phasta_like: %s\n", error.what());
    status = 2;
  } catch (const std::exception& error) {
    // The other ranks may be in a call that waits for this one.
    std::fprintf(stderr, "phasta_like: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return status;
}
