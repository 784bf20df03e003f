/* SPDX-License-Identifier: BSD-3-Clause */
/* A library under programs that is wrong in one way, or in none: BROKEN says which. What finds it is tested by it. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int is(const char* what) {
  const char* broken = getenv("BROKEN");
  return broken && strcmp(broken, what) == 0;
}

/* Every 7th write of a rank is lost, and said to have been done. */
int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* buffer, int count, MPI_Datatype type, MPI_Status* status) {
  static int calls;
  const int lost = ++calls % 7 == 0 && is("loses");
  const int code = PMPI_File_write_at(file, offset, buffer, lost ? 0 : count, type, status);
  if (lost && status != MPI_STATUS_IGNORE) MPI_Status_set_elements(status, type, count);
  return code;
}

/* The pointer is where the write has ended, but for views with holes, where it is too far. */
int MPI_File_get_position(MPI_File file, MPI_Offset* position) {
  const int code = PMPI_File_get_position(file, position);
  if (is("counts")) PMPI_File_get_byte_offset(file, *position, position);
  return code;
}
