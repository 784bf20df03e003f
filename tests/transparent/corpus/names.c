// SPDX-License-Identifier: BSD-3-Clause
// Files that are removed, renamed, replaced, cut or written again at once after others have been closed: restart files that take turns.
#include "case.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { block = 200000 };

static void write_file(const char* name, int generation) {
  char* bytes = malloc(block);
  fill(bytes, block, generation);
  MPI_File file = open_file(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  CALL(MPI_File_write_at_all(file, (MPI_Offset)block * rank, bytes, block, MPI_BYTE, MPI_STATUS_IGNORE));
  close_file(&file);
  free(bytes);
}

static void write_plain(const char* name, const char* text) {
  FILE* file = fopen(path(name), "w");
  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) say("%s cannot be written", name);
}

static void move(const char* from, const char* to) {
  char old[4096];
  snprintf(old, sizeof old, "%s", path(from));
  errno = 0;
  const int result = rename(old, path(to));
  say("%s to %s: %d, errno %d", from, to, result, result == 0 ? 0 : errno);
}

static void drop(const char* name) {
  errno = 0;
  const int result = unlink(path(name));
  say("unlink %s: %d, errno %d", name, result, result == 0 ? 0 : errno);
}

static void say_there(const char* name) {
  struct stat status;
  if (lstat(path(name), &status) != 0) say("%s: errno %d", name, errno);
  else say("%s: %lld bytes, %d links", name, (long long)status.st_size, (int)status.st_nlink);
}

