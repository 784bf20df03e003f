// SPDX-License-Identifier: BSD-3-Clause
//
//   looks_elsewhere DIRECTORY    under `glean run`, in mode staged, where only the stagers see the directory
//
// Looks in many ways at DIRECTORY/in, of 3,000,000 bytes i % 251, reads it, and removes and renames DIRECTORY/old_RANK, …
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { bytes = 3000000 };

static int failures = 0, rank = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: wrong: %s (%s)\n", rank, what, strerror(errno));
  ++failures;
}

static int is_content(const unsigned char* found, int begin, int count) {
  for (int i = 0; i < count; ++i) {
    if (found[i] != (begin + i) % 251) return 0;
  }
  return 1;
}

static void look(const char* in, const char* missing) {
  struct stat status;
  struct statx more;
  expect(stat(in, &status) == 0 && status.st_size == bytes && S_ISREG(status.st_mode) && status.st_mtime > 0, "stat");
  expect(lstat(in, &status) == 0 && status.st_size == bytes, "lstat");
  expect(fstatat(AT_FDCWD, in, &status, 0) == 0 && status.st_size == bytes, "fstatat");
  expect(statx(AT_FDCWD, in, 0, STATX_SIZE, &more) == 0 && more.stx_size == bytes, "statx");
  expect(access(in, R_OK) == 0 && access(in, F_OK) == 0, "access");
  expect(access(in, W_OK) != 0 && errno == EROFS, "access to write");
  errno = 0;
  expect(stat(missing, &status) != 0 && errno == ENOENT, "stat of what is not there");
  expect(access(missing, F_OK) != 0 && errno == ENOENT, "access of what is not there");
  expect(open(missing, O_RDONLY) < 0 && errno == ENOENT, "open of what is not there");
  expect(unlink(missing) != 0 && errno == ENOENT, "unlink of what is not there");
  expect(open(in, O_RDWR) < 0 && errno == EROFS, "open to write");
}

static void read_it(const char* in) {
  unsigned char* buffer = malloc(bytes + 1);
  const int file = open(in, O_RDONLY);
  expect(file >= 0 && read(file, buffer, bytes + 1) == bytes && is_content(buffer, 0, bytes), "read");
  expect(write(file, buffer, 1) < 0, "write");
  close(file);
  FILE* stream = fopen(in, "rb");
  expect(stream != NULL && fseek(stream, 1000, SEEK_SET) == 0 && fread(buffer, 1, 100, stream) == 100 && is_content(buffer, 1000, 100),
         "fread");
  if (stream != NULL) fclose(stream);
  expect(fopen(in, "r+") == NULL, "fopen to write");
  MPI_File handle;
  MPI_Status status;
  MPI_Offset size = 0;
  int count = 0;
  const int code = MPI_File_open(MPI_COMM_WORLD, in, MPI_MODE_RDONLY, MPI_INFO_NULL, &handle);
  expect(code == MPI_SUCCESS, "MPI_File_open");
  if (code == MPI_SUCCESS) {
    MPI_File_get_size(handle, &size);
    expect(size == bytes, "MPI_File_get_size");
    MPI_File_read_at_all(handle, 1000 * (rank + 1), buffer, 100000, MPI_BYTE, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(count == 100000 && is_content(buffer, 1000 * (rank + 1), 100000), "MPI_File_read_at_all");
    MPI_File_close(&handle);
  }
  free(buffer);
}

// A file that another user has put where a copy is to be is not taken for it. Needs to be root.
static void read_past_another_user(const char* in) {
  char copy[1000] = "";
  struct stat status;
  DIR* memory = opendir("/dev/shm");
  for (struct dirent* entry = readdir(memory); entry != NULL; entry = readdir(memory)) {
    char path[1000];
    snprintf(path, sizeof path, "/dev/shm/%s", entry->d_name);
    if (strncmp(entry->d_name, "glean-copy.", 11) == 0 && stat(path, &status) == 0 && status.st_size == bytes) strcpy(copy, path);
  }
  closedir(memory);
  expect(copy[0] != 0, "a copy");
  expect(unlink(copy) == 0, "unlink of the copy");
  const int made = open(copy, O_WRONLY | O_CREAT | O_EXCL, 0600);
  expect(made >= 0 && write(made, "other", 5) == 5 && fchmod(made, 0400) == 0, "a file of another user");
  if (fchown(made, 12345, 12345) == 0) expect(open(in, O_RDONLY) < 0 && errno == EACCES, "open of another user's file");
  close(made);
  expect(unlink(copy) == 0, "unlink of another user's file");
}

int main(int argc, char** argv) {
  char in[1000], missing[1000], old[1000], new_name[1000], others[1000];
  struct stat status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(in, sizeof in, "%s/in", argv[1]);
  snprintf(missing, sizeof missing, "%s/missing", argv[1]);
  snprintf(old, sizeof old, "%s/old_%d", argv[1], rank);
  snprintf(new_name, sizeof new_name, "%s/new_%d", argv[1], rank);
  snprintf(others, sizeof others, "%s/by_mpi_%d", argv[1], rank);
  look(in, missing);
  read_it(in);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) read_past_another_user(in);
  MPI_Barrier(MPI_COMM_WORLD);
  read_it(in);
  expect(rename(old, new_name) == 0, "rename");
  expect(stat(old, &status) != 0 && stat(new_name, &status) == 0, "stat after rename");
  expect(rename(new_name, "/tmp/elsewhere") != 0 && errno == EXDEV, "rename to another file system");
  expect(unlink(new_name) == 0 && stat(new_name, &status) != 0, "unlink");
  expect(MPI_File_delete(others, MPI_INFO_NULL) == MPI_SUCCESS && stat(others, &status) != 0, "MPI_File_delete");
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
