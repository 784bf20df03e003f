// SPDX-License-Identifier: BSD-3-Clause
//
//   libraries_elsewhere DIRECTORY
//
// Makes a file with PnetCDF and one with HDF5, and both again in their places, with other values.
#include <hdf5.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

enum { count = 50000 };

static int rank = 0, ranks = 1, failures = 0;

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: %s failed\n", rank, what);
  ++failures;
}

static void write_netcdf(const char* path, const double* values) {
  int file = 0, dimension = 0, variable = 0;
  const MPI_Offset start = (MPI_Offset)count * rank, number = count;
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file) == NC_NOERR, "ncmpi_create");
  check(ncmpi_def_dim(file, "x", (MPI_Offset)count * ranks, &dimension) == NC_NOERR, "ncmpi_def_dim");
  check(ncmpi_def_var(file, "v", NC_DOUBLE, 1, &dimension, &variable) == NC_NOERR, "ncmpi_def_var");
  check(ncmpi_enddef(file) == NC_NOERR, "ncmpi_enddef");
  check(ncmpi_put_vara_double_all(file, variable, &start, &number, values) == NC_NOERR, "ncmpi_put_vara_double_all");
  check(ncmpi_close(file) == NC_NOERR, "ncmpi_close");
}

static void write_hdf5(const char* path, const double* values) {
  const hsize_t extent = (hsize_t)count * (hsize_t)ranks, start = (hsize_t)count * (hsize_t)rank, number = count;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), making = H5Pcreate(H5P_DATASET_CREATE), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_obj_track_times(making, 0);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  check(file >= 0, "H5Fcreate");
  const hid_t in_file = H5Screate_simple(1, &extent, NULL), in_memory = H5Screate_simple(1, &number, NULL);
  H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &start, NULL, &number, NULL);
  const hid_t dataset = H5Dcreate(file, "v", H5T_NATIVE_DOUBLE, in_file, H5P_DEFAULT, making, H5P_DEFAULT);
  check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, in_memory, in_file, transfer, values) >= 0, "H5Dwrite");
  H5Dclose(dataset);
  check(H5Fclose(file) >= 0, "H5Fclose");
  H5Sclose(in_file);
  H5Sclose(in_memory);
  H5Pclose(access);
  H5Pclose(making);
  H5Pclose(transfer);
}

int main(int argc, char** argv) {
  static double values[count];
  char path[1000];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < count; ++i) values[i] = i + rank + 1000 * round;
    snprintf(path, sizeof path, "%s/a.nc", argv[1]);
    write_netcdf(path, values);
    snprintf(path, sizeof path, "%s/a.h5", argv[1]);
    write_hdf5(path, values);
  }
  MPI_Finalize();
  return failures != 0;
}
