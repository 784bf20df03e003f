// SPDX-License-Identifier: BSD-3-Clause
//
// Puts boxes of variables, and before it closes the file lets a command look at the process's pool.
//
//   pnetcdf_meaning FILE [COMMAND], which is run by rank 0 with its process id
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr MPI_Offset rows = 6, columns = 8;   // of each rank
int rank = 0, ranks = 1, ncid = 0;

void check(int code, const char* what) {
  if (code == NC_NOERR) return;
  std::printf("%s: %s\n", what, ncmpi_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Element (y, x) of a record: 10000 * variable + 1000 * record + its place in the array.
std::vector<double> values(int variable, MPI_Offset record) {
  std::vector<double> all;
  for (MPI_Offset y = 0; y < rows; ++y) {
    for (MPI_Offset x = 0; x < columns; ++x) {
      all.push_back(static_cast<double>(10000 * variable + 1000 * record + y * columns * ranks + rank * columns + x));
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  int dimensions[3], fixed = 0, wind = 0, thin = 0;
  check(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimensions[0]), "def_dim");
  check(ncmpi_def_dim(ncid, "y", rows, &dimensions[1]), "def_dim");
  check(ncmpi_def_dim(ncid, "x", columns * ranks, &dimensions[2]), "def_dim");
  check(ncmpi_def_var(ncid, "fixed", NC_DOUBLE, 2, &dimensions[1], &fixed), "def_var");
  check(ncmpi_def_var(ncid, "wind", NC_FLOAT, 3, dimensions, &wind), "def_var");
  check(ncmpi_def_var(ncid, "thin", NC_FLOAT, 2, &dimensions[1], &thin), "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  check(ncmpi_redef(ncid), "redef");
  check(ncmpi_put_att_text(ncid, wind, "units", 3, "m/s"), "put_att");
  check(ncmpi_enddef(ncid), "enddef");

  const MPI_Offset start[3] = {0, 0, columns * rank}, count[3] = {1, rows, columns};
  check(ncmpi_put_vara_double_all(ncid, fixed, start + 1, count + 1, values(fixed, 0).data()), "put fixed");
  for (MPI_Offset record = 0; record < 2; ++record) {
    const MPI_Offset from[3] = {record, 0, columns * rank};
    check(ncmpi_put_vara_double_all(ncid, wind, from, count, values(wind, record).data()), "put wind");
  }
  const MPI_Offset stride[2] = {2, 2}, few[2] = {rows / 2, columns / 2};
  check(ncmpi_put_vars_double_all(ncid, thin, start + 1, few, stride, values(thin, 0).data()), "put thin");

  MPI_Barrier(MPI_COMM_WORLD);
  const std::string command = argc > 2 ? argv[2] + (" " + std::to_string(getpid())) : "";
  if (rank == 0 && !command.empty() && std::system(command.c_str()) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Barrier(MPI_COMM_WORLD);
  check(ncmpi_close(ncid), "close");
  MPI_Finalize();
}
