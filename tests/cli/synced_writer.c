/* SPDX-License-Identifier: BSD-3-Clause
 *
 * synced_writer KIND DIRECTORY: ranks write frame after frame into `traj` and synchronize it after each, until they are killed. KIND is
 * mpiio, pnetcdf or hdf5: by MPI_File_sync, ncmpi_sync or H5Fflush. Each rank then leaves in `synced.N` how many frames that were, and its
 * process before that in `rank.N`. With a file `never` they do not synchronize. Knows nothing of GLEAN.
 * synced_writer KIND check FILE FRAMES RANKS, on one rank: whether the file has that many frames at least. */
#include <fcntl.h>
#ifdef WITH_HDF5
#include <hdf5.h>
#endif
#include <mpi.h>
#ifdef WITH_PNETCDF
#include <pnetcdf.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ints_of_rank = 1000, most_frames = 2000 };
static int rank, ranks, never;
static const char* directory;

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static const char* path_of(const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static int value(int frame, int of_rank, int i) { return 1 + frame * 100000 + of_rank * 10000 + i; }

static int is_frame(const int* values, int frame) {
  for (int i = 0; i < ranks * ints_of_rank; ++i) {
    if (values[i] != value(frame, i / ints_of_rank, i % ints_of_rank)) return 0;
  }
  return 1;
}

/* A way to write and read frames. */
struct way {
  void (*create)(const char* path);
  void (*write)(int frame, const int* values);
  void (*synchronize)(void);
  void (*open)(const char* path);
  int (*read)(int frame, int* values);   /* of all ranks */
};

static MPI_File mpi_file;
static const int bytes_of_rank = ints_of_rank * sizeof(int);

static void mpiio_create(const char* path) {
  require(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &mpi_file) == MPI_SUCCESS, "open");
  require(MPI_File_set_size(mpi_file, 0) == MPI_SUCCESS, "set_size");
}
static void mpiio_write(int frame, const int* values) {
  const MPI_Offset at = ((MPI_Offset)frame * ranks + rank) * bytes_of_rank;
  require(MPI_File_write_at_all(mpi_file, at, values, ints_of_rank, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
}
static void mpiio_synchronize(void) { require(MPI_File_sync(mpi_file) == MPI_SUCCESS, "MPI_File_sync"); }
static void mpiio_open(const char* path) {
  require(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &mpi_file) == MPI_SUCCESS, "open to read");
}
static int mpiio_read(int frame, int* values) {
  MPI_Status status;
  int got = 0;
  MPI_File_read_at(mpi_file, (MPI_Offset)frame * ranks * bytes_of_rank, values, ranks * ints_of_rank, MPI_INT, &status);
  MPI_Get_count(&status, MPI_INT, &got);
  return got == ranks * ints_of_rank;
}

#ifdef WITH_PNETCDF
static int nc_file, nc_variable;
static void pnetcdf_create(const char* path) {
  int dimensions[2];
  require(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &nc_file) == NC_NOERR, "ncmpi_create");
  ncmpi_def_dim(nc_file, "frame", NC_UNLIMITED, &dimensions[0]);
  ncmpi_def_dim(nc_file, "i", (MPI_Offset)ranks * ints_of_rank, &dimensions[1]);
  ncmpi_def_var(nc_file, "v", NC_INT, 2, dimensions, &nc_variable);
  require(ncmpi_enddef(nc_file) == NC_NOERR, "ncmpi_enddef");
}
static void pnetcdf_write(int frame, const int* values) {
  const MPI_Offset start[2] = {frame, (MPI_Offset)rank * ints_of_rank}, count[2] = {1, ints_of_rank};
  require(ncmpi_put_vara_int_all(nc_file, nc_variable, start, count, values) == NC_NOERR, "put");
}
static void pnetcdf_synchronize(void) { require(ncmpi_sync(nc_file) == NC_NOERR, "ncmpi_sync"); }
static void pnetcdf_open(const char* path) {
  require(ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &nc_file) == NC_NOERR, "ncmpi_open");
  require(ncmpi_inq_varid(nc_file, "v", &nc_variable) == NC_NOERR, "varid");
}
static int pnetcdf_read(int frame, int* values) {
  const MPI_Offset start[2] = {frame, 0}, count[2] = {1, (MPI_Offset)ranks * ints_of_rank};
  return ncmpi_get_vara_int_all(nc_file, nc_variable, start, count, values) == NC_NOERR;
}
#endif

