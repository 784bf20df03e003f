/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that knows nothing of GLEAN and looks at what it has written, by itself and by processes that it starts. The file
 * is large enough not to be written before it is looked at. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { bytes = 16 << 20 };

static int rank, ranks, failures;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("rank %d: %s\n", rank, what);
  ++failures;
}

static MPI_File open_to_write(MPI_Comm comm, const char* name) {
  MPI_File file;
  MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  return file;
}

/* By each kind of call, for the last byte of a rank. */
static int looks_at(const char* name, long begin, char wanted) {
  char byte = 0;
  const long last = begin + bytes - 1;
  struct stat status;
  if (stat(name, &status) != 0 || status.st_size <= last || access(name, R_OK | W_OK) != 0) return 0;
  const int descriptor = open(name, O_RDONLY);
  if (descriptor < 0 || pread(descriptor, &byte, 1, last) != 1 || byte != wanted) return 0;
  close(descriptor);
  FILE* stream = fopen(name, "r");
  if (stream == NULL || fseek(stream, last, SEEK_SET) != 0 || fgetc(stream) != wanted) return 0;
  return fclose(stream) == 0 && chmod(name, 0600) == 0 && stat(name, &status) == 0 && (status.st_mode & 0777) == 0600;
}

static int sees_links_as_links(const char* name) {
  char link[40];
  struct stat status;
  snprintf(link, sizeof link, "interposition.link%d", rank);
  if (symlink(name, link) != 0) return 0;
  const int is_one = lstat(link, &status) == 0 && S_ISLNK(status.st_mode) &&
                     fstatat(AT_FDCWD, link, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode) &&
                     open(link, O_RDONLY | O_NOFOLLOW) < 0 && stat(link, &status) == 0 && S_ISREG(status.st_mode);
  return unlink(link) == 0 && is_one;
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char* data = malloc(bytes);
  memset(data, 'a' + rank, bytes);

  for (int round = 0; round < 3; ++round) {
    MPI_File file = open_to_write(MPI_COMM_WORLD, "interposition.out");
    MPI_File_write_at_all(file, (MPI_Offset)bytes * rank, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    struct stat status;
    expect(stat("interposition.out", &status) == 0 && status.st_size == (off_t)bytes * ranks, "the file is not there");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1) {
      char command[200];
      snprintf(command, sizeof command, "test $(wc -c < interposition.out) = %ld && mv interposition.out interposition.done",
               (long)bytes * ranks);
      expect(system(command) == 0, "a process that it has started does not find the file");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) expect(unlink("interposition.done") == 0, "what was moved is not there");

  /* A new file is not under its name as long as it is open. */
  MPI_File open_file = open_to_write(MPI_COMM_WORLD, "interposition.new");
  MPI_File_write_at_all(open_file, (MPI_Offset)bytes * rank, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  expect(looks_at("interposition.new", (long)bytes * rank, 'a' + rank), "it does not find what it has written of an open file");
  expect(sees_links_as_links("interposition.new"), "a symbolic link to an open file is taken for the file");
  MPI_Barrier(MPI_COMM_WORLD);
  const int other = (rank + 1) % ranks;
  expect(looks_at("interposition.new", (long)bytes * other, 'a' + other), "it does not find what another rank has written of an open file");
  expect(access("../interposition.new", R_OK) != 0, "it finds an open file elsewhere");
  MPI_File_close(&open_file);
  expect(looks_at("interposition.new", (long)bytes * other, 'a' + other), "it does not find a file that was looked at before");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) expect(unlink("interposition.new") == 0, "a file that was looked at before cannot be removed");

  /* A rank that does not take part does not wait for those that do. */
  MPI_Comm others;
  const int takes_part = rank < ranks - 1;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 1 : MPI_UNDEFINED, rank, &others);
  MPI_File file = MPI_FILE_NULL;
  if (takes_part) {
    file = open_to_write(others, "interposition.open");
    MPI_File_write_at_all(file, (MPI_Offset)bytes * rank, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (!takes_part) access("interposition.open", R_OK);
  MPI_Barrier(MPI_COMM_WORLD);
  if (takes_part) {
    MPI_File_close(&file);
    expect(access("interposition.open", R_OK) == 0, "the file of some ranks is not there");
    MPI_Comm_free(&others);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) expect(unlink("interposition.open") == 0, "the file of some ranks cannot be removed");
  free(data);
  MPI_Finalize();
  return failures != 0;
}
