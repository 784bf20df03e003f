/* SPDX-License-Identifier: BSD-3-Clause
 *
 * run_writer FILE: each rank writes 1000 of its letter; knows nothing of GLEAN. */
#include <mpi.h>
#include <string.h>

int main(int count, char** arguments) {
  char letters[1000];
  int rank = 0;
  MPI_File file;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  memset(letters, 'a' + rank, sizeof letters);
  MPI_File_open(MPI_COMM_WORLD, arguments[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, 1000 * (MPI_Offset)rank, letters, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
