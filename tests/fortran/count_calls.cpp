// SPDX-License-Identifier: BSD-3-Clause
//
// A library to preload that says, when MPI is finalized, how often each C function of MPI-IO, and each other one
// that GLEAN looks at, was called. One rank speaks.
#include <mpi.h>

#include <cstdio>

#include "calls.hpp"
#include "counters.hpp"

using glean::mpiio::Call;

namespace {

glean::mpiio::Counters calls;

int initialized = 0, barriers = 0;

}  // namespace

// MPICH's mpi.h does not say that they are seen from outside.
#pragma GCC visibility push(default)
extern "C" {

int MPI_Init(int* argc, char*** argv) {
  ++initialized;
  return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  ++initialized;
  return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}

int MPI_Finalize() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto values = calls.values();
  if (rank == 0) std::printf("count MPI_Init %d\ncount MPI_Barrier %d\n", initialized, barriers);
  for (std::size_t i = 0; rank == 0 && i < values.size(); ++i) {
    std::printf("count %s %lu\n", glean::mpiio::call_names[i].data(), static_cast<unsigned long>(values[i]));
  }
  std::fflush(stdout);
  return PMPI_Finalize();
}

int MPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
  calls.count(Call::open);
  return PMPI_File_open(comm, filename, amode, info, fh);
}

int MPI_File_close(MPI_File* fh) {
  calls.count(Call::close);
  return PMPI_File_close(fh);
}

int MPI_File_delete(const char* filename, MPI_Info info) {
  calls.count(Call::delete_file);
  return PMPI_File_delete(filename, info);
}

#define GLEAN_COUNTED(name, parameters, ...)                \
  int MPI_File_##name parameters {                          \
    calls.count(Call::name);                                \
    return PMPI_File_##name(fh __VA_OPT__(, ) __VA_ARGS__); \
  }
#define GLEAN_COUNT int
#define GLEAN_EXTENT MPI_Aint
GLEAN_MPIIO_CALLS(GLEAN_COUNTED)

}  // extern "C"
#pragma GCC visibility pop
