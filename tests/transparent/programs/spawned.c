// SPDX-License-Identifier: BSD-3-Clause
// Ranks start others with MPI_Comm_spawn. What all of the ones have closed before a barrier over both, the others find by stat, by fopen
// and by MPI_File_open: children that of their parents, and parents that of their children.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 8 << 20 };

static int rank;
static char* bytes;

static void write_file(MPI_Comm comm, const char* name) {
  MPI_File file;
  memset(bytes, 'a' + rank, BYTES);
  MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)BYTES * rank, bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

static void look(const char* speaker, const char* name) {
  struct stat status;
  MPI_File file;
  MPI_Offset size = -1;
  char last = 0;
  const int there = stat(name, &status) == 0;
  FILE* stream = fopen(name, "r");
  if (stream != NULL && fseek(stream, -1, SEEK_END) == 0) last = (char)fgetc(stream);
  if (stream != NULL) fclose(stream);
  const int code = MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  if (code == MPI_SUCCESS) {
    MPI_File_get_size(file, &size);
    MPI_File_close(&file);
  }
  printf("%s: %s is %s, %lld bytes, the last is %c, MPI finds %lld\n", speaker, name, there ? "there" : "not there",
         there ? (long long)status.st_size : -1, last, (long long)size);
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Comm parent, between, all;
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  const int is_child = parent != MPI_COMM_NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bytes = malloc(BYTES);
  between = parent;
  if (!is_child) MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(between, is_child, &all);

  if (!is_child) write_file(MPI_COMM_WORLD, "of-parents");
  MPI_Barrier(all);
  if (is_child && rank == 0) look("child", "of-parents");
  MPI_Barrier(all);
  if (is_child) write_file(MPI_COMM_WORLD, "of-children");
  MPI_Barrier(all);
  if (!is_child && rank == 0) look("parent", "of-children");

  MPI_Barrier(all);
  free(bytes);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  return 0;
}
