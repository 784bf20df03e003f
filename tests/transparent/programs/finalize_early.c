// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize comes long before the end: the program goes on, looks at its files, changes them, and starts children.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  int rank;
  char bytes[5000];
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (char)('a' + (rank + i) % 26);
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, (MPI_Offset)sizeof bytes * rank, bytes, sizeof bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  if (rank == 0) {
    struct stat status;
    if (stat("data", &status) == 0) printf("%lld bytes after MPI_Finalize\n", (long long)status.st_size);
    FILE* copy = fopen("copy", "w");
    FILE* data = fopen("data", "r");
    for (size_t count; data && copy && (count = fread(bytes, 1, sizeof bytes, data)) > 0;) fwrite(bytes, 1, count, copy);
    if (data) fclose(data);
    if (copy) fclose(copy);
    printf("system: %d\n", system("cat data copy > both"));
    if (rename("data", "renamed") != 0) return 3;
    double sum = 0;
    for (int i = 1; i < 20000000; ++i) sum += 1.0 / i;
    FILE* result = fopen("renamed", "a");
    if (!result) return 4;
    fprintf(result, "%.6f", sum);
    fclose(result);
  }
  return 0;
}
