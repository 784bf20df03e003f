// SPDX-License-Identifier: BSD-3-Clause
// Files that are written again: names, owners, permissions and attributes stay as they were. What a program does to a file by its name
// while it has it open is not lost.
#define CASE_PREFIX "places_"
#include "case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

enum { block = 4000 };

static void write_at(MPI_File file, int place) {
  char bytes[block];
  fill(bytes, sizeof bytes, place);
  CALL(MPI_File_write_at_all(file, (MPI_Offset)block * (place * ranks + rank), bytes, block, MPI_BYTE, MPI_STATUS_IGNORE));
}

// As a checkpoint that another program has left; on rank 0.
static void leave(const char* name) {
  FILE* file = fopen(path(name), "w");
  for (int i = 0; i < 9000; ++i) fputc('O', file);
  fclose(file);
}

// Cut to nothing, as libraries do that make a file anew.
static MPI_File open_anew(const char* name) {
  MPI_File file = open_file(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CALL(MPI_File_set_size(file, 0));
  return file;
}

static void say_status(const char* name) {
  struct stat status;
  char note[100] = "", acl[200];
  if (stat(path(name), &status) != 0) {
    say("%s is not there", name);
    return;
  }
  const long length = getxattr(path(name), "user.note", note, sizeof note - 1);
  const long list = getxattr(path(name), "system.posix_acl_access", acl, sizeof acl);
  say("%s: owner %d group %d mode %o links %d size %ld note %s, list of %ld", name, (int)status.st_uid, (int)status.st_gid,
      (unsigned)status.st_mode, (int)status.st_nlink, (long)status.st_size, length > 0 ? note : "none", list);
}

// On rank 0, when it is closed.
static void say_names(const char* one, const char* two) {
  barrier();
  if (rank != 0) return;
  struct stat a, b;
  say_status(one);
  say_status(two);
  say("one file: %d", stat(path(one), &a) == 0 && stat(path(two), &b) == 0 && a.st_ino == b.st_ino);
  say_file(one);
  say_file(two);
}

CASE(hard_link, "a file with a second name is cut to nothing and written") {
  if (rank == 0) {
    leave("restart");
    say("link: %d", link(path("restart"), path("backup")));
    chmod(path("restart"), 0664);
  }
  barrier();
  MPI_File file = open_anew("restart");
  write_at(file, 0);
  close_file(&file);
  say_names("restart", "backup");
}

CASE(owner, "a file of another user and group, where this one may give it away") {
  if (rank == 0) {
    leave("restart");
    if (geteuid() == 0) say("chown: %d", chown(path("restart"), 1000, 100));
    chmod(path("restart"), 0664);
  }
  barrier();
  MPI_File file = open_anew("restart");
  write_at(file, 0);
  close_file(&file);
  barrier();
  if (rank == 0) say_status("restart");
}

CASE(group, "a file of another group") {
  if (rank == 0) {
    leave("restart");
    if (geteuid() == 0) say("chown: %d", chown(path("restart"), (uid_t)-1, 100));
    chmod(path("restart"), 0660);
  }
  barrier();
  MPI_File file = open_anew("restart");
  write_at(file, 0);
  close_file(&file);
  barrier();
  if (rank == 0) say_status("restart");
}

CASE(attribute, "a file with an extended attribute") {
  if (rank == 0) {
    leave("restart");
    say("setxattr: %d", setxattr(path("restart"), "user.note", "run 7", 5, 0));
  }
  barrier();
  MPI_File file = open_anew("restart");
  write_at(file, 0);
  close_file(&file);
  barrier();
  if (rank == 0) say_status("restart");
}

CASE(access_list, "a file with an access control list") {
  if (rank == 0) {
    // Version; tag, permissions and number of each entry: owner, user 12345, group, mask, others.
    const unsigned char list[] = {2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 6, 0, 57, 48, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255,
                                  16, 0, 6, 0, 255, 255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255};
    leave("restart");
    say("setxattr: %d", setxattr(path("restart"), "system.posix_acl_access", list, sizeof list, 0));
  }
  barrier();
  MPI_File file = open_anew("restart");
  write_at(file, 0);
  close_file(&file);
  barrier();
  if (rank == 0) say_status("restart");
}

CASE(plain_file, "permission bits of a file that is cut to nothing and written") {
  if (rank == 0) {
    leave("restart");
    chmod(path("restart"), 0640);
  }
  barrier();
  MPI_File file = open_anew("restart");
  write_at(file, 0);
  close_file(&file);
  barrier();
  if (rank == 0) say_status("restart");
}

CASE(new_file, "permission bits of a new file, by the umask of rank 0") {
  const mode_t before = umask(rank == 0 ? 0137 : 0022);
  MPI_File file = open_new("data");
  umask(before);
  write_at(file, 0);
  close_file(&file);
  barrier();
  if (rank == 0) say_status("data");
}

// By rank 0, by name and by a descriptor.
static void change(const char* name) {
  struct stat status;
  barrier();
  if (rank == 0) {
    say("chmod: %d", chmod(path(name), 0600));
    stat(path(name), &status);
    say("mode %o", (unsigned)status.st_mode);
    say("setxattr: %d", setxattr(path(name), "user.note", "made", 4, 0));
    FILE* file = fopen(path(name), "r+");
    say("fchmod: %d", file ? fchmod(fileno(file), 0604) : -1);
    if (file) fclose(file);
  }
  barrier();
}

CASE(changed_new_file, "chmod and setxattr of a new file that is open") {
  MPI_File file = open_new("data");
  write_at(file, 0);
  change("data");
  write_at(file, 1);
  close_file(&file);
  barrier();
  if (rank == 0) say_status("data");
}

CASE(changed_replaced_file, "chmod and setxattr of an old file that is open and was cut to nothing") {
  if (rank == 0) leave("data");
  barrier();
  MPI_File file = open_anew("data");
  write_at(file, 0);
  change("data");
  write_at(file, 1);
  close_file(&file);
  barrier();
  if (rank == 0) say_status("data");
}

CASE(changed_when_closed, "chmod, utime and setxattr of a file that has just been closed") {
  MPI_File file = open_new("data");
  write_at(file, 0);
  close_file(&file);
  barrier();
  if (rank != 0) return;
  const struct utimbuf times = {1000000000, 1000000000};
  struct stat status;
  say("chmod: %d", chmod(path("data"), 0600));
  say("setxattr: %d", setxattr(path("data"), "user.note", "made", 4, 0));
  say("utime: %d", utime(path("data"), &times));
  stat(path("data"), &status);
  say("at %ld", (long)status.st_mtime);
  say_status("data");
}

CASE(linked_new_file, "a second name for a new file that is open") {
  MPI_File file = open_new("data");
  write_at(file, 0);
  barrier();
  if (rank == 0) say("link: %d", link(path("data"), path("kept")));
  barrier();
  write_at(file, 1);
  close_file(&file);
  say_names("data", "kept");
}

CASE(linked_replaced_file, "a second name for an old file that is open and was cut to nothing") {
  if (rank == 0) leave("data");
  barrier();
  MPI_File file = open_anew("data");
  write_at(file, 0);
  barrier();
  if (rank == 0) say("link: %d", link(path("data"), path("kept")));
  barrier();
  write_at(file, 1);
  close_file(&file);
  say_names("data", "kept");
}

static int is_taken(int result) { return result == -1 && errno == EEXIST; }

CASE(names_are_taken, "nothing else gets the name of a new file that is open") {
  MPI_File file = open_new("data");
  write_at(file, 0);
  barrier();
  if (rank == 0) {
    leave("other");
    say("mkdir: %d", is_taken(mkdir(path("data"), 0777)));
    say("symlink: %d", is_taken(symlink("other", path("data"))));
    say("mknod: %d", is_taken(mknod(path("data"), S_IFREG | 0644, 0)));
    say("link: %d", is_taken(link(path("other"), path("data"))));
  }
  barrier();
  close_file(&file);
  barrier();
  if (rank == 0) say_file("data");
}
