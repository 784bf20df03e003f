// SPDX-License-Identifier: BSD-3-Clause
// Split-collective calls: what begins with _begin, with other work before its _end.
#include "case.h"

enum { BYTES = 2500 };

CASE(split_at_all, "write_at_all_begin/end, read_at_all_begin/end") {
  MPI_File file = open_new("data");
  char bytes[BYTES], other[BYTES];
  MPI_Status status;
  const MPI_Offset mine = (MPI_Offset)BYTES * rank, next = (MPI_Offset)BYTES * ((rank + 1) % ranks);
  fill(bytes, BYTES, 0);
  CALL(MPI_File_write_at_all_begin(file, mine, bytes, BYTES, MPI_BYTE));
  fill(other, BYTES, 1);
  CALL(MPI_File_write_at_all_end(file, bytes, &status));
  say_count("write_at_all", &status);
  sync_all(file);
  CALL(MPI_File_read_at_all_begin(file, next, other, BYTES, MPI_BYTE));
  fill(bytes, BYTES, 2);
  CALL(MPI_File_read_at_all_end(file, other, &status));
  say_count("read_at_all", &status);
  say_bytes("read_at_all", other, BYTES);
  close_file(&file);
}

CASE(split_all, "write_all_begin/end, read_all_begin/end: the pointer moves once") {
  MPI_File file = open_new("data");
  char bytes[BYTES];
  MPI_Status status;
  MPI_Offset position;
  CALL(MPI_File_set_view(file, (MPI_Offset)(2 * BYTES) * rank, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  for (int part = 0; part < 2; ++part) {
    fill(bytes, BYTES, part);
    CALL(MPI_File_write_all_begin(file, bytes, BYTES, MPI_BYTE));
    CALL(MPI_File_write_all_end(file, bytes, &status));
    CALL(MPI_File_get_position(file, &position));
    say("at %lld", (long long)position);
  }
  CALL(MPI_File_seek(file, 100, MPI_SEEK_SET));
  CALL(MPI_File_read_all_begin(file, bytes, BYTES, MPI_BYTE));
  CALL(MPI_File_read_all_end(file, bytes, &status));
  say_count("read_all", &status);
  say_bytes("read_all", bytes, BYTES);
  close_file(&file);
}

CASE(split_ordered, "write_ordered_begin/end, read_ordered_begin/end") {
  MPI_File file = open_new("data");
  char bytes[BYTES];
  MPI_Status status;
  MPI_Offset position;
  const int mine = 300 * (ranks - rank);
  for (int part = 0; part < 2; ++part) {
    fill(bytes, BYTES, part);
    CALL(MPI_File_write_ordered_begin(file, bytes, mine, MPI_BYTE));
    CALL(MPI_File_write_ordered_end(file, bytes, &status));
  }
  barrier();
  CALL(MPI_File_get_position_shared(file, &position));
  say("shared pointer at %lld", (long long)position);
  sync_all(file);
  CALL(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  CALL(MPI_File_read_ordered_begin(file, bytes, 200, MPI_BYTE));
  CALL(MPI_File_read_ordered_end(file, bytes, &status));
  say_bytes("read_ordered", bytes, 200);
  close_file(&file);
}

CASE(split_on_two_files, "two files between begin and end at the same time") {
  MPI_File one = open_new("one"), two = open_new("two");
  char first[BYTES], second[BYTES];
  const MPI_Offset mine = (MPI_Offset)BYTES * rank;
  fill(first, BYTES, 1);
  fill(second, BYTES, 2);
  CALL(MPI_File_write_at_all_begin(one, mine, first, BYTES, MPI_BYTE));
  CALL(MPI_File_write_at_all_begin(two, mine, second, BYTES, MPI_BYTE));
  CALL(MPI_File_write_at_all_end(one, first, MPI_STATUS_IGNORE));
  CALL(MPI_File_write_at_all_end(two, second, MPI_STATUS_IGNORE));
  close_file(&one);
  close_file(&two);
}