#ifdef WITH_HDF5
static hid_t h5_file, h5_set;
static void hdf5_create(const char* path) {
  const hsize_t size[2] = {most_frames, (hsize_t)ranks * ints_of_rank};
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), space = H5Screate_simple(2, size, NULL);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  h5_file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  require(h5_file >= 0, "H5Fcreate");
  h5_set = H5Dcreate2(h5_file, "v", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  require(h5_set >= 0, "H5Dcreate");
}
static herr_t hdf5_move(int frame, hsize_t first, hsize_t count, int* values, const int* written) {
  const hsize_t start[2] = {(hsize_t)frame, first}, of_each[2] = {1, count};
  const hid_t in_file = H5Dget_space(h5_set), in_memory = H5Screate_simple(2, of_each, NULL);
  H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, of_each, NULL);
  const herr_t code = written != NULL ? H5Dwrite(h5_set, H5T_NATIVE_INT, in_memory, in_file, H5P_DEFAULT, written)
                                      : H5Dread(h5_set, H5T_NATIVE_INT, in_memory, in_file, H5P_DEFAULT, values);
  H5Sclose(in_file);
  H5Sclose(in_memory);
  return code;
}
static void hdf5_write(int frame, const int* values) {
  require(hdf5_move(frame, (hsize_t)rank * ints_of_rank, ints_of_rank, NULL, values) >= 0, "H5Dwrite");
}
static void hdf5_synchronize(void) { require(H5Fflush(h5_file, H5F_SCOPE_GLOBAL) >= 0, "H5Fflush"); }
static void hdf5_open(const char* path) {
  h5_file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  require(h5_file >= 0, "H5Fopen");
  h5_set = H5Dopen2(h5_file, "v", H5P_DEFAULT);
  require(h5_set >= 0, "H5Dopen");
}
static int hdf5_read(int frame, int* values) { return hdf5_move(frame, 0, (hsize_t)ranks * ints_of_rank, values, NULL) >= 0; }
#endif

static struct way way_of(const char* kind) {
#ifdef WITH_PNETCDF
  if (strcmp(kind, "pnetcdf") == 0)
    return (struct way){pnetcdf_create, pnetcdf_write, pnetcdf_synchronize, pnetcdf_open, pnetcdf_read};
#endif
#ifdef WITH_HDF5
  if (strcmp(kind, "hdf5") == 0) return (struct way){hdf5_create, hdf5_write, hdf5_synchronize, hdf5_open, hdf5_read};
#endif
  require(strcmp(kind, "mpiio") == 0, "no such kind");
  return (struct way){mpiio_create, mpiio_write, mpiio_synchronize, mpiio_open, mpiio_read};
}

static void check(struct way way, char** arguments) {
  const int frames = atoi(arguments[1]);
  ranks = atoi(arguments[2]);
  int* values = calloc((size_t)ranks * ints_of_rank, sizeof(int));
  way.open(arguments[0]);
  for (int frame = 0; frame < frames; ++frame) {
    if (way.read(frame, values) && is_frame(values, frame)) continue;
    fprintf(stderr, "frame %d of %d is not there\n", frame, frames);
    exit(1);
  }
  MPI_Finalize();
  _exit(0);   /* with the file open */
}

static void leave(const char* name, int number) {
  char of_rank[32];
  snprintf(of_rank, sizeof of_rank, "%s.%d", name, rank);
  const int file = open(path_of(of_rank), O_WRONLY | O_CREAT, 0666);
  require(file >= 0 && pwrite(file, &number, sizeof number, 0) == sizeof number, "leave a number");
  close(file);
}

int main(int count, char** arguments) {
  static int values[ints_of_rank];
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const struct way way = way_of(arguments[1]);
  if (strcmp(arguments[2], "check") == 0) check(way, arguments + 3);
  directory = arguments[2];
  never = access(path_of("never"), F_OK) == 0;
  leave("rank", (int)getpid());
  way.create(path_of("traj"));
  for (int frame = 0; frame < most_frames; ++frame) {
    for (int i = 0; i < ints_of_rank; ++i) values[i] = value(frame, rank, i);
    way.write(frame, values);
    if (!never) way.synchronize();
    leave("synced", frame + 1);
    usleep(2000);
  }
  pause();
  return 0;
}
