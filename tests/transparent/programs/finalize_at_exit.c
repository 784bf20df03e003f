// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize is called by what atexit() got before MPI_Init, as destructors of static objects do in C++. One file was closed before
// by all ranks, one of the last rank a while after the others have come there; another is closed there, and one is left open.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static MPI_File closed_at_exit, left_open;

static void end(void) {
  MPI_File_close(&closed_at_exit);
  MPI_Finalize();
}

static MPI_File write_own_part(MPI_Comm comm, const char* name, int rank) {
  MPI_File file;
  int numbers[1000], place;
  MPI_Comm_rank(comm, &place);
  for (int i = 0; i < 1000; ++i) numbers[i] = 1000 * rank + i;
  MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, (MPI_Offset)sizeof numbers * place, numbers, 1000, MPI_INT, MPI_STATUS_IGNORE);
  return file;
}

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0 || atexit(end) != 0) return 2;
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  closed_at_exit = write_own_part(MPI_COMM_WORLD, "closed_at_exit", rank);
  left_open = write_own_part(MPI_COMM_WORLD, "left_open", rank);
  MPI_File closed = write_own_part(MPI_COMM_WORLD, "closed", rank);
  MPI_File_close(&closed);
  if (rank != ranks - 1) return 0;
  usleep(500000);
  MPI_File own = write_own_part(MPI_COMM_SELF, "own", rank);
  MPI_File_close(&own);
  return 0;
}
