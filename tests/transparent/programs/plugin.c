// SPDX-License-Identifier: BSD-3-Clause
// The part of init_by_plugin that knows MPI.
#include <mpi.h>
#include <stdio.h>

int plugin_run(const char* directory) {
  char path[1024];
  int rank, numbers[50];
  MPI_File file;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 50; ++i) numbers[i] = 100 * rank + i;
  snprintf(path, sizeof path, "%s/data", directory);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)sizeof numbers * rank, numbers, 50, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return rank;
}
