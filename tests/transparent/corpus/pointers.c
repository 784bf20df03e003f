// SPDX-License-Identifier: BSD-3-Clause
// Data access with individual file pointers, and what moves them.
#include "case.h"

enum { COUNT = 500 };

static void say_position(const char* what, MPI_File file) {
  MPI_Offset position = -1, bytes = -1;
  CALL(MPI_File_get_position(file, &position));
  CALL(MPI_File_get_byte_offset(file, position, &bytes));
  say("%s: at %lld, byte %lld", what, (long long)position, (long long)bytes);
}

CASE(pointers_blocking, "write, read, seek") {
  MPI_File file = open_new("data");
  int numbers[COUNT];
  MPI_Status status;
  CALL(MPI_File_set_view(file, (MPI_Offset)(2 * sizeof numbers) * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int part = 0; part < 2; ++part) {
    fill(numbers, sizeof numbers, part);
    CALL(MPI_File_write(file, numbers, COUNT, MPI_INT, &status));
    say_count("write", &status);
    say_position("after write", file);
  }
  CALL(MPI_File_seek(file, COUNT / 2, MPI_SEEK_SET));
  CALL(MPI_File_read(file, numbers, COUNT, MPI_INT, &status));
  say_bytes("read", numbers, sizeof numbers);
  say_position("after read", file);
  close_file(&file);
}

CASE(pointers_collective, "write_all, read_all") {
  MPI_File file = open_new("data");
  int numbers[COUNT];
  MPI_Status status;
  CALL(MPI_File_seek(file, (MPI_Offset)(3 * sizeof numbers) * rank, MPI_SEEK_SET));
  for (int part = 0; part < 3; ++part) {
    fill(numbers, sizeof numbers, part);
    CALL(MPI_File_write_all(file, numbers, COUNT, MPI_INT, &status));
    say_position("after write_all", file);
  }
  sync_all(file);
  CALL(MPI_File_seek(file, (MPI_Offset)sizeof numbers * rank, MPI_SEEK_SET));
  CALL(MPI_File_read_all(file, numbers, COUNT, MPI_INT, &status));
  say_count("read_all", &status);
  say_bytes("read_all", numbers, sizeof numbers);
  close_file(&file);
}

CASE(pointers_nonblocking, "iwrite, iread: the pointer moves when the call starts") {
  MPI_File file = open_new("data");
  int first[COUNT], second[COUNT];
  MPI_Request requests[2];
  fill(first, sizeof first, 1);
  fill(second, sizeof second, 2);
  CALL(MPI_File_seek(file, (MPI_Offset)(2 * sizeof first) * rank, MPI_SEEK_SET));
  CALL(MPI_File_iwrite(file, first, COUNT, MPI_INT, &requests[0]));
  say_position("after iwrite", file);
  CALL(MPI_File_iwrite(file, second, COUNT, MPI_INT, &requests[1]));
  say_position("after iwrite", file);
  CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CALL(MPI_File_seek(file, -(MPI_Offset)(2 * sizeof first), MPI_SEEK_CUR));
  CALL(MPI_File_iread(file, second, COUNT, MPI_INT, &requests[0]));
  CALL(MPI_File_iread(file, first, COUNT, MPI_INT, &requests[1]));
  say_position("after iread", file);
  CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  say_bytes("iread", first, sizeof first);
  say_bytes("iread", second, sizeof second);
  close_file(&file);
}

CASE(pointers_nonblocking_collective, "iwrite_all, iread_all") {
  MPI_File file = open_new("data");
  int numbers[COUNT];
  MPI_Request request;
  MPI_Status status;
  CALL(MPI_File_set_view(file, (MPI_Offset)(2 * sizeof numbers) * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int part = 0; part < 2; ++part) {
    fill(numbers, sizeof numbers, part);
    CALL(MPI_File_iwrite_all(file, numbers, COUNT, MPI_INT, &request));
    CALL(MPI_Wait(&request, &status));
    say_count("iwrite_all", &status);
    say_position("after iwrite_all", file);
  }
  CALL(MPI_File_seek(file, 100, MPI_SEEK_SET));
  CALL(MPI_File_iread_all(file, numbers, COUNT, MPI_INT, &request));
  CALL(MPI_Wait(&request, &status));
  say_bytes("iread_all", numbers, sizeof numbers);
  say_position("after iread_all", file);
  close_file(&file);
}

CASE(pointers_seek, "SET, CUR, END, with and without a view; a position before the file") {
  MPI_File file = open_new("data");
  char bytes[1000];
  fill(bytes, sizeof bytes, 0);
  CALL(MPI_File_write_at_all(file, (MPI_Offset)sizeof bytes * rank, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  sync_all(file);
  CALL(MPI_File_seek(file, 0, MPI_SEEK_END));
  say_position("END", file);
  CALL(MPI_File_seek(file, -100, MPI_SEEK_END));
  say_position("END - 100", file);
  CALL(MPI_File_seek(file, 40, MPI_SEEK_CUR));
  say_position("CUR + 40", file);
  CALL(MPI_File_seek(file, 100000, MPI_SEEK_SET));
  say_position("behind the end", file);
  CALL(MPI_File_seek(file, -5, MPI_SEEK_SET));
  say_position("negative", file);
  CALL(MPI_File_seek(file, 0, 12345));

  MPI_Datatype every_fourth;
  MPI_Type_vector(10, 1, 4, MPI_SHORT, &every_fourth);
  every_fourth = commit(every_fourth);
  CALL(MPI_File_set_view(file, 6, MPI_SHORT, every_fourth, "native", MPI_INFO_NULL));
  say_position("a new view", file);
  for (int step = 0; step < 3; ++step) {
    CALL(MPI_File_seek(file, 7, MPI_SEEK_CUR));
    say_position("CUR + 7", file);
  }
  CALL(MPI_File_seek(file, 0, MPI_SEEK_END));
  say_position("END of the view", file);
  close_file(&file);
  MPI_Type_free(&every_fourth);
}

CASE(pointers_byte_offset, "get_byte_offset of positions in views with holes") {
  MPI_File file = open_new("data");
  MPI_Datatype blocks, tile;
  MPI_Type_indexed(3, (int[]){2, 1, 3}, (int[]){1, 5, 9}, MPI_INT, &blocks);
  MPI_Type_create_resized(blocks, 0, 20 * (MPI_Aint)sizeof(int), &tile);
  tile = commit(tile);
  CALL(MPI_File_set_view(file, 3 + rank, MPI_INT, tile, "native", MPI_INFO_NULL));
  for (MPI_Offset position = 0; position < 15; ++position) {
    MPI_Offset bytes = -1;
    CALL(MPI_File_get_byte_offset(file, position, &bytes));
    say("%lld is byte %lld", (long long)position, (long long)bytes);
  }
  close_file(&file);
  MPI_Type_free(&blocks);
  MPI_Type_free(&tile);
}
