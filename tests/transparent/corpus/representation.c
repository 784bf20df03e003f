// SPDX-License-Identifier: BSD-3-Clause
// Data representations.
#include "case.h"

static void through(const char* representation) {
  MPI_File file = open_new(representation);
  double numbers[64];
  MPI_Datatype stripes;
  MPI_Aint extent = -1;
  for (int i = 0; i < 64; ++i) numbers[i] = rank + i / 64.0;
  MPI_Type_vector(8, 2, 2 * ranks, MPI_DOUBLE, &stripes);
  stripes = commit(stripes);
  const int code = MPI_File_set_view(file, (MPI_Offset)16 * rank, MPI_DOUBLE, stripes, representation, MPI_INFO_NULL);
  if (called(code, "set_view", __LINE__) == MPI_SUCCESS) {
    CALL(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
    say("%s: a double takes %ld bytes", representation, (long)extent);
    CALL(MPI_File_write_all(file, numbers, 16, MPI_DOUBLE, MPI_STATUS_IGNORE));
    barrier();
    for (int i = 0; i < 64; ++i) numbers[i] = 0;
    CALL(MPI_File_read_at(file, 3, numbers, 10, MPI_DOUBLE, MPI_STATUS_IGNORE));
    for (int i = 0; i < 10; ++i) say("%g", numbers[i]);
  }
  barrier();
  close_file(&file);
  MPI_Type_free(&stripes);
}

CASE(representation_native, "native") { through("native"); }
CASE(representation_internal, "internal") { through("internal"); }
CASE(representation_external32, "external32: big-endian in the file") { through("external32"); }
CASE(representation_unknown, "one that was not registered: an error") { through("no such representation"); }

CASE(representation_external32_int, "external32, integers, collective and independent") {
  MPI_File file = open_new("data");
  int numbers[100];
  for (int i = 0; i < 100; ++i) numbers[i] = 1000 * rank + i;
  CALL(MPI_File_set_view(file, (MPI_Offset)800 * rank, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  CALL(MPI_File_write(file, numbers, 100, MPI_INT, MPI_STATUS_IGNORE));
  CALL(MPI_File_write_all(file, numbers, 100, MPI_INT, MPI_STATUS_IGNORE));
  barrier();
  CALL(MPI_File_read_at(file, 50, numbers, 100, MPI_INT, MPI_STATUS_IGNORE));
  say_bytes("read_at", numbers, sizeof numbers);
  close_file(&file);
}

static int same_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
  MPI_Aint lower;
  (void)state;
  return MPI_Type_get_extent(type, &lower, extent);
}

static int no_conversion(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position, void* state) {
  (void)user, (void)type, (void)count, (void)file, (void)position, (void)state;
  return MPI_ERR_CONVERSION;
}

CASE(representation_registered, "one of the program's own: what the MPI library makes of it") {
  CALL(MPI_Register_datarep("mine", no_conversion, no_conversion, same_extent, NULL));
  MPI_File file = open_new("data");
  CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "mine", MPI_INFO_NULL));
  close_file(&file);
}
