// SPDX-License-Identifier: BSD-3-Clause
// One file, several handles at a time: of different communicators, and under different names.
#include "case.h"

#include <stdio.h>
#include <unistd.h>

static MPI_Comm half(void) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
  return comm;
}

static void write_at(MPI_File file, MPI_Offset offset, int bytes, int tag) {
  char buffer[20000];
  fill(buffer, (size_t)bytes, tag);
  CALL(MPI_File_write_at(file, offset, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void say_at(MPI_File file, MPI_Offset offset, int bytes) {
  char buffer[20000];
  CALL(MPI_File_read_at(file, offset, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  say_bytes("read", buffer, (size_t)bytes);
}

// The even ranks fill the file, each for its neighbour too; the odd ones, which are not among them, then write over their parts.
static void even_then_odd(const char* first, const char* second, int amode, int syncs) {
  MPI_Comm comm = half();
  MPI_File file = MPI_FILE_NULL;
  if (rank % 2 == 0) {
    char zeros[2000] = "";
    file = open_file(comm, first, amode);
    CALL(MPI_File_write_at_all(file, 1000 * rank, zeros, sizeof zeros, MPI_BYTE, MPI_STATUS_IGNORE));
    if (syncs) CALL(MPI_File_sync(file));
  }
  barrier();
  if (rank % 2 == 1) {
    file = open_file(MPI_COMM_SELF, second, MPI_MODE_RDWR);
    say_at(file, 1000 * (rank - 1), 2000);
    write_at(file, 1000 * rank, 1000, 1);
    if (syncs) CALL(MPI_File_sync(file));
    close_file(&file);
  }
  barrier();
  if (rank % 2 == 0) close_file(&file);
  MPI_Comm_free(&comm);
  barrier();
  file = open_file(MPI_COMM_WORLD, first, MPI_MODE_RDONLY);
  say_at(file, 1000 * rank, 1000);
  close_file(&file);
}

CASE(handles_even_then_odd, "ranks that have not created the file write over what others have written") {
  even_then_odd("data", "data", MPI_MODE_CREATE | MPI_MODE_RDWR, 0);
}

CASE(handles_even_then_odd_sync, "the same, with MPI_File_sync") {
  even_then_odd("data", "data", MPI_MODE_CREATE | MPI_MODE_RDWR, 1);
}

CASE(handles_symbolic_link, "the second handle is opened by a symbolic link") {
  if (rank == 0 && symlink("data", path("link")) != 0) say("no link");
  barrier();
  even_then_odd("data", "link", MPI_MODE_CREATE | MPI_MODE_RDWR, 0);
}

CASE(handles_relative, "the second handle is opened by another spelling of the name") {
  even_then_odd("data", "../handles_relative/./data", MPI_MODE_CREATE | MPI_MODE_RDWR, 0);
}

CASE(handles_hard_link, "an old file, and the second handle by a hard link") {
  MPI_File file = open_prefilled("data");
  close_file(&file);
  barrier();
  if (rank == 0 && link(path("data"), path("hard")) != 0) say("no link");
  barrier();
  even_then_odd("data", "hard", MPI_MODE_RDWR, 0);
}

// A block of the file that both have parts of, again and again, each time in another order.
CASE(handles_in_turns, "two communicators write the same blocks in turns") {
  MPI_Comm comm = half();
  MPI_File file = MPI_FILE_NULL;
  if (rank % 2 == 0) file = open_file(comm, "data", MPI_MODE_CREATE | MPI_MODE_RDWR);
  barrier();
  if (rank % 2 == 1) file = open_file(comm, "data", MPI_MODE_RDWR);
  for (int turn = 0; turn < 8; ++turn) {
    const int writes = rank % 2 == turn % 2;
    if (writes) write_at(file, 9000 * (rank / 2) + 700 * turn, turn % 3 == 0 ? 5000 : 100, turn);
    barrier();
    if (!writes) say_at(file, 9000 * (rank / 2) + 700 * turn, 100);
    barrier();
  }
  close_file(&file);
  MPI_Comm_free(&comm);
  barrier();
  say_file("data");
}

CASE(handles_read_only, "the second handle only reads, also what is written after it was opened") {
  MPI_Comm comm = half();
  MPI_File file = MPI_FILE_NULL;
  if (rank % 2 == 0) {
    file = open_file(comm, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY);
    write_at(file, 3000 * rank, 3000, 0);
  }
  barrier();
  if (rank % 2 == 1) {
    file = open_file(MPI_COMM_SELF, "data", MPI_MODE_RDONLY);
    say_at(file, 3000 * (rank - 1), 3000);
  }
  barrier();
  if (rank % 2 == 0) write_at(file, 3000 * rank + 100, 5000, 1);
  barrier();
  if (rank % 2 == 1) say_at(file, 3000 * (rank - 1), 5100);
  close_file(&file);
  MPI_Comm_free(&comm);
}

CASE(handles_size, "the second handle cuts the file") {
  MPI_Comm comm = half();
  MPI_File file = MPI_FILE_NULL;
  MPI_Offset size = -1;
  if (rank % 2 == 0) {
    file = open_file(comm, "data", MPI_MODE_CREATE | MPI_MODE_RDWR);
    write_at(file, 4000 * rank, 8000, 0);
  }
  barrier();
  if (rank % 2 == 1) {
    file = open_file(comm, "data", MPI_MODE_RDWR);
    CALL(MPI_File_set_size(file, 2500));
  }
  barrier();
  CALL(MPI_File_get_size(file, &size));
  say("%lld bytes", (long long)size);
  barrier();
  if (rank == 0) write_at(file, 2000, 1000, 1);
  barrier();
  close_file(&file);
  MPI_Comm_free(&comm);
}

CASE(handles_twice_of_some, "ranks that have it open with all open it once more with some") {
  MPI_Comm comm = half();
  MPI_File all = open_new("data");
  char bytes[3000];
  fill(bytes, sizeof bytes, 0);
  CALL(MPI_File_write_at_all(all, 3000 * rank, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  barrier();
  MPI_File some = MPI_FILE_NULL;
  if (rank % 2 == 1) {
    some = open_file(comm, "data", MPI_MODE_RDWR);
    write_at(some, 3000 * (rank - 1) + 50, 100, 1);
  }
  barrier();
  write_at(all, 3000 * ((rank + 1) % ranks) + 100, 100, 2);
  barrier();
  if (rank % 2 == 1) close_file(&some);
  write_at(all, 3000 * rank + 2990, 10, 3);
  close_file(&all);
  MPI_Comm_free(&comm);
}

CASE(handles_to_read, "new files that all have open, and open to read all at the same time") {
  for (int number = 0; number < 5; ++number) {
    char name[20];
    snprintf(name, sizeof name, "data%d", number);
    MPI_File file = open_new(name), again;
    write_at(file, 1000 * rank, 1000, number);
    sync_all(file);
    again = open_file(MPI_COMM_WORLD, name, MPI_MODE_RDONLY);
    say_at(again, 1000 * ((rank + 1) % ranks), 1000);
    close_file(&again);
    close_file(&file);
  }
}

CASE(handles_passed, "the file is written by a name with a prefix first, then by a plain one") {
  MPI_Comm comm = half();
  char name[1100];
  MPI_File file = MPI_FILE_NULL;
  snprintf(name, sizeof name, "ufs:%s", path("data"));
  if (rank % 2 == 1) CALL(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  barrier();
  if (rank % 2 == 0) {
    file = open_file(comm, "data", MPI_MODE_RDWR);
    write_at(file, 3000 * rank, 6000, 0);
  }
  barrier();
  if (rank % 2 == 1) write_at(file, 3000 * (rank - 1) + 1000, 3000, 1);
  barrier();
  close_file(&file);
  MPI_Comm_free(&comm);
}

CASE(handles_prefix, "the second handle is opened by a name with a prefix") {
  MPI_Comm comm = half();
  char name[1100];
  MPI_File file = MPI_FILE_NULL;
  snprintf(name, sizeof name, "ufs:%s", path("data"));
  if (rank % 2 == 0) {
    file = open_file(comm, "data", MPI_MODE_CREATE | MPI_MODE_RDWR);
    write_at(file, 3000 * rank, 6000, 0);
  }
  barrier();
  if (rank % 2 == 1) {
    CALL(MPI_File_open(comm, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    write_at(file, 3000 * (rank - 1) + 1000, 3000, 1);
  }
  barrier();
  close_file(&file);
  MPI_Comm_free(&comm);
}

CASE(handles_made_by_one, "one rank makes the file and allocates it, all write it") {
  MPI_File file = MPI_FILE_NULL;
  if (rank == 0) {
    file = open_file(MPI_COMM_SELF, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY);
    CALL(MPI_File_set_size(file, 40000));
    CALL(MPI_File_preallocate(file, 40000));
    close_file(&file);
  }
  barrier();
  for (int turn = 0; turn < 2; ++turn) {
    file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_RDWR);
    write_at(file, 2000 * (2 * rank + turn), 1000, turn);
    close_file(&file);
    barrier();
  }
  say_file("data");
}

enum switched { first_before, first_after, second_after };

// Handles of all ranks and of each rank alone write over the same bytes in turns. One of them is switched to atomic mode, before or after
// the second one is opened; that is opened again for each write, with all the syncs that MPI asks for, or it stays open, and there are only
// barriers.
static void atomic_in_turns(enum switched switched, int stays_open) {
  MPI_File all = open_new("data"), own = MPI_FILE_NULL;
  write_at(all, 3000 * rank, 3000, 0);
  if (switched == first_before) CALL(MPI_File_set_atomicity(all, 1));
  if (stays_open) own = open_file(MPI_COMM_SELF, "data", MPI_MODE_RDWR);
  if (switched == first_after) CALL(MPI_File_set_atomicity(all, 1));
  if (switched == second_after && rank % 2 == 0) CALL(MPI_File_set_atomicity(own, 1));
  for (int turn = 0; turn < 4; ++turn) {
    const MPI_Offset place = 3000 * ((rank + turn) % ranks) + 135 + 100 * turn;
    if (stays_open) barrier();
    else sync_all(all);
    if (!stays_open) own = open_file(MPI_COMM_SELF, "data", MPI_MODE_RDWR);
    write_at(own, place, 299, 2 * turn + 1);
    if (!stays_open) close_file(&own);
    barrier();
    if (!stays_open) CALL(MPI_File_sync(all));
    write_at(all, 3000 * ((rank + turn + 1) % ranks) + 185 + 100 * turn, 30, 2 * turn + 2);
  }
  barrier();
  if (stays_open) close_file(&own);
  close_file(&all);
}

CASE(handles_atomic, "the first handle is in atomic mode when each rank opens a second one, again and again") {
  atomic_in_turns(first_before, 0);
}

CASE(handles_atomic_stays, "the first handle is in atomic mode when each rank opens a second one that stays open") {
  atomic_in_turns(first_before, 1);
}

CASE(handles_atomic_after, "the first handle is switched to atomic mode when each rank has opened a second one") {
  atomic_in_turns(first_after, 1);
}

CASE(handles_atomic_second, "the second handles of some ranks are switched to atomic mode") {
  atomic_in_turns(second_after, 1);
}
