// SPDX-License-Identifier: BSD-3-Clause
// MPI_Init comes late: after work, after files were written without MPI, and after a child process.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  char path[1024], bytes[100] = "";
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  snprintf(path, sizeof path, "early-%ld", (long)getpid());
  FILE* early = fopen(path, "w+");
  fputs("written before MPI_Init", early);
  fflush(early);
  if (system("true") != 0) return 3;
  double sum = 0;
  for (int i = 1; i < 1000000; ++i) sum += 1.0 / i;

  int rank;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rewind(early);   // the stream is still open
  if (!fgets(bytes, sizeof bytes, early)) return 4;
  fclose(early);
  unlink(path);
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, 32 * rank, bytes, 24, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, 32 * rank + 24, &sum, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  if (rank == 0) printf("%s\n", bytes);
  return 0;
}
