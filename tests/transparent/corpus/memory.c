// SPDX-License-Identifier: BSD-3-Clause
// Memory datatypes: what is written comes from, and what is read goes to, places that do not follow each other.
#include "case.h"

#include <string.h>

enum { NUMBERS = 2000 };

// Writes and reads `count` of the type, which starts `origin` integers into an array, with blocking, nonblocking and
// collective calls. The bytes between are looked at as well: a read must not touch them.
static void through_memory(MPI_Datatype type, int origin, int count) {
  static int data[NUMBERS], back[NUMBERS];
  int type_bytes;
  MPI_Request request;
  MPI_Status status;
  type = commit(type);
  MPI_Type_size(type, &type_bytes);
  const MPI_Offset part = (MPI_Offset)type_bytes * count;

  MPI_File file = open_new("data");
  fill(data, sizeof data, 0);
  CALL(MPI_File_set_view(file, 3 * part * rank, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CALL(MPI_File_write(file, data + origin, count, type, &status));
  say_count("write", &status);
  CALL(MPI_File_iwrite_at(file, part, data + origin, count, type, &request));
  CALL(MPI_Wait(&request, &status));
  say_count("iwrite_at", &status);
  fill(data, sizeof data, 1);
  CALL(MPI_File_write_at_all(file, 2 * part, data + origin, count, type, &status));

  barrier();  // modes_own_collective_bytes does without

  memset(back, 0x55, sizeof back);
  CALL(MPI_File_read_at(file, 2 * part, back + origin, count, type, &status));
  say_bytes("read_at", back, sizeof back);
  memset(back, 0x55, sizeof back);
  CALL(MPI_File_iread_at(file, 0, back + origin, count, type, &request));
  CALL(MPI_Wait(&request, &status));
  say_bytes("iread_at", back, sizeof back);
  memset(back, 0x55, sizeof back);
  CALL(MPI_File_read_at_all(file, part, back + origin, count, type, &status));
  say_bytes("read_at_all", back, sizeof back);
  close_file(&file);
  MPI_Type_free(&type);
}

CASE(memory_vector, "vector") {
  MPI_Datatype type;
  MPI_Type_vector(20, 3, 7, MPI_INT, &type);
  through_memory(type, 0, 5);
}

CASE(memory_indexed_backwards, "indexed, in falling order") {
  MPI_Datatype type;
  MPI_Type_indexed(4, (int[]){2, 4, 1, 3}, (int[]){40, 20, 10, 0}, MPI_INT, &type);
  through_memory(type, 0, 20);
}

CASE(memory_hindexed_negative, "hindexed, before and behind the buffer's address") {
  MPI_Datatype type;
  MPI_Type_create_hindexed(3, (int[]){2, 5, 1}, (MPI_Aint[]){-80, 0, 44}, MPI_INT, &type);
  through_memory(type, 300, 20);
}

CASE(memory_struct, "struct of integers, doubles and characters") {
  MPI_Datatype type;
  MPI_Type_create_struct(3, (int[]){2, 1, 5}, (MPI_Aint[]){0, 16, 27}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE, MPI_CHAR}, &type);
  through_memory(type, 0, 60);
}

CASE(memory_negative_lower_bound, "resized: lower bound -16, extent 48") {
  MPI_Datatype block, type;
  MPI_Type_vector(2, 2, 4, MPI_INT, &block);
  MPI_Type_create_resized(block, -16, 48, &type);
  MPI_Type_free(&block);
  through_memory(type, 8, 40);
}

CASE(memory_overlapping_extent, "resized: an extent smaller than the data, so that elements interleave") {
  MPI_Datatype block, type;
  MPI_Type_vector(3, 1, 2, MPI_INT, &block);
  MPI_Type_create_resized(block, 0, sizeof(int), &type);
  MPI_Type_free(&block);
  through_memory(type, 0, 2);
}

CASE(memory_subarray, "the inside of an array with a halo") {
  MPI_Datatype type;
  MPI_Type_create_subarray(3, (int[]){8, 9, 10}, (int[]){6, 7, 8}, (int[]){1, 1, 1}, MPI_ORDER_C, MPI_INT, &type);
  through_memory(type, 0, 2);
}

CASE(memory_bottom, "absolute addresses and MPI_BOTTOM") {
  int one[30], two[30];
  MPI_Aint addresses[2];
  MPI_Datatype type;
  fill(one, sizeof one, 1);
  fill(two, sizeof two, 2);
  MPI_Get_address(two, &addresses[0]);
  MPI_Get_address(one, &addresses[1]);
  MPI_Type_create_hindexed(2, (int[]){20, 30}, addresses, MPI_INT, &type);
  type = commit(type);
  MPI_File file = open_new("data");
  CALL(MPI_File_write_at_all(file, (MPI_Offset)200 * rank, MPI_BOTTOM, 1, type, MPI_STATUS_IGNORE));
  barrier();
  memset(one, 0, sizeof one);
  memset(two, 0, sizeof two);
  CALL(MPI_File_read_at(file, (MPI_Offset)200 * rank, MPI_BOTTOM, 1, type, MPI_STATUS_IGNORE));
  say_bytes("one", one, sizeof one);
  say_bytes("two", two, sizeof two);
  close_file(&file);
  MPI_Type_free(&type);
}

CASE(memory_and_view, "strided in memory and in the file at once") {
  MPI_Datatype in_memory, in_file, tile;
  int numbers[400];
  MPI_Type_vector(10, 4, 9, MPI_INT, &in_memory);
  MPI_Type_vector(8, 5, 5 * ranks, MPI_INT, &in_file);
  MPI_Type_create_resized(in_file, 0, (MPI_Aint)(8 * 5 * ranks) * 4, &tile);
  in_memory = commit(in_memory);
  tile = commit(tile);
  MPI_File file = open_prefilled("data");
  CALL(MPI_File_set_view(file, (MPI_Offset)20 * rank, MPI_INT, tile, "native", MPI_INFO_NULL));
  fill(numbers, sizeof numbers, 0);
  CALL(MPI_File_write_all(file, numbers, 4, in_memory, MPI_STATUS_IGNORE));
  barrier();
  CALL(MPI_File_write(file, numbers, 3, in_memory, MPI_STATUS_IGNORE));
  barrier();
  memset(numbers, 0, sizeof numbers);
  CALL(MPI_File_read_at_all(file, 35, numbers, 4, in_memory, MPI_STATUS_IGNORE));
  say_bytes("read_at_all", numbers, sizeof numbers);
  close_file(&file);
  MPI_Type_free(&in_memory);
  MPI_Type_free(&in_file);
  MPI_Type_free(&tile);
}

CASE(memory_reused_at_once, "the buffer is overwritten as soon as a call returns") {
  MPI_File file = open_new("data");
  int numbers[100];
  for (int part = 0; part < 200; ++part) {
    fill(numbers, sizeof numbers, part);
    CALL(MPI_File_write_at(file, (MPI_Offset)(part * ranks + rank) * (MPI_Offset)sizeof numbers, numbers, 100, MPI_INT, MPI_STATUS_IGNORE));
    memset(numbers, 0xee, sizeof numbers);
  }
  close_file(&file);
}
