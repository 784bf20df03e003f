// SPDX-License-Identifier: BSD-3-Clause
//
// Files of all ranks and of halves of them, open at the same time, and left open at MPI_Finalize: HDF5 closes them in there.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static hid_t create(const char* path, MPI_Comm comm) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  return file;
}

static int write_numbers(hid_t file, MPI_Comm comm, const char* name) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const hsize_t all = 10000 * (hsize_t)ranks, start = 10000 * (hsize_t)rank, count = 10000;
  static double numbers[10000];
  for (int i = 0; i < 10000; ++i) numbers[i] = rank + i / 10000.0;
  const hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &count, NULL);
  const hid_t set = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
  return H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, numbers) >= 0;
}

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  int rank;
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  const hid_t all = create("all.h5", MPI_COMM_WORLD), part = create(rank % 2 ? "odd.h5" : "even.h5", half);
  int good = write_numbers(all, MPI_COMM_WORLD, "first") && write_numbers(part, half, "numbers");
  good = write_numbers(all, MPI_COMM_WORLD, "second") && good;
  MPI_Finalize();
  return good ? 0 : 1;
}
