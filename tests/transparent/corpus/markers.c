// SPDX-License-Identifier: BSD-3-Clause
// Files by which programs say that another one is complete: when they are there, that is, too. Looked at as a process does that knows
// nothing of the program: by the system call itself.
#define CASE_PREFIX "markers_"
#include "case.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { block = 3 << 20 };

static void write_file(const char* name) {
  char* bytes = malloc(block);
  MPI_File file = open_file(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  fill(bytes, block, 1);
  CALL(MPI_File_write_at_all(file, (MPI_Offset)block * rank, bytes, block, MPI_BYTE, MPI_STATUS_IGNORE));
  close_file(&file);
  free(bytes);
}

static int is_there(const char* name) { return syscall(SYS_faccessat, AT_FDCWD, path(name), F_OK) == 0; }

static void say_whether_there(const char* marker, const char* name) {
  say("%s: %d, %s: %d", marker, is_there(marker), name, is_there(name));
}

CASE(of_stem, "fopen of plt.done beside plt.bin, by the last rank") {
  write_file("plt.bin");
  if (rank == ranks - 1) {
    FILE* marker = fopen(path("plt.done"), "w");
    say_whether_there("plt.done", "plt.bin");
    if (marker) fclose(marker);
  }
  barrier();
}

CASE(of_name, "open of plt.bin.sha256, and rename of another file to plt.bin-ok") {
  write_file("plt.bin");
  if (rank == 0) {
    const int marker = open(path("plt.bin.sha256"), O_WRONLY | O_CREAT | O_EXCL, 0644);
    say_whether_there("plt.bin.sha256", "plt.bin");
    close(marker);
  }
  barrier();
  write_file("another.bin");
  if (rank == 0) {
    close(creat(path("temporary"), 0644));
    say("rename: %d", rename(path("temporary"), path("another.bin-ok")));
    say_whether_there("another.bin-ok", "another.bin");
  }
  barrier();
}

CASE(by_child, "a process that the program has started makes plt_DONE") {
  write_file("plt.bin");
  if (rank == 0) {
    char command[1100];
    snprintf(command, sizeof command, ": > '%s'", path("plt_DONE"));
    say("sh: %d", system(command));
    say_whether_there("plt_DONE", "plt.bin");
  }
  barrier();
}

CASE(of_directory, "plt.done beside the directory plt, and a symbolic link to it") {
  if (rank == 0) mkdir(path("plt"), 0777);
  barrier();
  write_file("plt/Cell_0");
  if (rank == 0) {
    close(creat(path("plt.done"), 0644));
    say_whether_there("plt.done", "plt/Cell_0");
  }
  barrier();
  write_file("plt/Cell_1");
  if (rank == 0) {
    say("symlink: %d", symlink("plt", path("latest")));
    say_whether_there("latest", "plt/Cell_1");
  }
  barrier();
}

CASE(links, "symbolic and hard links to what has just been closed") {
  write_file("plt1.bin");
  if (rank == 0) {
    say("symlink: %d", symlink("plt1.bin", path("latest")));
    say_whether_there("latest", "plt1.bin");
  }
  barrier();
  write_file("plt2.bin");
  if (rank == 0) {
    say("link: %d", link(path("plt2.bin"), path("kept")));
    say_whether_there("kept", "plt2.bin");
  }
  barrier();
}
