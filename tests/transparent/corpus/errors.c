// SPDX-License-Identifier: BSD-3-Clause
// The program's own mistakes: the class of the error that it gets, and that it can go on.
#include "case.h"

#include <sys/stat.h>

CASE(errors_of_open, "no such file, no such directory, a directory, access modes that contradict each other") {
  open_file(MPI_COMM_WORLD, "missing", MPI_MODE_RDONLY);
  open_file(MPI_COMM_WORLD, "missing", MPI_MODE_RDWR);
  open_file(MPI_COMM_WORLD, "missing/data", MPI_MODE_CREATE | MPI_MODE_RDWR);
  open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE);
  open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDONLY | MPI_MODE_WRONLY);
  open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDONLY);
  open_file(MPI_COMM_WORLD, "data", MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL);
  barrier();
  MPI_File file = open_file(MPI_COMM_WORLD, "fine", MPI_MODE_CREATE | MPI_MODE_RDWR);
  close_file(&file);
}

CASE(errors_of_delete, "a file that is not there, one that is, and again") {
  CALL(MPI_File_delete(path("missing"), MPI_INFO_NULL));
  MPI_File file = open_new("data");
  close_file(&file);
  if (rank == 0) {
    CALL(MPI_File_delete(path("data"), MPI_INFO_NULL));
    CALL(MPI_File_delete(path("data"), MPI_INFO_NULL));
  }
}

