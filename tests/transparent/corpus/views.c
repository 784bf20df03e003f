// SPDX-License-Identifier: BSD-3-Clause
// File views: each way to make a datatype. All go through the same program: write in parts, read back, look at the bytes.
#include "case.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Writes `count` etypes of `etype_bytes` each through the view in three calls, and reads them back in two.
static void through_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, int etype_bytes, int count) {
  const size_t bytes = (size_t)etype_bytes * (size_t)count;
  const int part = count / 3;
  char* data = malloc(bytes);
  char* back = malloc(bytes);
  fill(data, bytes, 0);
  memset(back, 0, bytes);

  MPI_File file = open_prefilled("data");
  MPI_Status status;
  CALL(MPI_File_set_view(file, displacement, etype, filetype, "native", MPI_INFO_NULL));
  CALL(MPI_File_write_all(file, data, part, etype, &status));
  say_count("write_all", &status);
  // ROMIO loses bytes when a rank fills the holes of an independent write while others still write collectively.
  barrier();
  CALL(MPI_File_write(file, data + (size_t)part * (size_t)etype_bytes, part, etype, &status));
  barrier();
  CALL(MPI_File_write_at_all(file, 2 * part, data + 2 * (size_t)part * (size_t)etype_bytes, count - 2 * part, etype, &status));
  say_count("write_at_all", &status);

  MPI_Offset position, offset, size;
  CALL(MPI_File_get_position(file, &position));
  CALL(MPI_File_get_byte_offset(file, count, &offset));
  sync_all(file);
  CALL(MPI_File_get_size(file, &size));
  say("at %lld; %d is byte %lld; %lld bytes", (long long)position, count, (long long)offset, (long long)size);

  CALL(MPI_File_read_at(file, part / 2, back, part, etype, &status));
  say_bytes("read_at", back, (size_t)part * (size_t)etype_bytes);
  CALL(MPI_File_seek(file, 0, MPI_SEEK_SET));
  CALL(MPI_File_read_all(file, back, count, etype, &status));
  say("read back: %s", memcmp(data, back, bytes) == 0 ? "the same" : "something else");
  barrier();
  close_file(&file);
  free(data);
  free(back);
}

static void through(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, int etype_bytes, int count) {
  filetype = commit(filetype);
  through_view(displacement, etype, filetype, etype_bytes, count);
  MPI_Type_free(&filetype);
}

// The type with an extent of so many integers.
static MPI_Datatype tile_of(MPI_Datatype type, int integers) {
  MPI_Datatype tile;
  MPI_Type_create_resized(type, 0, integers * (MPI_Aint)sizeof(int), &tile);
  MPI_Type_free(&type);
  return tile;
}

CASE(views_displacement, "only a displacement") { through_view((MPI_Offset)4000 * rank + 13, MPI_BYTE, MPI_BYTE, 1, 3000); }

CASE(views_contiguous, "contiguous filetype and etype") {
  MPI_Datatype etype, filetype;
  MPI_Type_contiguous(3, MPI_INT, &etype);
  MPI_Type_contiguous(7, etype, &filetype);
  etype = commit(etype);
  through((MPI_Offset)6000 * rank, etype, filetype, 12, 400);
  MPI_Type_free(&etype);
}

CASE(views_vector, "vector, the ranks interleaved") {
  MPI_Datatype type;
  MPI_Type_vector(25, 4, 4 * ranks, MPI_INT, &type);
  through((MPI_Offset)sizeof(int) * 4 * rank, MPI_INT, tile_of(type, 25 * 4 * ranks), 4, 500);
}

CASE(views_hvector, "hvector with a stride that is no multiple of its blocks") {
  MPI_Datatype type;
  MPI_Type_create_hvector(20, 3, 16 * ranks, MPI_INT, &type);
  through((MPI_Offset)16 * rank, MPI_INT, tile_of(type, 20 * 4 * ranks), 4, 300);
}

CASE(views_indexed, "indexed with blocks of different lengths") {
  MPI_Datatype type;
  MPI_Type_indexed(4, (int[]){1, 5, 2, 3}, (int[]){0, 2, 9, 12}, MPI_INT, &type);
  through((MPI_Offset)64 * rank, MPI_INT, tile_of(type, 16 * ranks), 4, 330);
}

