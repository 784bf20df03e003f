// SPDX-License-Identifier: BSD-3-Clause
//
// Rank 0 puts, and rank 1, which has opened the file by MPI-IO alone meanwhile, reads what was put and writes into it.
//
//   pnetcdf_handles FILE
#include <mpi.h>
#include <pnetcdf.h>

#include <array>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ncid = 0, dimension = 0, variable = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const MPI_Offset start = 0, count = 1000;
  std::vector<int> values(count);
  MPI_Offset place = 0;
  const auto put = [&](int turn) {
    for (MPI_Offset i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = static_cast<int>(1000 * turn + i);
    if (turn % 2 == 0) {
      ncmpi_put_vara_int_all(ncid, variable, &start, &count, values.data());
    } else {
      ncmpi_begin_indep_data(ncid);
      ncmpi_put_vara_int(ncid, variable, &start, &count, values.data());
      ncmpi_end_indep_data(ncid);
    }
  };
  if (rank == 0) {
    ncmpi_create(MPI_COMM_SELF, argv[1], NC_CLOBBER, MPI_INFO_NULL, &ncid);
    ncmpi_def_dim(ncid, "x", count, &dimension);
    ncmpi_def_var(ncid, "v", NC_INT, 1, &dimension, &variable);
    ncmpi_enddef(ncid);
    ncmpi_inq_varoffset(ncid, variable, &place);
    put(0);
  }
  MPI_Bcast(&place, 1, MPI_OFFSET, 0, MPI_COMM_WORLD);
  MPI_File file = MPI_FILE_NULL;
  if (rank == 1) MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int turn = 1; turn < 5; ++turn) {
    std::array<unsigned char, 4> bytes{};
    if (rank == 1) {
      MPI_File_read_at(file, place + 4 * turn, bytes.data(), 4, MPI_BYTE, MPI_STATUS_IGNORE);
      std::printf("%d %d\n", bytes[2], bytes[3]);
      bytes = {0, 0, 7, static_cast<unsigned char>(turn)};
      MPI_File_write_at(file, place + 4 * turn, bytes.data(), 4, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      ncmpi_get_vara_int_all(ncid, variable, &start, &count, values.data());
      std::printf("%d %d\n", values[static_cast<std::size_t>(turn)], values[999]);
      if (turn < 4) put(turn);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) ncmpi_close(ncid);
  else if (rank == 1) MPI_File_close(&file);
  MPI_Finalize();
}
