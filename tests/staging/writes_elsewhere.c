// SPDX-License-Identifier: BSD-3-Clause
//
//   writes_elsewhere DIRECTORY [PLACE]
//
// Makes files in many ways. PLACE: only the stagers see the directory, and what cannot be done there is tried, too; a path that they may
// not write to. Prints what is wrong.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { block = 100000, blocks = 20 };

static int failures = 0, rank = 0, ranks = 1;
static const char* directory;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  ++failures;
}

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

static const char* path_of(const char* name) {
  static char path[1000];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static int open_file(const char* name, int mode, MPI_File* file) {
  return class_of(MPI_File_open(MPI_COMM_WORLD, path_of(name), mode, MPI_INFO_NULL, file));
}

static unsigned char* pattern(int seed) {
  unsigned char* bytes = malloc(block);
  for (int i = 0; i < block; ++i) bytes[i] = (unsigned char)((i + seed) % 251);
  return bytes;
}

static int has_pattern(const unsigned char* bytes, int seed) {
  for (int i = 0; i < block; ++i) {
    if (bytes[i] != (i + seed) % 251) return 0;
  }
  return 1;
}

static void write_blocks(MPI_File file, int seed, int together) {
  for (int i = 0; i < blocks; ++i) {
    const MPI_Offset at = (MPI_Offset)block * (i * ranks + rank);
    unsigned char* bytes = pattern(seed + i * ranks + rank);
    const int code = together ? MPI_File_write_at_all(file, at, bytes, block, MPI_BYTE, MPI_STATUS_IGNORE)
                              : MPI_File_write_at(file, at, bytes, block, MPI_BYTE, MPI_STATUS_IGNORE);
    expect(code == MPI_SUCCESS, "a write");
    free(bytes);
  }
}

static void write_file(const char* name, int mode, int seed, int together) {
  MPI_File file;
  const int code = open_file(name, mode, &file);
  expect(code == MPI_SUCCESS, name);
  if (code != MPI_SUCCESS) return;
  write_blocks(file, seed, together);
  expect(MPI_File_close(&file) == MPI_SUCCESS, "MPI_File_close");
}

static void read_file(const char* name, int seed) {
  MPI_File file;
  const int code = open_file(name, MPI_MODE_RDONLY, &file);
  expect(code == MPI_SUCCESS, "open to read what was closed");
  if (code != MPI_SUCCESS) return;
  unsigned char* bytes = calloc(1, block);
  MPI_File_read_at_all(file, (MPI_Offset)block * rank, bytes, block, MPI_BYTE, MPI_STATUS_IGNORE);
  expect(has_pattern(bytes, seed + rank), "what is read back");
  free(bytes);
  MPI_File_close(&file);
}

// Longer than what is written, cut, and asked for.
static void change_sizes(void) {
  MPI_File file;
  MPI_Offset size = 0;
  if (open_file("longer", MPI_MODE_CREATE | MPI_MODE_WRONLY, &file) == MPI_SUCCESS) {
    write_blocks(file, 3, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(file, &size);
    expect(size == (MPI_Offset)block * blocks * ranks, "the size of what was written");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_size(file, (MPI_Offset)block * blocks * ranks + 12345);
    MPI_File_get_size(file, &size);
    expect(size == (MPI_Offset)block * blocks * ranks + 12345, "the size that was set");
    expect(MPI_File_sync(file) == MPI_SUCCESS, "MPI_File_sync");
    MPI_File_close(&file);
  }
  if (open_file("shorter", MPI_MODE_CREATE | MPI_MODE_WRONLY, &file) == MPI_SUCCESS) {
    write_blocks(file, 4, 0);
    MPI_File_set_size(file, block + 7);
    MPI_File_get_size(file, &size);
    expect(size == block + 7, "the size after a cut");
    MPI_File_close(&file);
  }
  if (open_file("empty", MPI_MODE_CREATE | MPI_MODE_RDWR, &file) == MPI_SUCCESS) {
    MPI_File_preallocate(file, 5000);
    MPI_File_close(&file);
  }
}

// What is there is made anew.
static void replace(void) {
  MPI_File file;
  write_file("removed", MPI_MODE_CREATE | MPI_MODE_WRONLY, 5, 1);
  if (rank == 0) expect(MPI_File_delete(path_of("removed"), MPI_INFO_NULL) == MPI_SUCCESS, "MPI_File_delete");
  MPI_Barrier(MPI_COMM_WORLD);
  write_file("removed", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_EXCL, 6, 1);
  expect(open_file("removed", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_EXCL, &file) == MPI_ERR_FILE_EXISTS, "one that exists");
  const int code = open_file("removed", MPI_MODE_CREATE | MPI_MODE_RDWR, &file);
  expect(code == MPI_SUCCESS, "open what is there");
  if (code != MPI_SUCCESS) return;
  MPI_Offset size = 0;
  MPI_File_get_size(file, &size);
  expect(size == (MPI_Offset)block * blocks * ranks, "the size of what is there");
  MPI_Barrier(MPI_COMM_WORLD);
  expect(MPI_File_set_size(file, 0) == MPI_SUCCESS, "a cut to nothing");
  unsigned char* bytes = pattern(7 + rank);
  MPI_File_write_at_all(file, (MPI_Offset)block * rank, bytes, block, MPI_BYTE, MPI_STATUS_IGNORE);
  free(bytes);
  MPI_File_close(&file);
}

// Tells what cannot be, and leaves nothing.
static void try_what_cannot_be(const char* place) {
  MPI_File file;
  unsigned char byte = 0;
  expect(class_of(MPI_File_open(MPI_COMM_WORLD, place, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file)) != MPI_SUCCESS,
         "a path that they may not write to");
  if (open_file("open", MPI_MODE_CREATE | MPI_MODE_RDWR, &file) == MPI_SUCCESS) {
    write_blocks(file, 8, 1);
    MPI_Comm pair;
    MPI_File second;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
    expect(class_of(MPI_File_open(pair, path_of("open"), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &second)) ==
               MPI_ERR_UNSUPPORTED_OPERATION,
           "a second handle of fewer ranks");
    expect(class_of(MPI_File_open(pair, path_of("of_a_pair"), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &second)) ==
               MPI_ERR_UNSUPPORTED_OPERATION,
           "a file that not all nodes open");
    MPI_Comm_free(&pair);
    expect(class_of(MPI_File_read_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_UNSUPPORTED_OPERATION,
           "a read of what is open");
    MPI_File_close(&file);
  } else {
    expect(0, "open");
  }
  read_file("open", 8);
  if (open_file("open", MPI_MODE_CREATE | MPI_MODE_WRONLY, &file) == MPI_SUCCESS) {
    expect(class_of(MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_ACCESS, "a change of what is there");
    MPI_File_close(&file);
  }
  read_file("open", 8);
  if (rank == 0) expect(unlink(path_of("open")) == 0, "unlink");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  directory = argv[1];
  write_file("together", MPI_MODE_CREATE | MPI_MODE_WRONLY, 1, 1);
  read_file("together", 1);
  write_file("alone", MPI_MODE_CREATE | MPI_MODE_RDWR, 2, 0);
  struct stat status;
  expect(stat(path_of("alone"), &status) == 0 && status.st_size == (off_t)block * blocks * ranks, "stat of what was closed");
  change_sizes();
  replace();
  if (argc > 2) try_what_cannot_be(argv[2]);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
