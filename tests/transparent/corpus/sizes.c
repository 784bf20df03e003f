// SPDX-License-Identifier: BSD-3-Clause
// The size of a file: set, grown, shrunk, allocated, appended to, and large.
#include "case.h"

static void write_rows(MPI_File file, MPI_Offset start, int tag) {
  char bytes[1000];
  fill(bytes, sizeof bytes, tag);
  CALL(MPI_File_write_at_all(file, start + (MPI_Offset)sizeof bytes * rank, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void say_size(const char* what, MPI_File file) {
  MPI_Offset size = -1;
  CALL(MPI_File_get_size(file, &size));
  say("%s: %lld bytes", what, (long long)size);
  barrier();
}

CASE(sizes_set, "set_size: grow, shrink, 0, and writes between") {
  MPI_File file = open_new("data");
  write_rows(file, 0, 0);
  sync_all(file);
  CALL(MPI_File_set_size(file, 10000));
  say_size("grown", file);
  write_rows(file, 9000, 1);
  sync_all(file);
  CALL(MPI_File_set_size(file, 2500));
  say_size("shrunk", file);
  write_rows(file, 6000, 2);
  sync_all(file);
  say_size("written again", file);
  MPI_File empty = open_new("empty");
  write_rows(empty, 0, 3);
  sync_all(empty);
  CALL(MPI_File_set_size(empty, 0));
  say_size("0", empty);
  close_file(&empty);
  close_file(&file);
}

CASE(sizes_shrunk_bytes_are_gone, "bytes cut off by set_size are 0 when the file grows again") {
  MPI_File file = open_new("data");
  char bytes[500];
  write_rows(file, 0, 0);
  sync_all(file);
  CALL(MPI_File_set_size(file, 300));
  CALL(MPI_File_set_size(file, 4000));
  sync_all(file);
  CALL(MPI_File_read_at(file, 100, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  say_bytes("read", bytes, sizeof bytes);
  close_file(&file);
}

CASE(sizes_preallocate, "preallocate: never smaller, and the bytes stay") {
  MPI_File file = open_new("data");
  write_rows(file, 0, 0);
  sync_all(file);
  CALL(MPI_File_preallocate(file, 50000));
  say_size("allocated", file);
  CALL(MPI_File_preallocate(file, 100));
  say_size("allocated less", file);
  write_rows(file, 20000, 1);
  close_file(&file);
}

CASE(sizes_append, "MODE_APPEND: the pointers start at the end") {
  for (int turn = 0; turn < 3; ++turn) {
    MPI_File file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_APPEND);
    MPI_Offset position = -1;
    char bytes[200];
    fill(bytes, sizeof bytes, turn);
    CALL(MPI_File_get_position(file, &position));
    say("starts at %lld", (long long)position);
    CALL(MPI_File_get_position_shared(file, &position));
    say("shared pointer at %lld", (long long)position);
    barrier();
    CALL(MPI_File_seek(file, 200 * rank, MPI_SEEK_CUR));
    CALL(MPI_File_write_all(file, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(&file);
  }
  say_file("data");
}

CASE(sizes_append_reopened, "what was written is appended to, by end of file instead of by mode") {
  for (int turn = 0; turn < 3; ++turn) {
    MPI_File file = open_new("data");
    MPI_Offset size = -1;
    CALL(MPI_File_get_size(file, &size));
    say("%lld bytes", (long long)size);
    barrier();
    write_rows(file, size, turn);
    close_file(&file);
  }
}

CASE(sizes_large, "a file of more than 4 GiB with a few bytes in it") {
  MPI_File file = open_new("data");
  char bytes[3000];
  const MPI_Offset places[4] = {0, (MPI_Offset)1 << 31, ((MPI_Offset)1 << 32) - 1000, (MPI_Offset)5 << 30};
  for (int i = 0; i < 4; ++i) write_rows(file, places[i], i);
  sync_all(file);
  say_size("large", file);
  for (int i = 0; i < 4; ++i) {
    CALL(MPI_File_read_at(file, places[i] + 500, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    say_bytes("read_at", bytes, sizeof bytes);
  }
  CALL(MPI_File_seek(file, -700, MPI_SEEK_END));
  CALL(MPI_File_read(file, bytes, 700, MPI_BYTE, MPI_STATUS_IGNORE));
  say_bytes("the end", bytes, 700);
  MPI_Offset position = -1;
  CALL(MPI_File_get_position(file, &position));
  say("at %lld", (long long)position);
  close_file(&file);
}

CASE(sizes_large_view, "a view whose tiles are farther apart than 2 GiB") {
  MPI_File file = open_new("data");
  MPI_Datatype tile;
  double numbers[12];
  MPI_Type_create_resized(MPI_DOUBLE, 0, (MPI_Aint)3 << 28, &tile);
  tile = commit(tile);
  CALL(MPI_File_set_view(file, (MPI_Offset)8 * rank, MPI_DOUBLE, tile, "native", MPI_INFO_NULL));
  fill(numbers, sizeof numbers, 0);
  CALL(MPI_File_write(file, numbers, 5, MPI_DOUBLE, MPI_STATUS_IGNORE));
  MPI_Offset bytes = -1;
  CALL(MPI_File_get_byte_offset(file, 4, &bytes));
  say("4 is byte %lld", (long long)bytes);
  sync_all(file);
  CALL(MPI_File_read_at(file, 1, numbers, 3, MPI_DOUBLE, MPI_STATUS_IGNORE));
  say_bytes("read_at", numbers, 3 * sizeof numbers[0]);
  close_file(&file);
  MPI_Type_free(&tile);
}
