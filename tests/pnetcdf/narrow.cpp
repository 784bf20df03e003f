// SPDX-License-Identifier: BSD-3-Clause
//
// Doubles go into floats, shorts and ints: some of them do not fit, and NaN is no int.
//
//   pnetcdf_narrow FILE
#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

namespace {

constexpr MPI_Offset columns = 5000;   // more than are converted at once

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, ncid = 0, dimensions[2], variables[5];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid);
  ncmpi_def_dim(ncid, "rank", ranks, &dimensions[0]);
  ncmpi_def_dim(ncid, "column", columns, &dimensions[1]);
  const nc_type types[] = {NC_FLOAT, NC_FLOAT, NC_FLOAT, NC_SHORT, NC_INT};
  for (int v = 0; v < 5; ++v) ncmpi_def_var(ncid, &"a\0b\0c\0d\0e"[2 * v], types[v], 2, dimensions, &variables[v]);
  // A mistake of one rank: the library says so at once, and the others know nothing of it.
  if (rank == 1) std::printf("%s\n", ncmpi_strerrno(ncmpi_end_indep_data(ncid)));
  ncmpi_enddef(ncid);

  if (rank == 1) std::printf("%s\n%s\n", ncmpi_strerrno(ncmpi_enddef(ncid)), ncmpi_strerrno(ncmpi_enddef(ncid)));
  ncmpi_begin_indep_data(ncid);
  if (rank == 1) std::printf("%s\n", ncmpi_strerrno(ncmpi_enddef(ncid)));
  ncmpi_end_indep_data(ncid);
  std::vector<double> fits(columns), does_not(columns);
  for (MPI_Offset i = 0; i < columns; ++i) fits[static_cast<std::size_t>(i)] = static_cast<double>(i) + 0.25 * rank;
  fits[8] = 3e38;   // in a float
  does_not = fits;
  if (rank == 1) does_not[columns - 1] = -1e39;
  const MPI_Offset start[] = {rank, 0}, count[] = {1, columns};

  int requests[3], statuses[3], codes[7];
  codes[0] = ncmpi_iput_vara_double(ncid, variables[0], start, count, fits.data(), &requests[0]);
  codes[1] = ncmpi_iput_vara_double(ncid, variables[1], start, count, does_not.data(), &requests[1]);
  codes[2] = ncmpi_iput_vara_double(ncid, variables[3], start, count, fits.data(), &requests[2]);
  const std::vector<double> later = fits;
  std::fill(fits.begin(), fits.end(), -1);   // they are converted already
  codes[3] = ncmpi_wait_all(ncid, 3, requests, statuses);
  fits = later;
  codes[4] = ncmpi_put_vara_double_all(ncid, variables[2], start, count, does_not.data());
  ncmpi_begin_indep_data(ncid);
  codes[5] = ncmpi_put_vara_double(ncid, variables[0], start, count, rank == 0 ? fits.data() : does_not.data());
  std::vector<double> whole(columns, 7);
  if (rank == 0) whole[columns - 2] = std::numeric_limits<double>::quiet_NaN();
  codes[6] = ncmpi_put_vara_double(ncid, variables[4], start, count, whole.data());
  ncmpi_end_indep_data(ncid);
  ncmpi_close(ncid);
  for (const int code : codes) std::printf("%s\n", ncmpi_strerrno(code));
  for (const int status : statuses) std::printf("%s\n", ncmpi_strerrno(status));
  MPI_Finalize();
}
