// SPDX-License-Identifier: BSD-3-Clause
// The situations of the examples in the MPI standard's chapter on I/O, written anew.
#include "case.h"

#include <stdlib.h>
#include <string.h>

static void swap(float** one, float** two) {
  float* other = *one;
  *one = *two;
  *two = other;
}

CASE(standard_read_to_the_end, "read in portions until one is short") {
  MPI_File file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR);
  float numbers[128];
  fill(numbers, sizeof numbers, 0);
  if (rank == 0) {
    CALL(MPI_File_write_at(file, 0, numbers, 128, MPI_FLOAT, MPI_STATUS_IGNORE));
    CALL(MPI_File_write_at(file, 512, numbers, 77, MPI_FLOAT, MPI_STATUS_IGNORE));
  }
  close_file(&file);
  barrier();
  file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_RDONLY);
  CALL(MPI_File_set_view(file, 0, MPI_FLOAT, MPI_FLOAT, "native", MPI_INFO_NULL));
  int total = 0;
  for (;;) {
    int count = 0;
    MPI_Status status;
    CALL(MPI_File_read(file, numbers, 50, MPI_FLOAT, &status));
    MPI_Get_count(&status, MPI_FLOAT, &count);
    total += count;
    say("%d", count);
    if (count != 50) break;
  }
  say("total %d", total);
  close_file(&file);
}

CASE(standard_double_buffering, "compute into one buffer while the other one is written by a split call") {
  enum { COUNT = 1000, TURNS = 5 };
  MPI_File file = open_new("data");
  float* computing = malloc(COUNT * sizeof(float));
  float* writing = malloc(COUNT * sizeof(float));
  CALL(MPI_File_set_view(file, (MPI_Offset)TURNS * COUNT * 4 * rank, MPI_FLOAT, MPI_FLOAT, "native", MPI_INFO_NULL));
  fill(computing, COUNT * sizeof(float), 0);
  swap(&computing, &writing);
  CALL(MPI_File_write_all_begin(file, writing, COUNT, MPI_FLOAT));
  for (int turn = 1; turn < TURNS; ++turn) {
    fill(computing, COUNT * sizeof(float), turn);
    CALL(MPI_File_write_all_end(file, writing, MPI_STATUS_IGNORE));
    swap(&computing, &writing);
    CALL(MPI_File_write_all_begin(file, writing, COUNT, MPI_FLOAT));
  }
  CALL(MPI_File_write_all_end(file, writing, MPI_STATUS_IGNORE));
  close_file(&file);
  free(computing);
  free(writing);
}

CASE(standard_consistency_by_reopening, "one rank writes, another one reads: by closing and opening") {
  int numbers[10] = {0};
  MPI_File file = open_new("data");
  if (rank == 0) {
    for (int i = 0; i < 10; ++i) numbers[i] = 5;
    CALL(MPI_File_write_at(file, 0, numbers, 10, MPI_INT, MPI_STATUS_IGNORE));
  }
  close_file(&file);
  barrier();
  file = open_new("data");
  CALL(MPI_File_read_at(file, 0, numbers, 10, MPI_INT, MPI_STATUS_IGNORE));
  say_bytes("read", numbers, sizeof numbers);
  close_file(&file);
}

CASE(standard_nonblocking_order, "two nonblocking writes of the same rank and file, the second waits for the first") {
  MPI_File file = open_new("data");
  MPI_Request request;
  int first[10], second[10];
  for (int i = 0; i < 10; ++i) first[i] = 2, second[i] = 4 + rank;
  CALL(MPI_File_iwrite_at(file, 40 * rank, first, 10, MPI_INT, &request));
  CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CALL(MPI_File_iwrite_at(file, 40 * rank + 20, second, 5, MPI_INT, &request));
  CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CALL(MPI_File_iread_at(file, 40 * rank, second, 10, MPI_INT, &request));
  CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
  say_bytes("read", second, sizeof second);
  close_file(&file);
}

CASE(standard_tiled_array, "a distributed array in blocks of rows and columns, by a subarray of the ranks' grid") {
  enum { ROWS = 24, COLUMNS = 36 };
  int grid[2] = {0, 0}, periods[2] = {0, 0}, place[2];
  MPI_Comm cartesian;
  MPI_Dims_create(ranks, 2, grid);
  MPI_Cart_create(MPI_COMM_WORLD, 2, grid, periods, 0, &cartesian);
  MPI_Cart_coords(cartesian, rank, 2, place);
  const int sizes[2] = {ROWS, COLUMNS}, part[2] = {ROWS / grid[0], COLUMNS / grid[1]};
  const int start[2] = {place[0] * part[0], place[1] * part[1]};
  MPI_Datatype in_file, in_memory;
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &in_file);
  const int local[2] = {part[0] + 2, part[1] + 2}, inside[2] = {1, 1};
  MPI_Type_create_subarray(2, local, part, inside, MPI_ORDER_C, MPI_DOUBLE, &in_memory);
  in_file = commit(in_file);
  in_memory = commit(in_memory);
  double* numbers = malloc(sizeof(double) * (size_t)(local[0] * local[1]));
  fill(numbers, sizeof(double) * (size_t)(local[0] * local[1]), 0);
  MPI_File file = open_file(cartesian, "data", MPI_MODE_CREATE | MPI_MODE_RDWR);
  CALL(MPI_File_set_view(file, 0, MPI_DOUBLE, in_file, "native", MPI_INFO_NULL));
  CALL(MPI_File_write_all(file, numbers, 1, in_memory, MPI_STATUS_IGNORE));
  memset(numbers, 0, sizeof(double) * (size_t)(local[0] * local[1]));
  CALL(MPI_File_read_at_all(file, 0, numbers, 1, in_memory, MPI_STATUS_IGNORE));
  say_bytes("read", numbers, sizeof(double) * (size_t)(local[0] * local[1]));
  close_file(&file);
  free(numbers);
  MPI_Type_free(&in_file);
  MPI_Type_free(&in_memory);
  MPI_Comm_free(&cartesian);
}

CASE(standard_transposed, "a matrix written by rows and read by columns") {
  enum { N = 20 };
  MPI_Datatype column, tile;
  int numbers[N * N], back[N * N];
  fill(numbers, sizeof numbers, 0);
  MPI_File file = open_new("data");
  CALL(MPI_File_write_at_all(file, (MPI_Offset)sizeof numbers * rank, numbers, N * N, MPI_INT, MPI_STATUS_IGNORE));
  barrier();
  MPI_Type_vector(N, 1, N, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &tile);
  tile = commit(tile);
  CALL(MPI_File_read_at(file, (MPI_Offset)sizeof numbers * rank, back, N, tile, MPI_STATUS_IGNORE));
  say_bytes("transposed", back, sizeof back);
  close_file(&file);
  MPI_Type_free(&column);
  MPI_Type_free(&tile);
}
