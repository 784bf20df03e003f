/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Knows nothing of GLEAN. program FILE… [NAME=VALUE…]: each file is opened with these hints, and all ranks write into it. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { each = 30000 };

static void check(int code) {
  if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, code);
}

int main(int argc, char** argv) {
  int rank = 0;
  static char bytes[each];
  MPI_Info hints = MPI_INFO_NULL;
  check(MPI_Init(&argc, &argv));
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  check(MPI_Info_create(&hints));
  for (int i = 1; i < argc; ++i) {
    char* value = strchr(argv[i], '=');
    if (value == NULL) continue;
    *value = '\0';
    check(MPI_Info_set(hints, argv[i], value + 1));
    argv[i] = NULL;
  }
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == NULL) continue;
    MPI_File file = MPI_FILE_NULL;
    memset(bytes, 'a' + rank, sizeof bytes);
    check(MPI_File_open(MPI_COMM_WORLD, argv[i], MPI_MODE_CREATE | MPI_MODE_WRONLY, hints, &file));
    check(MPI_File_write_at_all(file, (MPI_Offset)rank * each, bytes, each, MPI_BYTE, MPI_STATUS_IGNORE));
    check(MPI_File_close(&file));
  }
  check(MPI_Info_free(&hints));
  MPI_Finalize();
  return 0;
}
