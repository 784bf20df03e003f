// SPDX-License-Identifier: BSD-3-Clause
// What programs do around their files that a library under them may stumble over.
#include "case.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { part_bytes = 5000 };

static void write_part(MPI_File file, int place, int tag) {
  char bytes[part_bytes];
  fill(bytes, sizeof bytes, tag);
  CALL(MPI_File_write_at(file, (MPI_Offset)part_bytes * place, bytes, part_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

CASE(behaviour_freed_early, "communicator, info and types are freed as soon as they were given away") {
  MPI_Comm comm;
  MPI_Info info;
  MPI_File file;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "1048576");
  CALL(MPI_File_open(comm, path("data"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
  MPI_Info_free(&info);
  MPI_Comm_free(&comm);
  MPI_Datatype stripes, view, memory;
  MPI_Type_vector(100, 1, ranks, MPI_INT, &stripes);
  MPI_Type_create_resized(stripes, 0, 400 * ranks, &view);
  MPI_Type_free(&stripes);
  MPI_Type_commit(&view);
  CALL(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", MPI_INFO_NULL));
  MPI_Type_free(&view);
  int numbers[200];
  fill(numbers, sizeof numbers, 0);
  MPI_Type_vector(100, 1, 2, MPI_INT, &memory);
  MPI_Type_commit(&memory);
  MPI_Request request;
  CALL(MPI_File_iwrite(file, numbers, 1, memory, &request));
  MPI_Type_free(&memory);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CALL(MPI_File_write_all(file, numbers, 100, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
}

CASE(behaviour_directory_changes, "the directory changes between open, write and close") {
  static char before[4096], name[4200];
  if (!getcwd(before, sizeof before)) return;
  if (chdir(path("")) != 0) say("chdir: %s", strerror(errno));
  MPI_File file;
  CALL(MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  write_part(file, rank, 0);
  if (chdir("/") != 0) say("chdir: %s", strerror(errno));
  write_part(file, ranks + rank, 1);
  close_file(&file);
  snprintf(name, sizeof name, "%s", before);
  if (chdir(name) != 0) say("chdir: %s", strerror(errno));
  barrier();
  say_file("data");
}

static volatile sig_atomic_t interrupts;
static void interrupted(int signal) { interrupts += signal != 0; }

CASE(behaviour_signals, "a timer interrupts every call, and none is restarted") {
  struct sigaction action = {.sa_handler = interrupted}, before;
  sigaction(SIGALRM, &action, &before);
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  MPI_File file = open_new("data");
  for (int i = 0; i < 200; ++i) write_part(file, ranks * i + rank, i);
  sync_all(file);
  char bytes[part_bytes];
  CALL(MPI_File_read_at_all(file, (MPI_Offset)part_bytes * (199 * ranks + (rank + 1) % ranks), bytes, part_bytes, MPI_BYTE,
                            MPI_STATUS_IGNORE));
  close_file(&file);
  setitimer(ITIMER_REAL, &never, NULL);
  sigaction(SIGALRM, &before, NULL);
  say_bytes("read", bytes, sizeof bytes);
}

// A child that waits for a byte, reads the file, and says by its status whether it was complete.
static pid_t start_reader(const char* name, size_t bytes, int* wake) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1) _exit(3);
    const int file = open(name, O_RDONLY);
    _exit(file >= 0 && lseek(file, 0, SEEK_END) == (off_t)bytes ? 7 : 8);
  }
  close(ends[0]);
  *wake = ends[1];
  return child;
}

CASE(behaviour_forks_while_open, "children made while a file is open: one leaves by exit, one reads the file when it is closed") {
  MPI_File file = open_new("data");
  write_part(file, rank, 0);
  int wake = -1, status = -1;
  pid_t reader = -1;
  if (rank == 0) {
    reader = start_reader(path("data"), (size_t)part_bytes * 2 * (size_t)ranks, &wake);
    const pid_t leaver = fork();
    if (leaver == 0) exit(5);   // with all that is registered for the end of the program
    waitpid(leaver, &status, 0);
    say("exit: %d", WEXITSTATUS(status));
  }
  write_part(file, ranks + rank, 1);
  close_file(&file);
  barrier();
  if (rank != 0) return;
  if (write(wake, "", 1) != 1) say("write: %s", strerror(errno));
  close(wake);
  waitpid(reader, &status, 0);
  say("reader: %d", WEXITSTATUS(status));
}

CASE(behaviour_files_left_to_others, "every rank opens a file of its own, and the next rank reads it") {
  char name[40];
  snprintf(name, sizeof name, "of-%d", rank);
  MPI_File file = open_file(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  write_part(file, 0, rank);
  close_file(&file);
  barrier();
  snprintf(name, sizeof name, "of-%d", (rank + 1) % ranks);
  file = open_file(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_APPEND);
  CALL(MPI_File_write(file, "next", 4, MPI_CHAR, MPI_STATUS_IGNORE));
  close_file(&file);
  barrier();
  say_file(name);
}

CASE(behaviour_collective_calls_wait_for_what_comes_before, "a rank that is late still writes, reads and asks for the size") {
  enum { part = 100000 };
  char data[part];
  MPI_File file = open_new("data");
  for (int round = 0; round < 4; ++round) {
    const int is_late = rank == (round + 1) % ranks;
    MPI_Offset size = 0;
    barrier();
    if (!is_late) CALL(MPI_File_get_size(file, &size));
    barrier();
    if (is_late) {
      usleep(20000);   // the others are in their collective call
      CALL(MPI_File_get_size(file, &size));
    }
    say("size %lld", (long long)size);
    if (is_late) {
      memset(data, 'a' + round, part);
      CALL(MPI_File_write_at(file, size + part / 2, data, part, MPI_BYTE, MPI_STATUS_IGNORE));
      CALL(MPI_File_read_at(file, 0, data, part, MPI_BYTE, MPI_STATUS_IGNORE));
      say_bytes("read", data, part);
    }
    fill(data, part, round);
    CALL(MPI_File_write_at_all(file, size + rank * part, data, part, MPI_BYTE, MPI_STATUS_IGNORE));
    CALL(MPI_File_write_at_all(file, 1000 * rank, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  close_file(&file);
}

// What it writes collectively the others have not come to yet, and they need room, too.
CASE(behaviour_one_rank_is_far_ahead, "of the others, in several files, with more than a small pool holds") {
  enum { files = 10, part = 6 << 20, rounds = 60, piece = 1 << 20 };
  char* data = malloc(part);
  char name[40];
  MPI_File file[files], own;
  for (int i = 0; i < files; ++i) {
    snprintf(name, sizeof name, "together-%d", i);
    file[i] = open_new(name);
  }
  snprintf(name, sizeof name, "own-%d", rank);
  own = open_file(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  if (rank == ranks - 1) {
    usleep(300000);
    fill(data, part, 1);
    for (int i = 0; i < 3; ++i) CALL(MPI_File_write_at(own, (MPI_Offset)i * part, data, part, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  for (int i = 0; i < files; ++i) {
    fill(data, part, i);
    CALL(MPI_File_write_at_all(file[i], 0, data, rank == 0 ? part : 0, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  if (rank == ranks - 1) usleep(300000);
  for (int i = 0; i < rounds; ++i) {
    CALL(MPI_File_write_at_all(file[i % files], 64 * (i * ranks + rank), data, 64, MPI_BYTE, MPI_STATUS_IGNORE));
    if (rank == 0) CALL(MPI_File_write_at(own, (MPI_Offset)i * piece, data, piece, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  for (int i = 0; i < files; ++i) close_file(&file[i]);
  close_file(&own);
  free(data);
}

CASE(behaviour_collective_calls_follow_each_other, "one writes what another one, which is late, has written or reads") {
  enum { part = 100000 };
  const int all = part * ranks;
  char* data = malloc((size_t)all);
  MPI_File file = open_new("data");
  for (int round = 0; round < 3; ++round) {
    if (rank == ranks - 1) usleep(20000);
    fill(data, part, round);
    CALL(MPI_File_write_at_all(file, rank * part, data, part, MPI_BYTE, MPI_STATUS_IGNORE));
    memset(data, 'a' + round, (size_t)all);
    CALL(MPI_File_write_at_all(file, part, data, rank == 0 ? all - part : 0, MPI_BYTE, MPI_STATUS_IGNORE));
    if (rank == ranks - 1) usleep(20000);
    CALL(MPI_File_read_at_all(file, 0, data, all, MPI_BYTE, MPI_STATUS_IGNORE));
    say_bytes("read", data, (size_t)all);
    memset(data, 'A' + round, (size_t)all);
    CALL(MPI_File_write_at_all(file, 0, data, rank == 0 ? all : 0, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  close_file(&file);
  free(data);
}
