// SPDX-License-Identifier: BSD-3-Clause
//
//   paced_raw DIRECTORY MARKS [elsewhere]
//
// A program that knows nothing of GLEAN writes two files with MPI-IO, and goes on when it is told: `long` in steps, each over earlier ones,
// ranks over each other in an order that barriers give, and `short` in the middle of it. Before step S, or when both are
// closed (6), it makes MARKS/at.S and waits for MARKS/go.S, or MARKS/go. `elsewhere`: only stagers see the directory, and nothing is read.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { block = 60000, blocks = 8, steps = 6, small = 1000 };

static int failures = 0, rank = 0, ranks = 1, is_elsewhere = 0;
static const char *directory, *marks;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  ++failures;
}

static const char* path_of(const char* place, const char* name, int number) {
  static char path[1000];
  if (number < 0) snprintf(path, sizeof path, "%s/%s", place, name);
  else snprintf(path, sizeof path, "%s/%s.%d", place, name, number);
  return path;
}

static void wait_at(int step) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    FILE* mark = fopen(path_of(marks, "at", step), "w");
    if (mark != NULL) fclose(mark);
  }
  // Each rank looks by itself: in MPI it would keep a core busy.
  while (access(path_of(marks, "go", -1), F_OK) != 0 && access(path_of(marks, "go", step), F_OK) != 0) usleep(2000);
  MPI_Barrier(MPI_COMM_WORLD);
}

static unsigned char value_of(int seed, int i) { return (unsigned char)((i + 31 * seed) % 251); }

static void write_at(MPI_File file, MPI_Offset at, int bytes, int seed, int together) {
  unsigned char* data = malloc((size_t)bytes);
  for (int i = 0; i < bytes; ++i) data[i] = value_of(seed, i);
  const int code = together ? MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                            : MPI_File_write_at(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  expect(code == MPI_SUCCESS, "a write");
  free(data);
}

static void read_at(MPI_File file, MPI_Offset at, int bytes, int seed) {
  unsigned char* data = calloc(1, (size_t)bytes);
  int wrong = MPI_File_read_at(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  for (int i = 0; i < bytes; ++i) wrong += data[i] != value_of(seed, i);
  expect(wrong == 0, "what is read back");
  free(data);
}

static MPI_File open_file(const char* name) {
  MPI_File file;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  const int code = MPI_File_open(MPI_COMM_WORLD, path_of(directory, name, -1), mode, MPI_INFO_NULL, &file);
  expect(code == MPI_SUCCESS, name);
  if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  return file;
}

// Of a step: what each rank has for itself, then the same bytes by one rank after the other.
static void write_step(MPI_File file, int step) {
  for (int i = 0; i < blocks; ++i) write_at(file, (MPI_Offset)block * (ranks * i + rank) + 100 * step, block, step * ranks + rank, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == step % ranks) write_at(file, block / 2, 3 * block, 100 + step, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == (step + 1) % ranks) write_at(file, block, block, 200 + step, 0);
  write_at(file, (MPI_Offset)block * blocks * ranks + small * (steps * rank + step), small, step, 1);
  if (is_elsewhere) return;
  MPI_Barrier(MPI_COMM_WORLD);
  read_at(file, block, block, 200 + step);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  directory = argv[1];
  marks = argv[2];
  is_elsewhere = argc > 3 && strcmp(argv[3], "elsewhere") == 0;
  MPI_File longer = open_file("long"), other = MPI_FILE_NULL;
  for (int step = 0; step < steps; ++step) {
    wait_at(step);
    write_step(longer, step);
    if (step == 1) other = open_file("short");
    if (step == 1 || step == 2) write_step(other, step);
    if (step == 2 && !is_elsewhere) expect(MPI_File_set_size(longer, 5 * block + 7) == MPI_SUCCESS, "a cut");
    if (step == 3) expect(MPI_File_close(&other) == MPI_SUCCESS, "the first close");
    if (step == 3) expect(MPI_File_sync(longer) == MPI_SUCCESS, "MPI_File_sync");
  }
  expect(MPI_File_close(&longer) == MPI_SUCCESS, "the last close");
  wait_at(steps);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
