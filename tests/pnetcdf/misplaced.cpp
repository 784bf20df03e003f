// SPDX-License-Identifier: BSD-3-Clause
//
// What PnetCDF 1.12.3 does not write where it belongs when several variables have records: every second record of a variable whose
// records are one element each, which it finds again there, and several records in one part of a list.
//
//   pnetcdf_misplaced FILE
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <vector>

namespace {

constexpr MPI_Offset records = 24;

void say(const std::vector<int>& values) {
  for (const int value : values) std::printf(" %d", value);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ncid = 0, dimension = 0, variables[3];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER, MPI_INFO_NULL, &ncid);
  ncmpi_def_dim(ncid, "record", NC_UNLIMITED, &dimension);
  for (int v = 0; v < 3; ++v) ncmpi_def_var(ncid, &"a\0b\0c"[2 * v], NC_INT, 1, &dimension, &variables[v]);
  ncmpi_enddef(ncid);

  std::vector<int> all(records, rank), some = {100 + rank, 200 + rank, 300 + rank}, found(3), whole(records);
  // More than is put, from behind the library's buffer: what follows covers it.
  MPI_Offset part = 3 * rank, several = 3;
  MPI_Offset *starts[] = {&part}, *counts[] = {&several};
  ncmpi_put_varn_int_all(ncid, variables[2], 1, starts, counts, some.data());
  MPI_Barrier(MPI_COMM_WORLD);
  const MPI_Offset first = 0;
  for (const int variable : variables) {
    if (rank != 0) all.clear();
    const auto count = static_cast<MPI_Offset>(all.size());
    ncmpi_put_vara_int_all(ncid, variable, &first, &count, all.data());
  }
  const MPI_Offset start = 12 + rank, count = 3, stride = 2;
  ncmpi_put_vars_int_all(ncid, variables[0], &start, &count, &stride, some.data());
  ncmpi_get_vars_int_all(ncid, variables[0], &start, &count, &stride, found.data());
  say(found);
  ncmpi_begin_indep_data(ncid);
  const MPI_Offset map = 1;
  if (rank == 1) ncmpi_put_varm_int(ncid, variables[1], &start, &count, &stride, &map, some.data());
  if (rank == 1) ncmpi_get_vars_int(ncid, variables[1], &start, &count, &stride, found.data());
  say(found);
  ncmpi_end_indep_data(ncid);
  for (const int variable : variables) {
    ncmpi_get_var_int_all(ncid, variable, whole.data());
    say(whole);
  }
  ncmpi_close(ncid);
  MPI_Finalize();
}