static int compare(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

static void say_list(const char* directory) {
  DIR* entries = opendir(path(directory));
  char* names[100];
  int count = 0;
  if (entries == NULL) return say("%s: errno %d", directory, errno);
  for (struct dirent* entry; count < 100 && (entry = readdir(entries)) != NULL;) names[count++] = strdup(entry->d_name);
  closedir(entries);
  qsort(names, count, sizeof *names, compare);
  for (int i = 0; i < count; ++i) {
    say("  %s", names[i]);
    free(names[i]);
  }
}

CASE(names_removed_old, "the old restart file is removed when the new one is closed") {
  const char* names[] = {"restart.0", "restart.1", "restart.2", "restart.3"};
  for (int generation = 0; generation < 4; ++generation) {
    write_file(names[generation], generation);
    if (rank == 0 && generation > 0) {
      drop(names[generation - 1]);
      say_there(names[generation - 1]);
      say_list(".");
    }
    barrier();
  }
  if (rank == 0) say_file("restart.3");
}

CASE(names_removed_by_mpi, "the same with MPI_File_delete, and the name is used again") {
  write_file("a", 1);
  write_file("b", 2);
  if (rank == 0) {
    CALL(MPI_File_delete(path("a"), MPI_INFO_NULL));
    say_there("a");
  }
  barrier();
  write_file("a", 3);
  if (rank == 0) {
    say_file("a");
    say_file("b");
  }
}

CASE(names_removed_at_once, "a file is removed that has just been closed, also one that replaces another") {
  write_file("new", 1);
  if (rank == ranks - 1) drop("new");
  barrier();
  if (rank == 0) say_there("new");
  barrier();
  write_file("old", 2);
  MPI_File file = open_file(MPI_COMM_WORLD, "old", MPI_MODE_CREATE | MPI_MODE_RDWR);
  CALL(MPI_File_set_size(file, 0));
  char byte = 'x';
  CALL(MPI_File_write_at(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  close_file(&file);
  if (rank == ranks - 1) drop("old");
  barrier();
  if (rank == 0) say_there("old");
}

CASE(names_new_over_old, "the new file gets the name of the old one") {
  for (int generation = 0; generation < 3; ++generation) {
    write_file("restart.new", generation);
    if (rank == generation % ranks) {
      move("restart.new", "restart");
      say_there("restart.new");
      say_there("restart");
    }
    barrier();
  }
  if (rank == 0) {
    say_file("restart");
    say_list(".");
  }
}

CASE(names_backup, "the old file becomes the backup before the new one is written, and after it") {
  for (int generation = 0; generation < 4; ++generation) {
    if (rank == 0 && generation > 0) move("restart", "restart.bak");
    barrier();
    write_file("restart", generation);
  }
  if (rank == 0) {
    say_file("restart");
    say_file("restart.bak");
    move("restart", "last");
    move("restart.bak", "restart");
    say_list(".");
    say_file("restart");
  }
}

CASE(names_rotate, "three generations, each a number") {
  for (int generation = 0; generation < 5; ++generation) {
    write_file("new", generation);
    if (rank == 0) {
      move("1", "2");
      move("0", "1");
      move("new", "0");
    }
    barrier();
  }
  for (int i = 0; rank == 0 && i < 3; ++i) say_file(i == 0 ? "0" : i == 1 ? "1" : "2");
}

CASE(names_linked, "links to the last file") {
  const char* names[] = {"chk_0", "chk_1", "chk_2"};
  for (int generation = 0; generation < 3; ++generation) {
    write_file(names[generation], generation);
    if (rank == 0) {
      unlink(path("latest"));
      say("symlink: %d", symlink(names[generation], path("latest")));
      if (generation > 0) drop(names[generation - 1]);
      say_there("latest");
    }
    barrier();
  }
  if (rank == 0) say_file("latest");
}

CASE(names_hard_links, "a file with two names loses one after the other") {
  write_file("a", 1);
  char a[4096];
  snprintf(a, sizeof a, "%s", path("a"));
  if (rank == 0) say("link: %d", link(a, path("b")));
  barrier();
  write_file("c", 2);
  if (rank == 0) {
    drop("a");
    say_there("b");
    drop("b");
    say_there("b");
  }
}

CASE(names_link_open, "an open file gets another name: one that is free, its own, that of another open file") {
  write_file("old", 1);
  write_plain("plain", "plain\n");
  MPI_File files[] = {open_file(MPI_COMM_WORLD, "new", MPI_MODE_CREATE | MPI_MODE_WRONLY), open_file(MPI_COMM_WORLD, "old", MPI_MODE_RDWR)};
  barrier();
  if (rank == 0) {
    const char* pairs[][2] = {{"new", "second"}, {"new", "new"}, {"new", "old"}, {"old", "new"}, {"old", "old"}, {"plain", "new"},
                              {"missing", "new"}, {"missing", "free"}};
    for (int i = 0; i < (int)(sizeof pairs / sizeof *pairs); ++i) {
      char from[4096];
      snprintf(from, sizeof from, "%s", path(pairs[i][0]));
      errno = 0;
      const int result = link(from, path(pairs[i][1]));
      say("link %s to %s: %d, errno %d", pairs[i][0], pairs[i][1], result, result == 0 ? 0 : errno);
    }
    say_there("new");
  }
  barrier();
  CALL(MPI_File_write_at(files[0], rank, "a", 1, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < 2; ++i) close_file(&files[i]);
  if (rank == 0) {
    say_file("new");
    say_file("second");
    say_list(".");
  }
}

CASE(names_plain_over_new, "a plain file gets the name of one that has just been closed") {
  write_file("data", 1);
  if (rank == 0) {
    write_plain("text", "a plain file\n");
    move("text", "data");
    say_file("data");
  }
}

CASE(names_turns, "two files are written in turns, in place") {
  for (int generation = 0; generation < 6; ++generation) write_file(generation % 2 == 0 ? "even" : "odd", generation);
  if (rank == 0) {
    say_file("even");
    say_file("odd");
  }
}

CASE(names_in_place_moved, "a file that has just been written in place is renamed, over another") {
  write_file("a", 1);
  write_file("b", 2);
  barrier();
  if (rank == 0) {
    say_file("a");
    say_file("b");
  }
  barrier();
  write_file("a", 3);
  if (rank == 0) move("a", "b");
  barrier();
  if (rank == ranks - 1) {
    say_there("a");
    say_file("b");
  }
}

CASE(names_linked_while_open, "a file gets a second name while it is open; then one of them is renamed to the other, replaced or removed") {
  for (int i = 0; i < 3; ++i) {
    MPI_File file = open_file(MPI_COMM_WORLD, "new", MPI_MODE_CREATE | MPI_MODE_WRONLY);
    if (rank == 0) {
      char name[4096];
      snprintf(name, sizeof name, "%s", path("new"));
      say("link: %d", link(name, path("second")));
      write_plain("plain", "plain\n");
    }
    barrier();
    char bytes[1000];
    fill(bytes, sizeof bytes, i + 1);
    CALL(MPI_File_write_at_all(file, rank * 1000, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(&file);
    if (rank == ranks - 1) {
      if (i == 0) move("new", "second"); /* they are one file: nothing happens */
      if (i == 1) move("plain", "new");
      if (i == 2) drop("new");
      say_there("new");
      say_list("."); /* which waits */
      say_file("second");
      drop("second");
    }
    barrier();
  }
}

CASE(names_marker_of_renamed, "a file gets another name when it is closed, and then a marker") {
  for (int i = 0; i < 5; ++i) {
    write_file("new", i);
    if (rank == ranks - 1) {
      move("new", "restart.nc");
      write_plain("restart.done", "done\n");
      struct stat status;
      const long result = syscall(SYS_newfstatat, AT_FDCWD, path("restart.nc"), &status, 0); /* as others see it */
      say("restart.nc: %ld, %lld bytes", result, result == 0 ? (long long)status.st_size : 0LL);
      drop("restart.done");
      drop("restart.nc");
    }
    barrier();
  }
}

CASE(names_removed_twice, "a file is removed while it is open, and again when it is closed") {
  for (int i = 0; i < 10; ++i) {
    MPI_File file = open_file(MPI_COMM_WORLD, "gone", MPI_MODE_CREATE | MPI_MODE_WRONLY);
    CALL(MPI_File_write_at(file, rank, "a", 1, MPI_BYTE, MPI_STATUS_IGNORE));
    barrier();
    if (rank == 0) drop("gone");
    barrier();
    close_file(&file);
    if (rank == ranks - 1) drop("gone");
    barrier();
  }
}

CASE(names_in_place_gone, "a file that was there is opened, closed and at once removed or replaced") {
  for (int i = 0; i < 30; ++i) {
    if (rank == 0) {
      write_plain("plain", "plain\n");
      write_plain("other", "other\n");
    }
    barrier();
    MPI_File file = open_file(MPI_COMM_WORLD, "plain", MPI_MODE_RDWR);
    if (i % 2 == 1 && rank == 0) CALL(MPI_File_write_at(file, 3, "PLAIN", 5, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(&file);
    if (rank == ranks - 1) {
      if (i < 24) drop("plain");
      else move("other", "plain");
    }
    barrier();
    if (rank == 0) say_there("plain");
    if (rank == 0 && i >= 24) say_file("plain");
    barrier();
  }
}

CASE(names_cut, "a file is cut by other means when another one has been closed") {
  write_file("a", 1);
  if (rank == 0) say_file("a");
  barrier();
  write_file("b", 2);
  if (rank == 0) {
    write_plain("a", "begun anew\n");
    say_file("a");
    say("truncate: %d", truncate(path("b"), 100));
    say_file("b");
    // One that is empty as yet, because it is written in place, and by its other name.
    char first[4096];
    snprintf(first, sizeof first, "%s", path("c"));
    write_plain("c", "");
    say("link: %d", link(first, path("d")));
  }
  barrier();
  write_file("c", 3);
  barrier();
  if (rank == 0) {
    const int cut = open(path("d"), O_WRONLY | O_TRUNC);
    say("open: %d", cut < 0);
    close(cut);
    say_there("c");
    say_there("d");
  }
}

CASE(names_directory, "a directory is emptied, removed and made again") {
  if (rank == 0) say("mkdir: %d", mkdir(path("run"), 0777));
  barrier();
  write_file("run/a", 1);
  write_file("run/b", 2);
  write_file("c", 3);
  if (rank == 0) {
    drop("run/a");
    drop("run/b");
    say_list("run");
    const int result = rmdir(path("run"));
    say("rmdir: %d, errno %d", result, result == 0 ? 0 : errno);
    say("mkdir: %d", mkdir(path("run"), 0777));
    char command[5000];
    snprintf(command, sizeof command, "rm -rf '%s'", path("run"));
    write_plain("run/d", "text\n");
    say("rm: %d", system(command));
    say_there("run");
  }
}

CASE(names_by_children, "a shell moves and removes what was closed") {
  write_file("old", 1);
  write_file("new", 2);
  if (rank == 0) {
    char command[9000];
    snprintf(command, sizeof command, "cd '%s' && mv new moved && rm old && ls -A", path("."));
    say("shell: %d", system(command));
    say_there("new");
    say_there("old");
    say_file("moved");
  }
}

CASE(names_errors, "what cannot be renamed or removed") {
  write_file("a", 1);
  if (rank == 0) {
    move("missing", "a");
    move("a", "no/such/directory");
    move("a", "a");
    say("mkdir: %d", mkdir(path("directory"), 0777));
    move("a", "directory");
    drop("missing");
    say_file("a");
  }
}
