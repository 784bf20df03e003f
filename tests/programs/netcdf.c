// SPDX-License-Identifier: BSD-3-Clause
//
// Parallel netCDF-C: a file by HDF5 (netcdf4) or by PnetCDF (cdf5) is made, written by all calls of a model's output, opened
// again, appended to and read.
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <string.h>

enum { rows = 3, columns = 1000, steps = 3 };

static int rank, ranks;

static void require(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, nc_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int define(const char* path, int format) {
  int file, dimensions[3], variable;
  require(nc_create_par(path, NC_CLOBBER | format, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "create");
  require(nc_def_dim(file, "time", NC_UNLIMITED, &dimensions[0]), "time");
  require(nc_def_dim(file, "row", (size_t)(rows * ranks), &dimensions[1]), "row");
  require(nc_def_dim(file, "column", columns, &dimensions[2]), "column");
  require(nc_def_var(file, "height", NC_DOUBLE, 2, dimensions + 1, &variable), "height");
  require(nc_put_att_text(file, variable, "units", 1, "m"), "units");
  require(nc_def_var(file, "mask", NC_BYTE, 1, dimensions + 1, &variable), "mask");
  require(nc_def_var(file, "rain", NC_FLOAT, 3, dimensions, &variable), "rain");
  require(nc_def_var(file, "clock", NC_INT, 1, dimensions, &variable), "clock");
  require(nc_put_att_text(file, NC_GLOBAL, "title", 10, "an example"), "title");
  require(nc_enddef(file), "enddef");
  return file;
}

static int variable(int file, const char* name, int access) {
  int found;
  require(nc_inq_varid(file, name, &found), name);
  require(nc_var_par_access(file, found, access), name);
  return found;
}

static void write_step(int file, size_t step) {
  static float rain[rows * columns];
  for (int i = 0; i < rows * columns; ++i) rain[i] = (float)(1000 * (int)step + 100 * rank) + (float)i / 7;
  const size_t start[3] = {step, (size_t)(rows * rank), 0}, count[3] = {1, rows, columns};
  require(nc_put_vara_float(file, variable(file, "rain", NC_COLLECTIVE), start, count, rain), "rain");
  const int clock = (int)step * 3600;
  const size_t one[1] = {1};
  require(nc_put_vara_int(file, variable(file, "clock", NC_COLLECTIVE), start, one, &clock), "clock");
}

static void write_fixed(int file) {
  static double height[rows * columns];
  for (int i = 0; i < rows * columns; ++i) height[i] = rank + i / 1000.0;
  const size_t start[2] = {(size_t)(rows * rank), 0}, count[2] = {rows, columns / 2};
  const ptrdiff_t stride[2] = {1, 2};
  const size_t second[2] = {start[0], 1};
  require(nc_put_vars_double(file, variable(file, "height", NC_COLLECTIVE), start, count, stride, height), "height");
  require(nc_put_vars_double(file, variable(file, "height", NC_COLLECTIVE), second, count, stride, height), "height");
  // One rank writes all of it; then each one element.
  signed char mask[rows * 64] = {0};
  const int id = variable(file, "mask", NC_INDEPENDENT);
  const size_t first = 0, all = (size_t)(rows * ranks);
  if (rank == ranks - 1) require(nc_put_vara_schar(file, id, &first, &all, mask), "mask");
  MPI_Barrier(MPI_COMM_WORLD);
  const signed char own = (signed char)(rank + 1);
  const size_t place = (size_t)(rows * rank + 1);
  require(nc_sync(file), "sync");
  require(nc_put_var1_schar(file, id, &place, &own), "mask");
}

static void print_sums(int file) {
  static float rain[steps * rows * columns];
  const size_t start[3] = {0, (size_t)(rows * ((rank + 1) % ranks)), 0}, count[3] = {steps, rows, columns};
  require(nc_get_vara_float(file, variable(file, "rain", NC_COLLECTIVE), start, count, rain), "read rain");
  double sum = 0, sums[64];
  for (int i = 0; i < steps * rows * columns; ++i) sum += rain[i];
  MPI_Gather(&sum, 1, MPI_DOUBLE, sums, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i) printf("rank %d: %.3f\n", i, sums[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3 || ranks > 64) return 2;
  const int format = strcmp(argv[2], "netcdf4") == 0 ? NC_NETCDF4 : NC_64BIT_DATA;
  int file = define(argv[1], format);
  write_fixed(file);
  for (size_t step = 0; step < steps - 1; ++step) write_step(file, step);
  require(nc_close(file), "close");
  require(nc_open_par(argv[1], NC_WRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "open");
  write_step(file, steps - 1);
  print_sums(file);
  require(nc_close(file), "close");
  MPI_Finalize();
  return 0;
}
