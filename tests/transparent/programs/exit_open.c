// SPDX-License-Identifier: BSD-3-Clause
// Without MPI_Finalize and MPI_File_close: the standard forbids both. The file was there before, and what was written is in it.
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  int rank;
  static char bytes[1 << 20];
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) close(open("data", O_WRONLY | O_CREAT, 0666));
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (char)('a' + (rank + i) % 26);
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)sizeof bytes * rank, bytes, sizeof bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  exit(0);
}
