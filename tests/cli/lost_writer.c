/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lost_writer DIRECTORY: each rank writes 1000 of its letter into `first`, leaves its process in `rank.N`, waits while there is a file
 * `hold`, reads what the next rank has written, and writes `second`. Knows nothing of GLEAN. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { letters_of_each = 1000 };
static int rank;
static const char* directory;

static const char* path_of(const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static MPI_File write_letters(const char* name) {
  char letters[letters_of_each];
  MPI_File file;
  memset(letters, 'a' + rank, sizeof letters);
  MPI_File_open(MPI_COMM_WORLD, path_of(name), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, letters_of_each * (MPI_Offset)rank, letters, letters_of_each, MPI_BYTE, MPI_STATUS_IGNORE);
  return file;
}

static void read_letters_of_next(MPI_File file) {
  char letters[letters_of_each], text[MPI_MAX_ERROR_STRING];
  int ranks = 0, length = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Offset place = letters_of_each * (MPI_Offset)((rank + 1) % ranks);
  int error = MPI_File_read_at_all(file, place, letters, letters_of_each, MPI_BYTE, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS) return;
  MPI_Error_string(error, text, &length);
  printf("rank %d cannot read: %s\n", rank, text);
}

static void leave_process(void) {
  char name[32];
  snprintf(name, sizeof name, "rank.%d", rank);
  FILE* file = fopen(path_of(name), "w");
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
}

int main(int count, char** arguments) {
  MPI_File file;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  directory = arguments[1];
  file = write_letters("first");
  leave_process();
  while (access(path_of("hold"), F_OK) == 0) usleep(10000);
  MPI_Barrier(MPI_COMM_WORLD);
  read_letters_of_next(file);
  MPI_File_close(&file);
  file = write_letters("second");
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
