/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rotate SCHEME GENERATIONS BYTES WITNESS: a program that keeps its last checkpoints, in one of the ways in which programs do that.
 * All bytes of a generation are the same. Rank 0 says in WITNESS what it has closed without an error, and what it is about to drop:
 *   closed G | failed G | dropping G */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks, witness, bytes;
static char* data;

static void say(const char* what, int generation) {
  char line[64];
  const int length = snprintf(line, sizeof line, "%s %d\n", what, generation);
  if (write(witness, line, length) != length) abort();
}

static const char* numbered(const char* format, int number) {
  static char names[4][64];
  static int next = 0;
  char* name = names[next++ % 4];
  snprintf(name, sizeof names[0], format, number);
  return name;
}

/* 0: it could not be written, and the program knows that. */
static int checkpoint(const char* name, int generation) {
  MPI_File file;
  memset(data, 'A' + generation % 26, bytes);
  int failed = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS;
  if (!failed) {
    failed |= MPI_File_write_at_all(file, (MPI_Offset)bytes * rank, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    failed |= MPI_File_close(&file) != MPI_SUCCESS;
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) say(failed ? "failed" : "closed", generation);
  if (rank == 0 && failed) unlink(name);
  return !failed;
}

static void move(const char* from, const char* to) {
  if (rename(from, to) != 0) printf("%s cannot be renamed to %s\n", from, to);
}

static void drop(const char* name, int generation) {
  say("dropping", generation);
  unlink(name);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* scheme = arguments[1];
  const int generations = atoi(arguments[2]), is = scheme[0];
  bytes = atoi(arguments[3]);
  data = malloc(bytes);
  witness = open(arguments[4], O_WRONLY | O_CREAT | O_APPEND, 0666);
  int last[3] = {-1, -1, -1}; /* good generations, the newest first */

  for (int g = 0; g < generations; ++g) {
    const char* name = is == 'r' || is == 'c' ? "new" : is == 't' ? numbered("turn.%d", g % 2) : numbered("chk.%d", g);
    if (is == 't' && rank == 0 && g > 1) say("dropping", g - 2);
    MPI_Barrier(MPI_COMM_WORLD);
    const int good = checkpoint(name, g);
    if (good && rank == 0) {
      if (is == 'o' && last[0] >= 0) drop(numbered("chk.%d", last[0]), last[0]);        /* one */
      if (is == 'k' && last[1] >= 0) drop(numbered("chk.%d", last[1]), last[1]);        /* keep two */
      if (is == 'd' && last[0] >= 0) {                                                  /* delete */
        say("dropping", last[0]);
        MPI_File_delete(numbered("chk.%d", last[0]), MPI_INFO_NULL);
      }
      if (is == 'l') {                                                                  /* latest */
        unlink("latest");
        if (symlink(numbered("chk.%d", g), "latest") != 0) perror("latest");
        if (last[0] >= 0) drop(numbered("chk.%d", last[0]), last[0]);
      }
      if (is == 'r') {                                                                  /* rename */
        if (last[1] >= 0) say("dropping", last[1]);
        move("restart", "restart.bak");
        move("new", "restart");
      }
      if (is == 'c') {                                                                  /* chain */
        if (last[2] >= 0) say("dropping", last[2]);
        move("1", "2");
        move("0", "1");
        move("new", "0");
      }
    }
    if (good) {
      last[2] = last[1];
      last[1] = last[0];
      last[0] = g;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
