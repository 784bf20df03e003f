// SPDX-License-Identifier: BSD-3-Clause
// Data access with explicit offsets: each call of the family, written by one rank, read by its neighbour.
#include "case.h"

enum { BYTES = 3000 };

static MPI_Offset mine(int part) { return ((MPI_Offset)part * ranks + rank) * BYTES; }
static MPI_Offset next(int part) { return ((MPI_Offset)part * ranks + (rank + 1) % ranks) * BYTES; }

CASE(offsets_blocking, "write_at, read_at") {
  MPI_File file = open_new("data");
  char buffer[BYTES];
  MPI_Status status;
  for (int part = 0; part < 3; ++part) {
    fill(buffer, BYTES, part);
    CALL(MPI_File_write_at(file, mine(part), buffer, BYTES, MPI_BYTE, &status));
    say_count("write_at", &status);
  }
  sync_all(file);
  for (int part = 2; part >= 0; --part) {
    CALL(MPI_File_read_at(file, next(part), buffer, BYTES, MPI_BYTE, &status));
    say_count("read_at", &status);
    say_bytes("read_at", buffer, BYTES);
  }
  CALL(MPI_File_write_at(file, mine(3), buffer, 0, MPI_BYTE, MPI_STATUS_IGNORE));
  close_file(&file);
}

CASE(offsets_collective, "write_at_all, read_at_all") {
  MPI_File file = open_new("data");
  char buffer[BYTES];
  MPI_Status status;
  for (int part = 0; part < 3; ++part) {
    fill(buffer, BYTES, part);
    CALL(MPI_File_write_at_all(file, mine(part), buffer, BYTES, MPI_BYTE, &status));
    say_count("write_at_all", &status);
  }
  sync_all(file);
  for (int part = 2; part >= 0; --part) {
    CALL(MPI_File_read_at_all(file, next(part), buffer, BYTES, MPI_BYTE, &status));
    say_count("read_at_all", &status);
    say_bytes("read_at_all", buffer, BYTES);
  }
  close_file(&file);
}

CASE(offsets_nonblocking, "iwrite_at, iread_at with Wait, Test, Waitall, Waitany") {
  enum { PARTS = 6 };
  MPI_File file = open_new("data");
  char buffers[PARTS][BYTES];
  MPI_Request requests[PARTS];
  MPI_Status statuses[PARTS];
  for (int part = 0; part < PARTS; ++part) {
    fill(buffers[part], BYTES, part);
    CALL(MPI_File_iwrite_at(file, mine(part), buffers[part], BYTES, MPI_BYTE, &requests[part]));
  }
  CALL(MPI_Wait(&requests[0], &statuses[0]));
  say_count("Wait", &statuses[0]);
  for (int done = 0; !done;) CALL(MPI_Test(&requests[1], &done, &statuses[1]));
  say_count("Test", &statuses[1]);
  CALL(MPI_Waitall(PARTS - 2, requests + 2, statuses + 2));
  say_count("Waitall", &statuses[PARTS - 1]);
  sync_all(file);
  char others[PARTS][BYTES];
  for (int part = 0; part < PARTS; ++part) {
    CALL(MPI_File_iread_at(file, next(part), others[part], BYTES, MPI_BYTE, &requests[part]));
  }
  for (int part = 0; part < PARTS; ++part) {
    int which;
    CALL(MPI_Waitany(PARTS, requests, &which, MPI_STATUS_IGNORE));
  }
  say_bytes("iread_at", others, sizeof others);
  close_file(&file);
}

CASE(offsets_nonblocking_collective, "iwrite_at_all, iread_at_all") {
  MPI_File file = open_new("data");
  char first[BYTES], second[BYTES];
  MPI_Request requests[2];
  MPI_Status statuses[2];
  fill(first, BYTES, 0);
  fill(second, BYTES, 1);
  CALL(MPI_File_iwrite_at_all(file, mine(0), first, BYTES, MPI_BYTE, &requests[0]));
  CALL(MPI_Wait(&requests[0], &statuses[0]));
  CALL(MPI_File_iwrite_at_all(file, mine(1), second, BYTES, MPI_BYTE, &requests[1]));
  CALL(MPI_Wait(&requests[1], &statuses[1]));
  say_count("iwrite_at_all", &statuses[0]);
  say_count("iwrite_at_all", &statuses[1]);
  sync_all(file);
  CALL(MPI_File_iread_at_all(file, next(0), first, BYTES, MPI_BYTE, &requests[0]));
  CALL(MPI_Wait(&requests[0], &statuses[0]));
  CALL(MPI_File_iread_at_all(file, next(1), second, BYTES, MPI_BYTE, &requests[1]));
  CALL(MPI_Wait(&requests[1], &statuses[1]));
  say_bytes("iread_at_all", first, BYTES);
  say_bytes("iread_at_all", second, BYTES);
  close_file(&file);
}

CASE(offsets_beyond_the_end, "reads that meet the end of the file") {
  MPI_File file = open_new("data");
  char buffer[BYTES];
  MPI_Status status;
  fill(buffer, BYTES, 0);
  if (rank == 0) CALL(MPI_File_write_at(file, 0, buffer, 1000, MPI_BYTE, &status));
  sync_all(file);
  fill(buffer, BYTES, 7);
  CALL(MPI_File_read_at(file, 600, buffer, BYTES, MPI_BYTE, &status));
  say_count("across the end", &status);
  say_bytes("across the end", buffer, 400);
  CALL(MPI_File_read_at(file, 1000, buffer, BYTES, MPI_BYTE, &status));
  say_count("at the end", &status);
  CALL(MPI_File_read_at(file, 5000, buffer, BYTES, MPI_BYTE, &status));
  say_count("behind the end", &status);
  CALL(MPI_File_read_at_all(file, 200 * (rank + 3), buffer, 300, MPI_BYTE, &status));
  close_file(&file);
}