static MPI_File open_written(int amode) {
  MPI_File file = open_new("data");
  CALL(MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
  return open_file(MPI_COMM_WORLD, "data", amode);
}

CASE(errors_of_access, "writes to what is read only, reads of what is write only") {
  MPI_File file = open_written(MPI_MODE_RDONLY);
  int number = -1;
  CALL(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CALL(MPI_File_write(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CALL(MPI_File_read_at(file, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  say("still %d", number);
  close_file(&file);
  file = open_written(MPI_MODE_WRONLY);
  CALL(MPI_File_read_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CALL(MPI_File_read(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
}

CASE(errors_of_collective_access, "the same, and changes of the size, in collective calls") {
  MPI_File file = open_written(MPI_MODE_RDONLY);
  int number = -1;
  CALL(MPI_File_write_at_all(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CALL(MPI_File_set_size(file, 0));
  CALL(MPI_File_preallocate(file, 1000));
  CALL(MPI_File_read_at_all(file, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  say("still %d", number);
  close_file(&file);
  file = open_written(MPI_MODE_WRONLY);
  CALL(MPI_File_read_all(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
}

CASE(errors_of_arguments, "negative offsets and counts, sizes, types that are none, a view that fits no etype") {
  MPI_File file = open_new("data");
  int numbers[4] = {1, 2, 3, 4};
  MPI_Datatype odd;
  CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, NULL, MPI_INFO_NULL));
  CALL(MPI_File_write_at(file, -1, numbers, 1, MPI_INT, MPI_STATUS_IGNORE));
  CALL(MPI_File_read_at(file, -8, numbers, 1, MPI_INT, MPI_STATUS_IGNORE));
  CALL(MPI_File_write_at(file, 0, numbers, -1, MPI_INT, MPI_STATUS_IGNORE));
  CALL(MPI_File_write_at(file, 0, numbers, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE));
  CALL(MPI_File_set_size(file, -1));
  CALL(MPI_File_preallocate(file, -1));
  CALL(MPI_File_set_view(file, -4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  MPI_Type_contiguous(3, MPI_BYTE, &odd);
  odd = commit(odd);
  CALL(MPI_File_set_view(file, 0, MPI_INT, odd, "native", MPI_INFO_NULL));
  CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CALL(MPI_File_write_at(file, 100 + rank, numbers, 1, odd, MPI_STATUS_IGNORE));
  CALL(MPI_File_write_at_all(file, rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Type_free(&odd);
  close_file(&file);
}

static int handled, handled_class;

static void handler(MPI_File* file, int* code, ...) {
  (void)file;
  ++handled;
  MPI_Error_class(*code, &handled_class);
}

static void try_view(const char* what, MPI_Datatype etype, MPI_Datatype filetype) {
  MPI_File file = open_file(MPI_COMM_WORLD, "views", MPI_MODE_CREATE | MPI_MODE_RDWR);   /* what is refused may depend on the view before */
  int class = MPI_SUCCESS, number = rank;
  MPI_Error_class(MPI_File_set_view(file, 4, etype, filetype, "native", MPI_INFO_NULL), &class);
  say("%s: error class %d", what, class);
  if (class != MPI_SUCCESS) CALL(MPI_File_write_at(file, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));   /* the view is as it was */
  close_file(&file);
}

static MPI_Datatype two_blocks(int length, int first, int second) {
  MPI_Datatype type;
  MPI_Type_indexed(2, (int[]){length, 1}, (int[]){first, second}, MPI_INT, &type);
  return type;
}

CASE(errors_of_views, "filetypes that MPI forbids in a file that is written: the library below says so, or lets them pass") {
  MPI_Datatype type, inner;
  type = commit(two_blocks(1, 3, 0));
  try_view("backwards", MPI_INT, type);
  try_view("an etype that goes backwards, twice", type, type);
  MPI_Type_free(&type);
  type = commit(two_blocks(3, 0, 1));
  try_view("overlapping", MPI_INT, type);
  MPI_Type_free(&type);
  type = two_blocks(1, 0, 2);
  try_view("not committed", MPI_INT, type);
  try_view("etype not committed", type, MPI_INT);
  MPI_Type_create_resized(type, 0, 4, &inner);
  MPI_Type_free(&type);
  MPI_Type_contiguous(2, inner, &type);
  try_view("interleaved", MPI_INT, commit(type));
  MPI_Type_free(&type);
  MPI_Type_free(&inner);
  MPI_Type_contiguous(6, MPI_CHAR, &type);
  try_view("one and a half etypes", MPI_INT, commit(type));
  MPI_Type_free(&type);
  MPI_Type_vector(3, 1, -1, MPI_INT, &type);
  try_view("with a negative stride", MPI_INT, commit(type));
  MPI_Type_free(&type);
  try_view("none", MPI_INT, MPI_DATATYPE_NULL);
}

CASE(errors_handler, "create_errhandler, set_errhandler, get_errhandler, call_errhandler, and the default of new files") {
  MPI_Errhandler mine, found;
  MPI_File file = open_new("data");
  CALL(MPI_File_get_errhandler(file, &found));
  say("returns at first: %d", found == MPI_ERRORS_RETURN);
  CALL(MPI_File_create_errhandler(handler, &mine));
  CALL(MPI_File_set_errhandler(file, mine));
  handled = 0;
  MPI_File_call_errhandler(file, MPI_ERR_IO);
  say("called: %d, class %d", handled, handled_class);
  int number = 0;
  MPI_File_write_at(file, -1, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
  say("called: %d, class %d", handled, handled_class);
  CALL(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  CALL(MPI_File_write_at(file, -1, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  say("called: %d", handled);
  close_file(&file);

  CALL(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
  open_file(MPI_COMM_WORLD, "missing", MPI_MODE_RDONLY);
  say("by open: %d, class %d", handled, handled_class);
  file = open_new("another");
  MPI_File_write_at(file, -1, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
  say("inherited: %d, class %d", handled, handled_class);
  close_file(&file);
  CALL(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  MPI_Errhandler_free(&mine);
}

CASE(errors_of_one_rank, "one rank makes a mistake in an independent call, the others go on") {
  MPI_File file = open_new("data");
  int number = 10 * rank;
  CALL(MPI_File_write_at(file, rank == 1 ? -4 : 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CALL(MPI_File_write_at_all(file, 4 * (ranks + rank), &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
}
