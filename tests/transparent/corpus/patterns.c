// SPDX-License-Identifier: BSD-3-Clause
// What whole programs do with their files.
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CASE(patterns_tiny_writes, "thousands of independent writes of a few bytes") {
  MPI_File file = open_new("data");
  unsigned char bytes[16];
  for (int i = 0; i < 3000; ++i) {
    fill(bytes, sizeof bytes, i);
    const int count = 1 + i % 16;
    CALL(MPI_File_write_at(file, (MPI_Offset)16 * (i * ranks + rank), bytes, count, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  close_file(&file);
}

CASE(patterns_tiny_writes_in_sequence, "thousands of writes that follow each other, by the pointer") {
  MPI_File file = open_new("data");
  CALL(MPI_File_seek(file, (MPI_Offset)40000 * rank, MPI_SEEK_SET));
  for (int i = 0; i < 5000; ++i) {
    const double number = rank + i / 5000.0;
    CALL(MPI_File_write(file, &number, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
  }
  close_file(&file);
}

CASE(patterns_tiny_collective, "hundreds of collective writes of a few bytes") {
  MPI_File file = open_new("data");
  for (int i = 0; i < 200; ++i) {
    const int number = 1000 * rank + i;
    CALL(MPI_File_write_at_all(file, (MPI_Offset)4 * (i * ranks + rank), &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  }
  close_file(&file);
}

CASE(patterns_several_files, "eight files open at once, written in turn") {
  MPI_File files[8];
  char name[20], bytes[256];
  for (int i = 0; i < 8; ++i) {
    snprintf(name, sizeof name, "data-%d", i);
    files[i] = open_new(name);
  }
  for (int turn = 0; turn < 4; ++turn) {
    for (int i = 0; i < 8; ++i) {
      fill(bytes, sizeof bytes, 10 * turn + i);
      CALL(MPI_File_write_at_all(files[i], (256 - i) * (turn * ranks + rank), bytes, 256 - i, MPI_BYTE, MPI_STATUS_IGNORE));
    }
  }
  for (int i = 7; i >= 0; --i) close_file(&files[i]);
}

CASE(patterns_many_files, "fifty files, one after the other") {
  char name[20];
  for (int i = 0; i < 50; ++i) {
    snprintf(name, sizeof name, "data-%02d", i);
    MPI_File file = open_new(name);
    const int number = 100 * rank + i;
    CALL(MPI_File_write_at_all(file, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(&file);
  }
}

CASE(patterns_checkpoints, "checkpoints in turn: written beside, renamed over the old one, read at the restart") {
  double* state = malloc(1000 * sizeof *state);
  for (int i = 0; i < 1000; ++i) state[i] = rank;
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 1000; ++i) state[i] += i * step;
    MPI_File file = open_new("checkpoint.new");
    const int header[2] = {step, ranks};
    if (rank == 0) CALL(MPI_File_write_at(file, 0, header, 2, MPI_INT, MPI_STATUS_IGNORE));
    CALL(MPI_File_write_at_all(file, 8 + (MPI_Offset)8000 * rank, state, 1000, MPI_DOUBLE, MPI_STATUS_IGNORE));
    close_file(&file);
    barrier();
    if (rank == 0 && rename(path("checkpoint.new"), path("checkpoint")) != 0) say("rename failed");
    barrier();
  }
  MPI_File file = open_file(MPI_COMM_WORLD, "checkpoint", MPI_MODE_RDONLY);
  int header[2] = {0, 0};
  CALL(MPI_File_read_at_all(file, 0, header, 2, MPI_INT, MPI_STATUS_IGNORE));
  CALL(MPI_File_read_at_all(file, 8 + (MPI_Offset)8000 * ((rank + 1) % ranks), state, 1000, MPI_DOUBLE, MPI_STATUS_IGNORE));
  say("step %d of %d ranks", header[0], header[1]);
  say_bytes("state", state, 1000 * sizeof *state);
  close_file(&file);
  free(state);
}

CASE(patterns_large_blocks, "blocks of 1 MiB, in reverse order") {
  enum { BLOCK = 1 << 20 };
  MPI_File file = open_new("data");
  char* bytes = malloc(BLOCK);
  for (int block = 2; block >= 0; --block) {
    fill(bytes, BLOCK, block);
    CALL(MPI_File_write_at(file, (MPI_Offset)BLOCK * (block * ranks + rank), bytes, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  close_file(&file);
  free(bytes);
}

CASE(patterns_records, "a header by one rank, then records of several variables, as array libraries do") {
  MPI_File file = open_new("data");
  MPI_Datatype slab;
  float values[6 * 4];
  char header[200];
  memset(header, 'h', sizeof header);
  if (rank == 0) CALL(MPI_File_write_at(file, 0, header, sizeof header, MPI_CHAR, MPI_STATUS_IGNORE));
  MPI_Type_create_subarray(2, (int[]){6, 4 * ranks}, (int[]){6, 4}, (int[]){0, 4 * rank}, MPI_ORDER_C, MPI_FLOAT, &slab);
  slab = commit(slab);
  for (int record = 0; record < 5; ++record) {
    for (int variable = 0; variable < 3; ++variable) {
      const MPI_Offset start = 200 + (MPI_Offset)(record * 3 + variable) * 6 * 4 * ranks * (MPI_Offset)sizeof(float);
      fill(values, sizeof values, record * 3 + variable);
      CALL(MPI_File_set_view(file, start, MPI_FLOAT, slab, "native", MPI_INFO_NULL));
      CALL(MPI_File_write_all(file, values, 24, MPI_FLOAT, MPI_STATUS_IGNORE));
    }
    CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    if (rank == 0) CALL(MPI_File_write_at(file, 4, &record, 1, MPI_INT, MPI_STATUS_IGNORE));
  }
  close_file(&file);
  MPI_Type_free(&slab);
}

CASE(patterns_overlap_in_turn, "the ranks overwrite each other's bytes, in turn, a sync between") {
  MPI_File file = open_new("data");
  char bytes[800];
  for (int turn = 0; turn < 2 * ranks; ++turn) {
    if (turn % ranks == rank) {
      fill(bytes, sizeof bytes, turn);
      CALL(MPI_File_write_at(file, 100 * turn, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    sync_all(file);
  }
  close_file(&file);
}

CASE(patterns_overwritten_by_itself, "a rank overwrites its own bytes: the last one stays") {
  MPI_File file = open_new("data");
  char bytes[800];
  for (int turn = 0; turn < 20; ++turn) {
    fill(bytes, sizeof bytes, turn);
    CALL(MPI_File_write_at(file, 2000 * rank + 37 * turn, bytes, 800 - 20 * turn, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  close_file(&file);
}

static unsigned owner_of(unsigned element) { return (element * 2654435761u >> 16) % (unsigned)(ranks + 1); }

CASE(patterns_irregular, "a collective write of many single elements at random places, with gaps, and a second one over some of them") {
  enum { elements = 200000 };
  int* places = malloc(elements * sizeof *places);
  double* numbers = malloc(elements * sizeof *numbers);
  int mine = 0;
  for (int i = 0; i < elements; ++i) {
    if (owner_of((unsigned)i) != (unsigned)rank) continue;   // the last owner is no rank
    places[mine] = i;
    numbers[mine++] = i + rank / 16.0;
  }
  MPI_Datatype type;
  MPI_Type_create_indexed_block(mine, 1, places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_File file = open_new("data");
  double* before = calloc(elements + 5, sizeof *before);   // of what is never written, ROMIO makes anything
  if (rank == 0) CALL(MPI_File_write_at(file, 0, before, elements + 5, MPI_DOUBLE, MPI_STATUS_IGNORE));
  sync_all(file);
  CALL(MPI_File_set_view(file, 40, MPI_DOUBLE, type, "native", MPI_INFO_NULL));
  CALL(MPI_File_write_at_all(file, 0, numbers, mine, MPI_DOUBLE, MPI_STATUS_IGNORE));
  for (int i = 0; i < mine; ++i) numbers[i] = -numbers[i];
  CALL(MPI_File_write_at_all(file, mine / 3, numbers + mine / 3, mine / 3, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CALL(MPI_File_sync(file));
  CALL(MPI_File_read_at_all(file, 5, numbers, mine - 5, MPI_DOUBLE, MPI_STATUS_IGNORE));
  double sum = 0;
  for (int i = 0; i < mine - 5; ++i) sum += numbers[i];
  say("sum %.3f", sum);
  close_file(&file);
  MPI_Type_free(&type);
  free(places);
  free(numbers);
  free(before);
}
