// SPDX-License-Identifier: BSD-3-Clause
//
// A process with two HDF5s: the parallel one of the program, and a serial one of a plug-in that is loaded for itself.
// With MODULE it is that plug-in.
#include <hdf5.h>
#include <stdio.h>

#ifndef MODULE
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>
#endif

static int write_file(const char* path, hid_t access, const char* name, int start, int count, int all) {
  const hsize_t whole = (hsize_t)all, from = (hsize_t)start, part = (hsize_t)count;
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t space = H5Screate_simple(1, &whole, NULL), memory = H5Screate_simple(1, &part, NULL);
  const hid_t set = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const int values[2] = {start, start + 1};
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &part, NULL);
  const herr_t result = H5Dwrite(set, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values);
  H5Dclose(set);
  H5Sclose(space);
  H5Sclose(memory);
  H5Fclose(file);
  return result >= 0;
}

#ifdef MODULE
int write_serially(void);
int write_serially(void) { return write_file("serial.h5", H5P_DEFAULT, "alone", 0, 2, 2); }
#else
int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  int good = write_file("before.h5", access, "parallel", 2 * rank, 2, 2 * ranks);
  if (rank == 0) {
    void* const plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    int (*const write_serially)(void) = plugin ? (int (*)(void))dlsym(plugin, "write_serially") : NULL;
    good = good && write_serially && write_serially();
  }
  good = write_file("after.h5", access, "parallel", 2 * rank, 2, 2 * ranks) && good;
  H5Pclose(access);
  H5close();
  MPI_Finalize();
  if (!good) fprintf(stderr, "rank %d: a write failed\n", rank);
  return good ? 0 : 1;
}
#endif
