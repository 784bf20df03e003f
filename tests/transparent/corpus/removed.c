// SPDX-License-Identifier: BSD-3-Clause
// Files that lose their name, or their directory, while they are open: they live on until they are closed.
#include "case.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { block = 4000 };

static void write_at(MPI_File file, int place) {
  char bytes[block];
  fill(bytes, sizeof bytes, place);
  CALL(MPI_File_write_at_all(file, (MPI_Offset)block * (place * ranks + rank), bytes, block, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void read_at(MPI_File file, int place) {
  char bytes[block] = "";
  const int other = (rank + 1) % ranks;
  CALL(MPI_File_read_at_all(file, (MPI_Offset)block * (place * ranks + other), bytes, block, MPI_BYTE, MPI_STATUS_IGNORE));
  say_bytes("read", bytes, block);
}

// Everything that needs the file itself.
static void use(MPI_File file) {
  MPI_Offset size = -1;
  MPI_Status status;
  read_at(file, 0);
  write_at(file, 1);
  CALL(MPI_File_sync(file));
  barrier();
  read_at(file, 1);
  CALL(MPI_File_get_size(file, &size));
  say("%lld bytes", (long long)size);
  barrier();
  CALL(MPI_File_set_size(file, (MPI_Offset)block * ranks + 100));
  CALL(MPI_File_get_size(file, &size));
  say("cut to %lld bytes", (long long)size);
  CALL(MPI_File_seek(file, 0, MPI_SEEK_END));
  CALL(MPI_File_get_position(file, &size));
  say("end at %lld", (long long)size);
  char bytes[64];
  CALL(MPI_File_read_at(file, (MPI_Offset)block * ranks, bytes, sizeof bytes, MPI_BYTE, &status));
  say_count("read at the end", &status);
}

static void say_whether_there(const char* name) {
  struct stat status;
  say("%s is there: %d %d", name, access(path(name), F_OK) == 0, stat(path(name), &status) == 0);
}

// By the last rank; the file is closed then.
static void remove_and_use(MPI_File file) {
  barrier();
  if (rank == ranks - 1) say("unlink: %d", unlink(path("data")));
  barrier();
  say_whether_there("data");
  use(file);
  close_file(&file);
  say_whether_there("data");
}

CASE(removed_file, "unlink of a new file that is open") {
  MPI_File file = open_new("data");
  write_at(file, 0);
  remove_and_use(file);
}

CASE(removed_at_once, "remove of a new file that has just been opened") {
  MPI_File file = open_new("data");
  if (rank == 0) say("remove: %d", remove(path("data")));
  barrier();
  write_at(file, 0);
  sync_all(file);
  use(file);
  close_file(&file);
  say_whether_there("data");
}

CASE(removed_by_mpi, "MPI_File_delete of a new file that is open") {
  MPI_File file = open_new("data");
  write_at(file, 0);
  barrier();
  if (rank == 0) CALL(MPI_File_delete(path("data"), MPI_INFO_NULL));
  barrier();
  say_whether_there("data");
  use(file);
  close_file(&file);
}

CASE(removed_old_file, "unlink of an old file that is open") {
  MPI_File file = open_new("data");
  write_at(file, 0);
  close_file(&file);
  barrier();
  file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_RDWR);
  write_at(file, 1);
  remove_and_use(file);
}

CASE(removed_while_replaced, "unlink of an old file that was cut to nothing, which leaves no old one either") {
  MPI_File file = open_new("data");
  write_at(file, 0);
  close_file(&file);
  barrier();
  file = open_new("data");
  CALL(MPI_File_set_size(file, 0));
  write_at(file, 0);
  remove_and_use(file);
}

CASE(removed_beside, "other files of the directory, by children too, while one has just been opened") {
  if (rank == 0) {
    for (int i = 0; i < 3; ++i) fclose(fopen(path(i == 0 ? "one" : i == 1 ? "two" : "three"), "w"));
  }
  barrier();
  MPI_File file = open_new("data");
  if (rank == 0) {
    char command[1100];
    snprintf(command, sizeof command, "rm %s", path("one"));
    say("rm: %d", system(command));
    say("unlink: %d", unlink(path("two")));
    say("unlink of what is not there: %d", unlink(path("two")));
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) _exit(unlink(path("three")) == 0 ? 7 : 8);
    int status = -1;
    waitpid(child, &status, 0);
    say("unlink by a child: %d", WEXITSTATUS(status));
  }
  write_at(file, 0);
  close_file(&file);
}

CASE(removed_and_made_anew, "another file of the name of one that is open and removed") {
  MPI_File file = open_new("data");
  write_at(file, 0);
  barrier();
  if (rank == 0) say("unlink: %d", unlink(path("data")));
  barrier();
  MPI_File another = open_new("data");
  int number = 100 + rank;
  CALL(MPI_File_write_at_all(another, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  use(file);
  sync_all(another);
  CALL(MPI_File_read_at_all(another, 4 * ((rank + 1) % ranks), &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  say("the other one: %d", number);
  close_file(&file);
  say_whether_there("data");
  close_file(&another);
  say_file("data");
}

CASE(removed_directory, "a directory that is removed with the new file in it that is open") {
  if (rank == 0) mkdir(path("folder"), 0777);
  barrier();
  MPI_File file = open_new("folder/data");
  write_at(file, 0);
  barrier();
  if (rank == 0) {
    int removed = 0;
    DIR* folder = opendir(path("folder"));
    for (struct dirent* entry; folder && (entry = readdir(folder));) {
      char name[1100];
      snprintf(name, sizeof name, "%s/%s", path("folder"), entry->d_name);
      removed += unlink(name) == 0;
    }
    if (folder) closedir(folder);
    say("%d removed, rmdir: %d", removed, rmdir(path("folder")));
  }
  barrier();
  say_whether_there("folder");
  use(file);
  close_file(&file);
  say_whether_there("folder");
}

CASE(removed_directories, "the last rank removes a file beside one that all have just closed, and the first one the directory") {
  int files_failed = 0, directories_failed = 0;
  for (int round = 0; round < 20; ++round) {
    if (rank == 0) mkdir(path("folder"), 0777);
    barrier();
    if (rank == ranks - 1) {
      FILE* own = fopen(path("folder/own"), "w");
      if (own) fputs("text\n", own), fclose(own);
    }
    MPI_File file = open_new("data");
    write_at(file, round);
    close_file(&file);
    if (rank == ranks - 1) files_failed += unlink(path("folder/own")) != 0;
    barrier();
    if (rank == 0) directories_failed += rmdir(path("folder")) != 0;
  }
  say("failed: unlink %d, rmdir %d", files_failed, directories_failed);
  barrier();
  say_file("data");
}

CASE(renamed_directory, "a directory that is renamed with a new file and an old one in it that are open") {
  if (rank == 0) mkdir(path("before"), 0777);
  barrier();
  MPI_File old = open_new("before/old");
  write_at(old, 0);
  close_file(&old);
  barrier();
  old = open_file(MPI_COMM_WORLD, "before/old", MPI_MODE_RDWR);
  MPI_File file = open_new("before/data");
  write_at(file, 0);
  write_at(old, 1);
  sync_all(file);
  if (rank == 0) say("rename: %d", rename(path("before"), path("after")));
  barrier();
  use(file);
  use(old);
  close_file(&file);
  close_file(&old);
}
