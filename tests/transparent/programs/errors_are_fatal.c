// SPDX-License-Identifier: BSD-3-Clause
// With MPI_ERRORS_ARE_FATAL on a file, a mistake ends the job as a kill does. A file that was there before is complete.
#include <mpi.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  int rank;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File_open(MPI_COMM_WORLD, "closed", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  while (access("closed", F_OK) != 0) usleep(1000);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
  MPI_File_open(MPI_COMM_WORLD, "missing/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Finalize();
  return 0;   // not reached
}
