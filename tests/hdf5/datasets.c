// SPDX-License-Identifier: BSD-3-Clause
//
// Writes datasets of all kinds through HDF5, which is to find itself as it left itself.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

static void require(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static hid_t dataset(hid_t file, const char* name, hid_t type, int dimensions, const hsize_t* shape) {
  const hid_t space = H5Screate_simple(dimensions, shape, NULL);
  const hid_t made = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  require(made >= 0, name);
  H5Sclose(space);
  return made;
}

// Elements `start` to `start + count` of a dataset of one dimension; none: 0.
static herr_t write_part(hid_t set, hid_t type, hsize_t start, hsize_t count, hid_t how, const void* data) {
  const hid_t file_space = H5Dget_space(set), memory_space = H5Screate_simple(1, (hsize_t[]){count > 0 ? count : 1}, NULL);
  if (count > 0) {
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, &start, NULL, &count, NULL);
  } else {
    H5Sselect_none(file_space);
    H5Sselect_none(memory_space);
  }
  const herr_t result = H5Dwrite(set, type, memory_space, file_space, how, data);
  H5Sclose(file_space);
  H5Sclose(memory_space);
  return result;
}

static void write_grid(hid_t file, hid_t collective) {
  const hid_t group = H5Gcreate2(file, "grid", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t set = dataset(group, "density", H5T_IEEE_F64BE, 2, (hsize_t[]){2 * (hsize_t)ranks, 6});
  const hsize_t start[2] = {2 * (hsize_t)rank, 0}, count[2] = {2, 6};
  float values[12];
  for (int i = 0; i < 12; ++i) values[i] = (float)(100 * rank + i);
  const hid_t file_space = H5Dget_space(set), memory_space = H5Screate_simple(2, count, NULL);
  H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL);
  require(H5Dwrite(set, H5T_NATIVE_FLOAT, memory_space, file_space, collective, values) >= 0, "grid/density");
  H5Sclose(file_space);
  H5Sclose(memory_space);
  H5Dclose(set);
  H5Gclose(group);
}

static void write_records(hid_t file, hid_t collective) {
  struct record { double place; int number; } record = {rank / 4.0, rank};
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof record);
  H5Tinsert(type, "place", HOFFSET(struct record, place), H5T_NATIVE_DOUBLE);
  H5Tinsert(type, "number", HOFFSET(struct record, number), H5T_NATIVE_INT);
  const hid_t packed = H5Tcopy(type);
  H5Tpack(packed);
  const hid_t set = dataset(file, "records", packed, 1, (hsize_t[]){(hsize_t)ranks});
  require(write_part(set, type, (hsize_t)rank, 1, collective, &record) >= 0, "records");
  H5Dclose(set);

  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 12);
  const hid_t names = dataset(file, "names", text, 1, (hsize_t[]){(hsize_t)ranks});
  char name[12] = "";
  snprintf(name, sizeof name, "rank %d", rank);
  require(write_part(names, text, (hsize_t)rank, 1, collective, name) >= 0, "names");
  H5Dclose(names);
  H5Tclose(text);
  H5Tclose(packed);
  H5Tclose(type);
}

