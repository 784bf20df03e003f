// SPDX-License-Identifier: BSD-3-Clause
// Looks at the closed file by other means than MPI-IO, and other names for it.
#include "case.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_file(const char* name) {
  MPI_File file = open_new(name);
  char bytes[4000];
  fill(bytes, sizeof bytes, 0);
  CALL(MPI_File_write_at_all(file, (MPI_Offset)sizeof bytes * rank, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  close_file(&file);
  barrier();
}

CASE(outside_stat, "stat, lstat, fstatat, access") {
  write_file("data");
  struct stat status;
  say("stat: %d", stat(path("data"), &status));
  say("%lld bytes, regular: %d", (long long)status.st_size, S_ISREG(status.st_mode));
  say("lstat: %d", lstat(path("data"), &status));
  say("%lld bytes", (long long)status.st_size);
  say("fstatat: %d", fstatat(AT_FDCWD, path("data"), &status, 0));
  say("%lld bytes", (long long)status.st_size);
  say("access: %d %d", access(path("data"), R_OK), access(path("missing"), F_OK));
}

CASE(outside_read, "open and read, pread, fopen, openat") {
  write_file("data");
  char bytes[5000] = "";   // with two ranks the file ends before
  const int file = open(path("data"), O_RDONLY);
  say("read: %zd", read(file, bytes, 3000));
  say_bytes("read", bytes, 3000);
  say("pread: %zd", pread(file, bytes, 5000, 6000));
  say_bytes("pread", bytes, 5000);
  say("end: %lld", (long long)lseek(file, 0, SEEK_END));
  close(file);
  const int folder = open(path(""), O_RDONLY | O_DIRECTORY);
  const int again = openat(folder, "data", O_RDONLY);
  say("openat: %zd", pread(again, bytes, 100, 4000));
  say_bytes("openat", bytes, 100);
  close(again);
  close(folder);
  say_file("data");
}

CASE(outside_rename, "rename, then the file has the new name only") {
  write_file("old");
  if (rank == 0) say("rename: %d", rename(path("old"), path("new")));
  barrier();
  say("old: %d", access(path("old"), F_OK));
  say_file("new");
  barrier();
  MPI_File file = open_file(MPI_COMM_WORLD, "new", MPI_MODE_RDWR);
  int number = -1;
  CALL(MPI_File_write_at_all(file, 2000 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
}

CASE(outside_unlink, "unlink and remove, then write a new one of the same name") {
  write_file("data");
  if (rank == 0) say("unlink: %d", unlink(path("data")));
  barrier();
  say("there: %d", access(path("data"), F_OK));
  barrier();
  write_file("other");
  if (rank == 0) say("remove: %d", remove(path("other")));
  barrier();
  MPI_File file = open_new("data");
  int number = rank;
  CALL(MPI_File_write_at_all(file, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
}

CASE(outside_truncate, "truncate, ftruncate, then append by MPI-IO") {
  write_file("data");
  if (rank == 0) say("truncate: %d", truncate(path("data"), 5000));
  barrier();
  MPI_File file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_RDWR);
  MPI_Offset size = -1;
  CALL(MPI_File_get_size(file, &size));
  say("%lld bytes", (long long)size);
  barrier();
  CALL(MPI_File_write_at_all(file, 6000 + 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
}

CASE(outside_posix_writes, "POSIX writes into the closed file, MPI-IO reads it, and the other way round") {
  write_file("data");
  if (rank == 0) {
    const int file = open(path("data"), O_WRONLY);
    say("pwrite: %zd", pwrite(file, "changed by POSIX", 16, 100));
    close(file);
  }
  barrier();
  MPI_File file = open_file(MPI_COMM_WORLD, "data", MPI_MODE_RDWR);
  char bytes[50];
  CALL(MPI_File_read_at_all(file, 90, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  say_bytes("read_at_all", bytes, sizeof bytes);
  close_file(&file);
}

CASE(outside_links, "a symbolic link to the file, and a hard one") {
  write_file("data");
  if (rank == 0) {
    say("symlink: %d", symlink("data", path("symbolic")));
    say("link: %d", link(path("data"), path("hard")));
  }
  barrier();
  say_file("symbolic");
  MPI_File file = open_file(MPI_COMM_WORLD, "symbolic", MPI_MODE_RDWR);
  CALL(MPI_File_write_at_all(file, 1000 + 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
  barrier();
  struct stat status;
  say("lstat: %d", lstat(path("symbolic"), &status));
  say("still a link: %d", S_ISLNK(status.st_mode));
  say_file("data");
  say_file("hard");
}

CASE(outside_directory, "the directory shows the file, and nothing else") {
  write_file("data");
  int entries = 0, known = 0;
  DIR* folder = opendir(path(""));
  for (struct dirent* entry; folder && (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    ++entries;
    known += strcmp(entry->d_name, "data") == 0;
  }
  if (folder) closedir(folder);
  say("%d entries, the file: %d", entries, known);
}

CASE(outside_system, "a child of system() and of popen() reads it") {
  write_file("data");
  if (rank != 0) return;
  char command[2200], line[200] = "";
  snprintf(command, sizeof command, "cksum < %s > %s", path("data"), path("cksum"));
  say("system: %d", system(command));
  snprintf(command, sizeof command, "wc -c < %s", path("data"));
  FILE* child = popen(command, "r");
  if (child && fgets(line, sizeof line, child)) say("popen: %d", atoi(line));
  if (child) pclose(child);
}

CASE(outside_fork, "a child of fork() reads it, and one that runs another program") {
  write_file("data");
  if (rank != 0) return;
  fflush(NULL);
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    char bytes[4000];
    const int file = open(path("data"), O_RDONLY);
    _exit(pread(file, bytes, sizeof bytes, 4000) == sizeof bytes ? 7 : 8);
  }
  waitpid(child, &status, 0);
  say("fork: %d", WEXITSTATUS(status));
  child = fork();
  if (child == 0) {
    execlp("cp", "cp", path("data"), path("copy"), (char*)NULL);
    _exit(127);
  }
  waitpid(child, &status, 0);
  say("exec: %d", WEXITSTATUS(status));
}

CASE(outside_relative, "relative names, after a change of the directory, with ./ and .. in them") {
  static char before[4096];
  if (!getcwd(before, sizeof before)) return;
  if (rank == 0) mkdir(path("folder"), 0777);
  barrier();
  if (chdir(path("folder")) != 0) say("chdir: %s", strerror(errno));
  const char* names[3] = {"plain", "./dotted", "../folder/../above"};
  for (int i = 0; i < 3; ++i) {
    MPI_File file;
    CALL(MPI_File_open(MPI_COMM_WORLD, names[i], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    CALL(MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(&file);
  }
  barrier();
  struct stat status;
  say("stat: %d", stat("plain", &status));
  if (chdir(before) != 0) say("chdir: %s", strerror(errno));
  barrier();
  if (rank == 0) CALL(MPI_File_delete(path("folder/dotted"), MPI_INFO_NULL));
}

CASE(outside_prefix, "a name with the prefix of a file system, as ROMIO knows them") {
  char name[1100];
  snprintf(name, sizeof name, "ufs:%s", path("data"));
  MPI_File file;
  CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  CALL(MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
  say_file("data");
}

CASE(outside_permissions, "a new file has the mode that umask leaves; an old one keeps its own") {
  const mode_t before = umask(027);
  write_file("new");
  umask(before);
  struct stat status;
  say("stat: %d", stat(path("new"), &status));
  say("mode %o", (unsigned)status.st_mode & 0777);
  barrier();
  if (rank == 0) chmod(path("new"), 0604);
  barrier();
  MPI_File file = open_file(MPI_COMM_WORLD, "new", MPI_MODE_RDWR);
  CALL(MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
  barrier();
  say("stat: %d", stat(path("new"), &status));
  say("mode %o", (unsigned)status.st_mode & 0777);
}