CASE(views_hindexed, "hindexed") {
  MPI_Datatype type;
  MPI_Type_create_hindexed(3, (int[]){2, 3, 1}, (MPI_Aint[]){4, 20, 52}, MPI_INT, &type);
  through((MPI_Offset)56 * rank, MPI_INT, tile_of(type, 14 * ranks), 4, 300);
}

CASE(views_indexed_block, "indexed_block") {
  MPI_Datatype type;
  MPI_Type_create_indexed_block(4, 2, (int[]){0, 3, 7, 10}, MPI_INT, &type);
  through((MPI_Offset)48 * rank, MPI_INT, tile_of(type, 12 * ranks), 4, 240);
}

CASE(views_hindexed_block, "hindexed_block") {
  MPI_Datatype type;
  MPI_Type_create_hindexed_block(3, 2, (MPI_Aint[]){0, 12, 24}, MPI_INT, &type);
  through((MPI_Offset)32 * rank, MPI_INT, tile_of(type, 8 * ranks), 4, 240);
}

CASE(views_subarray_rows, "2-D subarray, blocks of rows") {
  MPI_Datatype type;
  MPI_Type_create_subarray(2, (int[]){5 * ranks, 30}, (int[]){5, 30}, (int[]){5 * rank, 0}, MPI_ORDER_C, MPI_DOUBLE, &type);
  through(8, MPI_DOUBLE, type, 8, 300);
}

CASE(views_subarray_columns, "2-D subarray, blocks of columns, Fortran's order") {
  MPI_Datatype type;
  MPI_Type_create_subarray(2, (int[]){6 * ranks, 20}, (int[]){6, 20}, (int[]){6 * rank, 0}, MPI_ORDER_FORTRAN, MPI_INT, &type);
  through(0, MPI_INT, type, 4, 360);
}

CASE(views_subarray_3d, "3-D subarray with halo left out") {
  MPI_Datatype type;
  MPI_Type_create_subarray(3, (int[]){8, 7, 9 * ranks}, (int[]){6, 5, 7}, (int[]){1, 1, 9 * rank + 1}, MPI_ORDER_C, MPI_INT, &type);
  through(0, MPI_INT, type, 4, 420);
}

static void darray(int first, int first_arg, int second, int second_arg, MPI_Offset displacement) {
  MPI_Datatype type;
  int grid[2] = {0, 0}, bytes;
  MPI_Dims_create(ranks, 2, grid);
  const int sizes[2] = {17, 23}, distribution[2] = {first, second}, arguments[2] = {first_arg, second_arg};
  MPI_Type_create_darray(ranks, rank, 2, sizes, distribution, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
  MPI_Type_size(type, &bytes);
  through(displacement, MPI_INT, type, 4, bytes / 4 * 2);
}

CASE(views_darray_block, "darray, block by block") {
  darray(MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, 0);
}

CASE(views_darray_cyclic, "darray, cyclic by cyclic") {
  darray(MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, 40);
}

CASE(views_darray_block_cyclic, "darray, cyclic blocks of 3, and blocks") {
  darray(MPI_DISTRIBUTE_CYCLIC, 3, MPI_DISTRIBUTE_BLOCK, 15, 0);
}

CASE(views_struct, "struct of different lengths over one etype") {
  MPI_Datatype pair, type;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_create_struct(3, (int[]){1, 2, 1}, (MPI_Aint[]){0, 8, 24}, (MPI_Datatype[]){MPI_INT, MPI_INT, pair}, &type);
  through((MPI_Offset)40 * rank, MPI_INT, tile_of(type, 10 * ranks), 4, 250);
  MPI_Type_free(&pair);
}

CASE(views_resized, "an extent larger than the data, and a lower bound that is not 0") {
  MPI_Datatype block, type;
  MPI_Type_contiguous(6, MPI_INT, &block);
  MPI_Type_create_resized(block, -8, 24 * ranks, &type);
  MPI_Type_free(&block);
  through((MPI_Offset)24 * rank, MPI_INT, type, 4, 240);
}

CASE(views_hole_in_front, "a hole before the first byte of each tile") {
  MPI_Datatype type;
  MPI_Type_create_hindexed(1, (int[]){5}, (MPI_Aint[]){12}, MPI_INT, &type);
  through((MPI_Offset)32 * rank, MPI_INT, tile_of(type, 8 * ranks), 4, 200);
}

CASE(views_nested, "vector of indexed of struct") {
  MPI_Datatype inner, middle, outer;
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_INT}, &inner);
  inner = tile_of(inner, 4);
  MPI_Type_indexed(2, (int[]){2, 1}, (int[]){0, 3}, inner, &middle);
  middle = tile_of(middle, 16);
  MPI_Type_vector(3, 1, ranks, middle, &outer);
  through((MPI_Offset)64 * rank, MPI_INT, tile_of(outer, 3 * 16 * ranks), 4, 540);
  MPI_Type_free(&inner);
  MPI_Type_free(&middle);
}

