// SPDX-License-Identifier: BSD-3-Clause
// A file is left open at MPI_Finalize. The standard forbids it, programs do it, and their bytes are in the file.
#include <mpi.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  int rank, numbers[1000];
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 1000; ++i) numbers[i] = 1000 * rank + i;
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)sizeof numbers * rank, numbers, 1000, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Finalize();
  return 0;
}
