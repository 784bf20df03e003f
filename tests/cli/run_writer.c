/* SPDX-License-Identifier: BSD-3-Clause
 *
 * run_writer FILE [SECONDS|open|alone|last]: each rank writes 1000 of its letter, the last one so much later, and asks for the size, or
 * leaves it open. Or each rank, or the last one, has the file FILE.RANK to itself. Knows nothing of GLEAN. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_alone(const char* name, int rank, const char* letters) {
  char path[4096];
  MPI_File file;
  snprintf(path, sizeof path, "%s.%d", name, rank);
  MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write(file, letters, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

int main(int count, char** arguments) {
  char letters[1000];
  int rank = 0, ranks = 0;
  MPI_Offset size = 0;
  MPI_File file;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memset(letters, 'a' + rank, sizeof letters);
  if (count > 2 && (strcmp(arguments[2], "alone") == 0 || strcmp(arguments[2], "last") == 0)) {
    if (strcmp(arguments[2], "alone") == 0 || rank == ranks - 1) write_alone(arguments[1], rank, letters);
    return MPI_Finalize();
  }
  MPI_File_open(MPI_COMM_WORLD, arguments[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  if (count > 2 && rank == ranks - 1) sleep((unsigned)atoi(arguments[2]));
  MPI_File_write_at_all(file, 1000 * (MPI_Offset)rank, letters, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
  if (count > 2 && strcmp(arguments[2], "open") == 0) return MPI_Finalize();
  MPI_File_get_size(file, &size);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
