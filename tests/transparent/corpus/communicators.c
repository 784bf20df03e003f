// SPDX-License-Identifier: BSD-3-Clause
// Which ranks open a file, and which take part.
#include "case.h"

#include <stdio.h>

static void write_part(MPI_File file, int place, int tag) {
  char bytes[500];
  fill(bytes, sizeof bytes, tag);
  CALL(MPI_File_write_at_all(file, (MPI_Offset)sizeof bytes * place, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

CASE(communicators_self, "a file for each rank, on MPI_COMM_SELF") {
  char name[40];
  snprintf(name, sizeof name, "of-%d", rank);
  MPI_File file = open_file(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  for (int part = 0; part <= rank; ++part) write_part(file, part, part);
  close_file(&file);
  barrier();
  snprintf(name, sizeof name, "of-%d", (rank + 1) % ranks);
  file = open_file(MPI_COMM_SELF, name, MPI_MODE_RDONLY);
  MPI_Offset size = -1;
  CALL(MPI_File_get_size(file, &size));
  say("neighbour's: %lld bytes", (long long)size);
  close_file(&file);
}

CASE(communicators_same_file_alone, "all ranks open the same file on MPI_COMM_SELF, and write their own parts") {
  MPI_File file = open_file(MPI_COMM_SELF, "data", MPI_MODE_CREATE | MPI_MODE_RDWR);
  write_part(file, rank, 0);
  write_part(file, ranks + rank, 1);
  close_file(&file);
  barrier();
  say_file("data");
}

CASE(communicators_split, "a file for each half, and one of all, open at the same time") {
  MPI_Comm half;
  int place;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_rank(half, &place);
  MPI_File all = open_new("all");
  MPI_File file = open_file(half, rank % 2 ? "odd" : "even", MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Comm_free(&half);  // a file keeps its communicator
  for (int turn = 0; turn < 3; ++turn) {
    write_part(file, 3 * place + turn, turn);
    write_part(all, ranks * turn + rank, turn);
  }
  close_file(&file);
  write_part(all, 3 * ranks + rank, 3);
  close_file(&all);
}

CASE(communicators_reversed, "the ranks in reverse order") {
  MPI_Comm reversed;
  char bytes[90];
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  MPI_File file = open_file(reversed, "data", MPI_MODE_CREATE | MPI_MODE_RDWR);
  fill(bytes, sizeof bytes, 0);
  CALL(MPI_File_write_ordered(file, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  close_file(&file);
  MPI_Comm_free(&reversed);
}

CASE(communicators_some, "some ranks open no file at all, and are busy elsewhere") {
  MPI_Comm some;
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0 ? 0 : MPI_UNDEFINED, rank, &some);
  if (some != MPI_COMM_NULL) {
    MPI_File file = open_file(some, "data", MPI_MODE_CREATE | MPI_MODE_RDWR);
    write_part(file, rank - 1, 0);
    close_file(&file);
    MPI_Comm_free(&some);
  }
}

CASE(communicators_empty_part, "collective calls in which some ranks have nothing to write or read") {
  MPI_File file = open_new("data");
  char bytes[300];
  MPI_Status status;
  fill(bytes, sizeof bytes, 0);
  CALL(MPI_File_write_at_all(file, 300 * rank, bytes, rank % 2 ? 300 : 0, MPI_BYTE, &status));
  CALL(MPI_File_write_all(file, rank ? NULL : bytes, rank ? 0 : 300, MPI_BYTE, &status));
  CALL(MPI_File_write_ordered(file, bytes, 0, MPI_BYTE, &status));
  sync_all(file);
  CALL(MPI_File_read_at_all(file, 300, bytes, rank == 2 ? 300 : 0, MPI_BYTE, &status));
  if (rank == 2) say_bytes("read_at_all", bytes, 300);
  close_file(&file);
}

CASE(communicators_no_rank_writes, "a file that is opened, and closed again") {
  MPI_File file = open_new("data");
  close_file(&file);
  say_file("data");
}

CASE(communicators_one_writes, "one rank writes everything, the others only open and close") {
  MPI_File file = open_new("data");
  char bytes[500];
  for (int part = 0; part < 100 && rank == ranks - 1; ++part) {
    fill(bytes, sizeof bytes, part);
    CALL(MPI_File_write(file, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  close_file(&file);
}

CASE(communicators_one_writes_collectively, "one rank has all the data of collective writes") {
  MPI_File file = open_new("data");
  static char bytes[20000];
  fill(bytes, sizeof bytes, 0);
  for (int part = 0; part < 5; ++part) {
    const int count = part % ranks == rank ? (int)sizeof bytes : 0;
    CALL(MPI_File_write_at_all(file, 20000 * part, bytes, count, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  close_file(&file);
}

static int copied = 0, deleted = 0;

static int copy_attribute(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  *(void**)out = in;
  *flag = 1;
  ++copied;
  return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

CASE(communicators_attributes, "attributes of the communicator are not kept when its file is closed") {
  MPI_Comm comm;
  int key;
  MPI_Comm_split(MPI_COMM_WORLD, 0, (rank + 1) % ranks, &comm);  // as no other case
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
  MPI_Comm_set_attr(comm, key, &copied);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_File file = open_file(comm, turn ? "second" : "first", MPI_MODE_CREATE | MPI_MODE_RDWR);
    write_part(file, rank, turn);
    close_file(&file);
    say("kept: %d", copied - deleted);
  }
  MPI_Comm_free(&comm);
  say("deleted once more: %d", deleted - copied);
  MPI_Comm_free_keyval(&key);
}