static void write_integers(hid_t file, hid_t collective, hid_t independent) {
  int all[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  unsigned char flags[2] = {1, 2};
  const hid_t count = dataset(file, "count", H5T_STD_I32LE, 1, (hsize_t[]){10});
  if (rank == 0) require(H5Dwrite(count, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, independent, all) >= 0, "count");
  H5Dclose(count);
  // Half of the ranks write nothing: collective calls want them all the same.
  const hid_t set = dataset(file, "flags", H5T_STD_U8LE, 1, (hsize_t[]){(hsize_t)ranks});
  require(write_part(set, H5T_NATIVE_UCHAR, (hsize_t)rank, rank % 2 == 0 ? 2 : 0, collective, flags) >= 0, "flags");
  H5Dclose(set);

  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 1, (hsize_t[]){8});
  const hid_t space = H5Screate_simple(1, (hsize_t[]){(hsize_t)ranks}, (hsize_t[]){H5S_UNLIMITED});
  const hid_t series = H5Dcreate2(file, "series", H5T_STD_I64LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  for (long step = 0; step < 3; ++step) {
    H5Dset_extent(series, (hsize_t[]){(hsize_t)(ranks * (step + 1))});
    require(write_part(series, H5T_NATIVE_LONG, (hsize_t)(ranks * step + rank), 1, collective, &step) >= 0, "series");
  }
  H5Dclose(series);
  H5Sclose(space);
  H5Pclose(list);
}

static void write_unnamed(hid_t file, hid_t collective) {
  const hid_t space = H5Screate_simple(1, (hsize_t[]){(hsize_t)ranks}, NULL);
  const hid_t unnamed = H5Dcreate_anon(file, H5T_STD_I16LE, space, H5P_DEFAULT, H5P_DEFAULT);
  const short one = 1;
  require(write_part(unnamed, H5T_NATIVE_SHORT, (hsize_t)rank, 1, collective, &one) >= 0, "a dataset without a name");
  H5Dclose(unnamed);
  H5Sclose(space);
}

static int printed;
static herr_t print_first(void* data) { ++printed; (void)data; return 0; }
static herr_t print_second(hid_t stack, void* data) { ++printed; (void)stack; (void)data; return 0; }

// What the program has set for errors stays, in both versions of the call, and an error of its own is its own.
static void make_mistakes(hid_t file, hid_t collective) {
  const hid_t set = dataset(file, "mistakes", H5T_STD_I32LE, 1, (hsize_t[]){4});
  int values[4] = {1, 2, 3, 4}, other = 0;
  void* data = NULL;
  H5E_auto1_t first = NULL;
  H5E_auto2_t second = NULL;

  H5Eset_auto2(H5E_DEFAULT, print_second, &other);
  require(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, collective, values) >= 0 && printed == 0, "a write after H5Eset_auto2");
  require(H5Eget_num(H5E_DEFAULT) == 0, "errors after a write");
  require(H5Eget_auto2(H5E_DEFAULT, &second, &data) >= 0 && second == print_second && data == &other, "H5Eset_auto2 is forgotten");
  require(H5Dwrite(file, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, collective, values) < 0 && printed == 1, "a mistake goes unnoticed");
  require(H5Eget_num(H5E_DEFAULT) > 0, "a mistake left no errors");

  H5Eset_auto1(print_first, &other);
  require(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, collective, values) >= 0 && printed == 1, "a write after H5Eset_auto1");
  require(H5Eget_auto1(&first, &data) >= 0 && first == print_first && data == &other, "H5Eset_auto1 is forgotten");
  require(write_part(set, H5T_NATIVE_INT, 0, 4, 12345, values) < 0 && printed == 2, "a mistake goes unnoticed");
  H5Dclose(set);
}

// By MPI-IO of one rank: whole chunks, past HDF5's conversion.
static void write_chunks(void) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_fapl_mpio(access, MPI_COMM_SELF, MPI_INFO_NULL);
  H5Pset_chunk(list, 1, (hsize_t[]){4});
  const hid_t file = H5Fcreate("chunks.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t space = H5Screate_simple(1, (hsize_t[]){8}, NULL);
  const hid_t set = H5Dcreate2(file, "chunks", H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  for (int chunk = 0; chunk < 2; ++chunk) {
    const int values[4] = {chunk, 1, 2, 3};
    require(H5Dwrite_chunk(set, H5P_DEFAULT, 0, (hsize_t[]){4 * (hsize_t)chunk}, sizeof values, values) >= 0, "chunks");
  }
  H5Dclose(set);
  H5Sclose(space);
  H5Fclose(file);
  H5Pclose(list);
  H5Pclose(access);
}

// Not by MPI-IO.
static void write_alone(void) {
  const hid_t file = H5Fcreate("serial.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t set = dataset(file, "alone", H5T_STD_I32LE, 1, (hsize_t[]){2});
  require(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, (int[]){1, 2}) >= 0, "alone");
  H5Dclose(set);
  H5Fclose(file);
}

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), collective = H5Pcreate(H5P_DATASET_XFER), independent = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
  const hid_t file = H5Fcreate("parallel.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  require(file >= 0, "parallel.h5");
  write_grid(file, collective);
  write_records(file, collective);
  write_integers(file, collective, independent);
  write_unnamed(file, collective);
  make_mistakes(file, collective);
  H5Pclose(independent);
  H5Pclose(collective);
  H5Pclose(access);
  H5Fclose(file);
  if (rank == 0) write_chunks();
  if (rank == 0) write_alone();
  H5close();
  MPI_Finalize();
  return 0;
}
