// SPDX-License-Identifier: BSD-3-Clause
// Files are left open at MPI_Finalize, one of each rank through two handles. The standard forbids it, programs do it, and their bytes are
// in the files.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  int rank, numbers[1000];
  char name[20];
  MPI_File file, own[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 1000; ++i) numbers[i] = 1000 * rank + i;
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)sizeof numbers * rank, numbers, 1000, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  snprintf(name, sizeof name, "own-%d", rank);
  for (int i = 0; i < 2; ++i) {
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &own[i]);
    MPI_File_write_at(own[i], 4000 * i, numbers, 1000, MPI_INT, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
