// SPDX-License-Identifier: BSD-3-Clause
// Access modes, and when the ranks see each other's bytes.
#include "case.h"

#include <stdio.h>
#include <unistd.h>

static void write_row(MPI_File file, int tag) {
  char bytes[700];
  fill(bytes, sizeof bytes, tag);
  CALL(MPI_File_write_at_all(file, (MPI_Offset)sizeof bytes * rank, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void say_neighbour(const char* what, MPI_File file) {
  char bytes[700];
  MPI_Status status;
  CALL(MPI_File_read_at(file, (MPI_Offset)sizeof bytes * ((rank + 1) % ranks), bytes, sizeof bytes, MPI_BYTE, &status));
  say_bytes(what, bytes, sizeof bytes);
}

CASE(modes_delete_on_close, "DELETE_ON_CLOSE: readable while open, gone afterwards") {
  MPI_File file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  write_row(file, 0);
  sync_all(file);
  say_neighbour("while open", file);
  barrier();
  close_file(&file);
  barrier();
  say("there: %d", access(path("data"), F_OK) == 0);
}

CASE(modes_excl, "EXCL: a new file, and an error if there is one, also while it is open") {
  MPI_File file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR), again = MPI_FILE_NULL;
  char name[20];
  write_row(file, 0);
  CALL(MPI_File_open(MPI_COMM_WORLD, path("data"), MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL, &again));
  snprintf(name, sizeof name, "own-%d", rank);
  MPI_File own = open_file(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CALL(MPI_File_open(MPI_COMM_SELF, path(name), MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, MPI_INFO_NULL, &again));
  close_file(&own);
  close_file(&file);
  file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR);
  say("opened: %d", file != MPI_FILE_NULL);
}

CASE(modes_sequential, "SEQUENTIAL: only shared pointers") {
  MPI_File file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  char bytes[100];
  for (int part = 0; part < 3; ++part) {
    fill(bytes, sizeof bytes, part);
    CALL(MPI_File_write_ordered(file, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CALL(MPI_File_write_at(file, 0, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  CALL(MPI_File_seek(file, 0, MPI_SEEK_SET));
  close_file(&file);
}

CASE(modes_unique_open, "UNIQUE_OPEN") {
  MPI_File file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN);
  write_row(file, 0);
  close_file(&file);
}

CASE(modes_sync, "sync, barrier, sync: a rank reads what another one wrote, turn by turn") {
  MPI_File file = open_new("data");
  for (int turn = 0; turn < 5; ++turn) {
    char bytes[700];
    fill(bytes, sizeof bytes, turn);
    if (turn % 2) {
      CALL(MPI_File_write_at(file, (MPI_Offset)sizeof bytes * rank, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    } else {
      CALL(MPI_File_seek(file, (MPI_Offset)sizeof bytes * rank, MPI_SEEK_SET));
      CALL(MPI_File_write_all(file, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    sync_all(file);
    say_neighbour("neighbour's", file);
    sync_all(file);
  }
  close_file(&file);
}

CASE(modes_own_bytes, "a rank reads what it wrote itself, without a sync, over and over") {
  MPI_File file = open_new("data");
  char bytes[300];
  for (int turn = 0; turn < 10; ++turn) {
    fill(bytes, sizeof bytes, turn);
    CALL(MPI_File_write_at(file, 3000 * rank + 50 * turn, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CALL(MPI_File_read_at(file, 3000 * rank + 25 * turn, bytes, 200, MPI_BYTE, MPI_STATUS_IGNORE));
    say_bytes("own", bytes, 200);
  }
  close_file(&file);
}

CASE(modes_own_collective_bytes, "a rank reads what it wrote itself collectively, without a sync") {
  MPI_File file = open_new("data");
  char bytes[300];
  for (int turn = 0; turn < 20; ++turn) {
    fill(bytes, sizeof bytes, turn);
    CALL(MPI_File_write_at_all(file, 300 * (turn * ranks + rank), bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CALL(MPI_File_read_at(file, 300 * (turn * ranks + rank), bytes, 300, MPI_BYTE, MPI_STATUS_IGNORE));
    say_bytes("own", bytes, 300);
  }
  close_file(&file);
}

CASE(modes_atomic, "atomic mode: a barrier is enough, and overlapping writes do not mix") {
  MPI_File file = open_new("data");
  char bytes[700];
  CALL(MPI_File_set_atomicity(file, 1));
  write_row(file, 0);
  barrier();
  say_neighbour("after a barrier", file);
  barrier();
  fill(bytes, sizeof bytes, 1);
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (char)('a' + rank);
  CALL(MPI_File_write_at(file, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  barrier();
  CALL(MPI_File_read_at(file, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  int mixed = 0;
  for (size_t i = 1; i < sizeof bytes; ++i) mixed += bytes[i] != bytes[0];
  say("mixed: %d", mixed);
  barrier();
  if (rank == 0) write_row(file, 2);  // the winner is left open: cover it
  else write_row(file, 3);
  close_file(&file);
}

CASE(modes_reopen, "what was written is there after the file is opened again, to read only") {
  MPI_File file = open_new("data");
  write_row(file, 0);
  close_file(&file);
  file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_RDONLY);
  say_neighbour("opened again", file);
  close_file(&file);
  file = open_file(MPI_COMM_SELF, "data", MPI_MODE_RDONLY);
  say_neighbour("opened again alone", file);
  close_file(&file);
}

CASE(modes_write_only, "WRONLY: strided writes, whose holes cannot be read to fill them") {
  MPI_File file = open_new("data");
  char bytes[700];
  MPI_Datatype stripes;
  write_row(file, 0);
  close_file(&file);
  file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_WRONLY);
  MPI_Type_vector(20, 3, 3 * ranks + 1, MPI_BYTE, &stripes);
  stripes = commit(stripes);
  fill(bytes, sizeof bytes, 1);
  CALL(MPI_File_set_view(file, 3 * rank, MPI_BYTE, stripes, "native", MPI_INFO_NULL));
  CALL(MPI_File_write_all(file, bytes, 60, MPI_BYTE, MPI_STATUS_IGNORE));
  close_file(&file);
  MPI_Type_free(&stripes);
}

CASE(modes_two_handles, "the same file open twice: bytes go from one handle to the other by sync") {
  MPI_File writer = open_new("data");
  MPI_File reader = open_file(MPI_COMM_WORLD, "data", MPI_MODE_RDONLY);
  for (int turn = 0; turn < 3; ++turn) {
    write_row(writer, turn);
    CALL(MPI_File_sync(writer));
    CALL(MPI_File_sync(reader));
    barrier();
    CALL(MPI_File_sync(reader));
    say_neighbour("other handle", reader);
    barrier();
  }
  close_file(&reader);
  close_file(&writer);
}

CASE(modes_overwrite, "an existing longer file: its tail stays, unless it is cut or deleted first") {
  char bytes[100];
  for (int turn = 0; turn < 2; ++turn) {
    const char* name = turn ? "deleted" : "cut";
    MPI_File file = open_new(name);
    write_row(file, turn);
    close_file(&file);
    file = open_new(name);
    fill(bytes, sizeof bytes, 10);
    CALL(MPI_File_write_at_all(file, 100 * rank, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(&file);
    say_file(name);
    barrier();
    if (turn) {
      if (rank == 0) CALL(MPI_File_delete(path(name), MPI_INFO_NULL));
      barrier();
    }
    file = open_new(name);
    if (!turn) CALL(MPI_File_set_size(file, 0));
    CALL(MPI_File_write_at_all(file, 50 * rank, bytes, 50, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(&file);
    say_file(name);
  }
}