CASE(views_struct_etype, "an etype that is a struct of different types") {
  MPI_Datatype etype, type;
  MPI_Type_create_struct(3, (int[]){1, 1, 2}, (MPI_Aint[]){0, 8, 16}, (MPI_Datatype[]){MPI_DOUBLE, MPI_LONG, MPI_INT}, &etype);
  etype = commit(etype);
  MPI_Type_vector(5, 1, ranks, etype, &type);
  through((MPI_Offset)24 * rank, etype, tile_of(type, 5 * 6 * ranks), 24, 60);
  MPI_Type_free(&etype);
}

CASE(views_different_per_rank, "another shape on each rank, side by side") {
  MPI_Datatype type;
  switch (rank % 3) {
    case 0: MPI_Type_contiguous(100, MPI_INT, &type); break;
    case 1: MPI_Type_vector(10, 5, 10, MPI_INT, &type); break;
    default: MPI_Type_indexed(2, (int[]){30, 20}, (int[]){10, 70}, MPI_INT, &type); break;
  }
  through((MPI_Offset)400 * rank, MPI_INT, tile_of(type, 100 * ranks), 4, 330);
}

CASE(views_one_after_another, "several views of the same open file") {
  MPI_File file = open_new("data");
  MPI_Datatype odd;
  int numbers[60];
  MPI_Type_vector(30, 1, ranks, MPI_INT, &odd);
  odd = commit(tile_of(odd, 30 * ranks));
  for (int turn = 0; turn < 4; ++turn) {
    fill(numbers, sizeof numbers, turn);
    CALL(MPI_File_set_view(file, (MPI_Offset)240 * ranks * turn + 4 * rank, MPI_INT, odd, "native", MPI_INFO_NULL));
    CALL(MPI_File_write_all(file, numbers, 60, MPI_INT, MPI_STATUS_IGNORE));
  }
  MPI_Type_free(&odd);  // a view keeps its type
  barrier();
  CALL(MPI_File_read_at(file, 10, numbers, 20, MPI_INT, MPI_STATUS_IGNORE));
  say_bytes("after the type was freed", numbers, 20 * sizeof numbers[0]);
  CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  sync_all(file);
  CALL(MPI_File_read_at(file, 100, numbers, sizeof numbers, MPI_BYTE, MPI_STATUS_IGNORE));
  say_bytes("without a view", numbers, sizeof numbers);
  close_file(&file);
}

CASE(views_displacement_current, "MPI_DISPLACEMENT_CURRENT without sequential mode is an error; with it, the pointer") {
  MPI_File file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  int numbers[10];
  fill(numbers, sizeof numbers, 0);
  CALL(MPI_File_write_ordered(file, numbers, 10, MPI_INT, MPI_STATUS_IGNORE));
  barrier();
  CALL(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CALL(MPI_File_write_ordered(file, numbers, 5, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
}

CASE(views_are_waited_for, "a new view between writes of different ranks to the same bytes") {
  enum { part = 1000 };
  char data[part];
  MPI_File file = open_new("data");
  const int next = (rank + 1) % ranks;
  for (int round = 0; round < 3; ++round) {
    fill(data, part, 2 * round);
    if (rank == ranks - 1 - round % ranks) usleep(30000);
    CALL(MPI_File_write_at_all(file, rank * part, data, part, MPI_BYTE, MPI_STATUS_IGNORE));
    CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    fill(data, part, 2 * round + 1);
    CALL(MPI_File_write_at_all(file, next * part, data, part, MPI_BYTE, MPI_STATUS_IGNORE));
    CALL(MPI_File_set_view(file, part * ranks, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CALL(MPI_File_write_at_all(file, round * part * ranks + rank * part, data, part, MPI_BYTE, MPI_STATUS_IGNORE));
    CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  }
  close_file(&file);
}
