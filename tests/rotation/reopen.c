/* SPDX-License-Identifier: BSD-3-Clause
 *
 * reopen WAY BYTES: a program that opens again what it has closed, and what the full disk has refused since. `filler` is what takes
 * the room.
 *   left       it is told, and ends
 *   goes-on    it is told, makes room, and goes on with the file
 *   in-place   the same with a file that was there before
 *   overwrites the same with CREATE | WRONLY and MPI_File_set_size in each round
 *   removes    it removes the file, and makes another one of that name
 * All ranks check what they get; the first that is wrong says so and ends the job. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char name[] = "data";
static int rank, ranks, bytes;
static char* data;

static void require(int holds, const char* what) {
  if (holds) return;
  printf("rank %d: not so: %s\n", rank, what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

static void write_mine(MPI_File file, char letter) {
  memset(data, letter, bytes);
  require(MPI_File_write_at_all(file, (MPI_Offset)bytes * rank, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "it is written");
}

static void make(char letter) {
  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS, "it is opened first");
  write_mine(file, letter);
  const int closed = MPI_File_close(&file);
  /* The drain of one node may find the disk full while ranks of another one are just closing the file. */
  if (class_of(closed) == MPI_ERR_NO_SPACE) {
    printf("rank %d: told by the close\n", rank);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  require(closed == MPI_SUCCESS, "it is closed");
}

static void is_told(int mode, const char* what) {
  MPI_File file = MPI_FILE_NULL;
  require(class_of(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file)) == MPI_ERR_NO_SPACE, what);
  require(file == MPI_FILE_NULL, "what is not opened has no handle");
}

static void make_room(void) {
  if (rank == 0) unlink("filler");
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Bytes `first` to `end` of the rank's part are there. */
static void is_there(MPI_File file, int first, int end, char letter) {
  MPI_Status status;
  int count = 0;
  memset(data, 0, bytes);
  require(MPI_File_read_at_all(file, (MPI_Offset)bytes * rank + first, data, end - first, MPI_BYTE, &status) == MPI_SUCCESS, "it is read");
  MPI_Get_count(&status, MPI_BYTE, &count);
  require(count == end - first, "all of it is there");
  for (int at = 0; at < count; ++at) require(data[at] == letter, "it is what was written");
}

/* Changes the second half of each rank's part, which was there before. */
static void change(char before, char after) {
  MPI_File file;
  const int half = bytes / 2;
  const int opened = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  require(opened == MPI_SUCCESS, "it is opened with room");
  is_there(file, 0, bytes, before);
  memset(data, after, bytes);
  require(MPI_File_write_at_all(file, (MPI_Offset)bytes * rank + half, data, bytes - half, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "it is changed");
  require(MPI_File_close(&file) == MPI_SUCCESS, "it is closed again");
  require(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS, "it is opened to read");
  is_there(file, 0, half, before);
  is_there(file, half, bytes, after);
  MPI_File_close(&file);
}

static int overwrite(char letter) {
  MPI_File file;
  int code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  if (code != MPI_SUCCESS) return class_of(code);
  require(MPI_File_set_size(file, 0) == MPI_SUCCESS, "it is cut");
  write_mine(file, letter);
  return class_of(MPI_File_close(&file));
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* way = arguments[1];
  bytes = atoi(arguments[2]);
  data = malloc(bytes);

  if (way[0] == 'o') {
    require(overwrite('a') == MPI_SUCCESS, "the first round");
    require(overwrite('b') == MPI_ERR_NO_SPACE, "the second round is told");
    require(overwrite('c') == MPI_ERR_NO_SPACE, "and the third");
    make_room();
    require(overwrite('d') == MPI_SUCCESS, "the fourth round has room");
    require(overwrite('e') == MPI_SUCCESS, "and the fifth");
  } else {
    make('a');
    is_told(MPI_MODE_RDWR, "a rank that opens it again is told");
    is_told(MPI_MODE_RDONLY, "a rank that reads it is told");
    is_told(MPI_MODE_CREATE | MPI_MODE_RDWR, "and again");
  }
  if (way[0] == 'g' || way[0] == 'i') {
    make_room();
    change('a', 'b');
  }
  if (way[0] == 'r') {
    if (rank == 0) require(MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS, "it is removed");
    MPI_Barrier(MPI_COMM_WORLD);
    bytes = 1000;
    make('b');
    change('b', 'c');
  }
  MPI_Finalize();
  if (rank == 0) puts("all of it was so");
  return 0;
}
