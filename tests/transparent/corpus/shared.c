// SPDX-License-Identifier: BSD-3-Clause
// Data access with shared file pointers. Where the standard leaves the order open, only what does not depend on it shows.
#include "case.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 400 };

static void say_shared(const char* what, MPI_File file) {
  MPI_Offset position = -1;
  CALL(MPI_File_get_position_shared(file, &position));
  say("%s: shared pointer at %lld", what, (long long)position);
  barrier();  // before another rank moves it
}

CASE(shared_in_turn, "write_shared and read_shared, one rank after the other") {
  MPI_File file = open_new("data");
  char bytes[BYTES];
  MPI_Status status;
  for (int turn = 0; turn < 2 * ranks; ++turn) {
    if (turn % ranks == rank) {
      fill(bytes, BYTES, turn);
      CALL(MPI_File_write_shared(file, bytes, BYTES - rank, MPI_BYTE, &status));
      say_count("write_shared", &status);
    }
    barrier();
  }
  say_shared("written", file);
  sync_all(file);
  CALL(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  for (int turn = 0; turn < ranks; ++turn) {
    if (turn == ranks - 1 - rank) {
      CALL(MPI_File_read_shared(file, bytes, BYTES, MPI_BYTE, &status));
      say_bytes("read_shared", bytes, BYTES);
    }
    barrier();
  }
  close_file(&file);
}

static int by_bytes(const void* a, const void* b) { return memcmp(a, b, BYTES); }

// The records of all ranks in one order, whatever the order in the file.
static void say_sorted(MPI_File file, int records) {
  if (rank != 0) return;
  char* all = malloc((size_t)records * BYTES);
  CALL(MPI_File_read_at(file, 0, all, records * BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  qsort(all, (size_t)records, BYTES, by_bytes);
  say_bytes("sorted records", all, (size_t)records * BYTES);
  free(all);
}

CASE(shared_any_order, "write_shared by all at once: every record is there once") {
  MPI_File file = open_file(MPI_COMM_WORLD, "unordered", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  char bytes[BYTES];
  for (int record = 0; record < 10; ++record) {
    fill(bytes, BYTES, record);
    CALL(MPI_File_write_shared(file, bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  sync_all(file);
  say_shared("written", file);
  say_sorted(file, 10 * ranks);
  barrier();
  close_file(&file);
}

CASE(shared_nonblocking, "iwrite_shared, iread_shared") {
  MPI_File file = open_file(MPI_COMM_WORLD, "unordered", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  char bytes[5][BYTES];
  MPI_Request requests[5];
  for (int record = 0; record < 5; ++record) {
    fill(bytes[record], BYTES, record);
    CALL(MPI_File_iwrite_shared(file, bytes[record], BYTES, MPI_BYTE, &requests[record]));
  }
  CALL(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
  sync_all(file);
  say_sorted(file, 5 * ranks);
  barrier();
  CALL(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  MPI_Status status;
  CALL(MPI_File_iread_shared(file, bytes[0], BYTES, MPI_BYTE, &requests[0]));
  CALL(MPI_Wait(&requests[0], &status));
  say_count("iread_shared", &status);
  barrier();
  say_shared("read", file);
  close_file(&file);
}

CASE(shared_ordered, "write_ordered, read_ordered: parts of different sizes in the order of the ranks") {
  MPI_File file = open_new("data");
  char bytes[BYTES];
  MPI_Status status;
  for (int part = 0; part < 3; ++part) {
    fill(bytes, BYTES, part);
    CALL(MPI_File_write_ordered(file, bytes, 40 + 60 * rank, MPI_BYTE, &status));
    say_count("write_ordered", &status);
  }
  say_shared("written", file);
  sync_all(file);
  CALL(MPI_File_seek_shared(file, 10, MPI_SEEK_SET));
  memset(bytes, 0, BYTES);
  CALL(MPI_File_read_ordered(file, bytes, 100, MPI_BYTE, &status));
  say_bytes("read_ordered", bytes, 100);
  say_shared("read", file);
  close_file(&file);
}

CASE(shared_ordered_read_at_once, "read_ordered of what write_at_all has written, without anything between") {
  MPI_File file = open_new("data");
  char bytes[BYTES];
  for (int round = 0; round < 20; ++round) {
    fill(bytes, BYTES, round);
    CALL(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CALL(MPI_File_write_at_all(file, (MPI_Offset)BYTES * (ranks - 1 - rank), bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    memset(bytes, 0, BYTES);
    CALL(MPI_File_read_ordered(file, bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    say_bytes("read_ordered", bytes, BYTES);
  }
  close_file(&file);
}

CASE(shared_through_a_view, "ordered and shared writes, where all ranks have the same strided view") {
  MPI_File file = open_prefilled("data");
  MPI_Datatype stripes;
  int numbers[50];
  MPI_Type_vector(4, 2, 5, MPI_INT, &stripes);
  stripes = commit(stripes);
  CALL(MPI_File_set_view(file, 16, MPI_INT, stripes, "native", MPI_INFO_NULL));
  fill(numbers, sizeof numbers, 0);
  CALL(MPI_File_write_ordered(file, numbers, 10 + rank, MPI_INT, MPI_STATUS_IGNORE));
  say_shared("written", file);
  barrier();
  if (rank == ranks - 1) CALL(MPI_File_write_shared(file, numbers, 7, MPI_INT, MPI_STATUS_IGNORE));
  barrier();
  say_shared("written", file);
  CALL(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
  sync_all(file);
  CALL(MPI_File_read_ordered(file, numbers, 9, MPI_INT, MPI_STATUS_IGNORE));
  say_bytes("read_ordered", numbers, 9 * sizeof numbers[0]);
  close_file(&file);
  MPI_Type_free(&stripes);
}

CASE(shared_seek, "seek_shared: SET, CUR, END") {
  MPI_File file = open_new("data");
  char bytes[BYTES];
  fill(bytes, BYTES, 0);
  CALL(MPI_File_write_ordered(file, bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  barrier();
  CALL(MPI_File_seek_shared(file, -20, MPI_SEEK_CUR));
  say_shared("CUR - 20", file);
  sync_all(file);
  CALL(MPI_File_seek_shared(file, 0, MPI_SEEK_END));
  say_shared("END", file);
  CALL(MPI_File_seek_shared(file, 5, MPI_SEEK_SET));
  say_shared("SET 5", file);
  close_file(&file);
}
