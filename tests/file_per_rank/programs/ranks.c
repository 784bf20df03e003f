// SPDX-License-Identifier: BSD-3-Clause
//
// A program that writes one file for each rank, in one of many ways, and reads them back. It knows nothing of GLEAN.
//
//   ranks write WAY STEP          restart.RANK, of this step
//   ranks steps FIRST LAST        step.STEP.RANK, one after the other; removes those of the step before the last one
//   ranks read STEP RANKS         reads restart.0 … restart.(RANKS-1), shared out among the ranks, and compares
//   ranks loop SEED               step.1.RANK, step.2.RANK, … until it is killed; says in closed.RANK what it has closed
//   ranks crash STEP [WAY]        writes restart.RANK of the step, opens restart.RANK for the next, and is killed
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks;

static void fail(const char *what, const char *path) {
  fprintf(stderr, "rank %d: %s '%s': %s\n", rank, what, path, strerror(errno));
  MPI_Abort(MPI_COMM_WORLD, 1);
}
static void need(int holds, const char *what, const char *path) {
  if (!holds) fail(what, path);
}

static size_t size_of(int of_rank, int step) { return 100000 + 4097 * (size_t)of_rank + 13 * (size_t)step; }

static char *bytes_of(int of_rank, int step) {
  const size_t size = size_of(of_rank, step);
  char *bytes = malloc(size);
  unsigned state = (unsigned)(of_rank * 1000 + step + 1);
  for (size_t i = 0; i < size; ++i) bytes[i] = (char)((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

static void put(int file, const char *bytes, size_t size, const char *path) {
  for (size_t done = 0; done < size;) {
    const size_t part = size - done < 33333 ? size - done : 33333;
    const ssize_t written = write(file, bytes + done, part);
    need(written > 0, "write", path);
    done += (size_t)written;
  }
}

static void write_file(const char *way, const char *path, const char *bytes, size_t size) {
  if (strcmp(way, "stdio") == 0) {
    FILE *file = fopen(path, "wb");
    need(file != NULL, "fopen", path);
    need(fwrite(bytes, 1, size / 2, file) == size / 2, "fwrite", path);
    need(fseek(file, 0, SEEK_SET) == 0 && fwrite(bytes, 1, size, file) == size, "fwrite", path);
    need(fclose(file) == 0, "fclose", path);
    file = fmemopen(NULL, 10, "w");
    errno = 0;
    need(file != NULL && fclose(file) == 0 && errno == 0, "fclose", "in memory");
    return;
  }
  if (strcmp(way, "append") == 0) {
    unlink(path);
    for (int half = 0; half < 2; ++half) {
      FILE *file = fopen(path, "a");
      need(file != NULL, "fopen", path);
      const size_t begin = half == 0 ? 0 : size / 2, part = half == 0 ? size / 2 : size - size / 2;
      need(fwrite(bytes + begin, 1, part, file) == part && fclose(file) == 0, "fwrite", path);
    }
    return;
  }
  if (strcmp(way, "rename") == 0) {
    char other[300];
    snprintf(other, sizeof other, "new_%s", path);
    write_file("write", other, bytes, size);
    need(rename(other, path) == 0, "rename", path);
    return;
  }
  const int direct = strcmp(way, "direct") == 0 ? O_DIRECT : 0;
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | direct, 0644);
  need(file >= 0, "open", path);
  if (direct != 0) {   // what memory does not have must not be asked for
    need((fcntl(file, F_GETFL) & O_DIRECT) == 0, "direct", path);
    way = "write";
  }
  if (strcmp(way, "mmap") == 0) {
    need(ftruncate(file, (off_t)size) == 0, "ftruncate", path);
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    need(map != MAP_FAILED && close(file) == 0, "mmap", path);
    memcpy(map, bytes, size);
    need(munmap(map, size) == 0, "munmap", path);
    return;
  }
  if (strcmp(way, "dup") == 0) {
    const int other = dup(file);
    put(file, bytes, size / 2, path);
    need(close(file) == 0, "close", path);
    put(other, bytes + size / 2, size - size / 2, path);
    need(close(other) == 0, "close", path);
    return;
  }
  if (strcmp(way, "fork") == 0) {
    put(file, bytes, size / 3, path);
    const pid_t child = fork();
    if (child == 0) {
      for (size_t done = size / 3; done < size;) {
        const ssize_t written = write(file, bytes + done, size - done);
        if (written <= 0) _exit(1);
        done += (size_t)written;
      }
      exit(0);
    }
    close(file);
    int status = 0;
    need(child > 0 && waitpid(child, &status, 0) == child && status == 0, "fork", path);
    need(system("true") == 0, "system", path);
    return;
  }
  if (strcmp(way, "vfork") == 0) {
    const pid_t child = vfork();
    if (child == 0) {
      close(file);
      _exit(0);
    }
    int status = 0;
    need(child > 0 && waitpid(child, &status, 0) == child && status == 0, "vfork", path);
    way = "write";
  }
  need(strcmp(way, "write") == 0, "no such way", way);
  put(file, bytes, size, path);
  struct stat status, of_path;
  need(fstat(file, &status) == 0 && stat(path, &of_path) == 0, "stat", path);
  need(of_path.st_size == (off_t)size && of_path.st_ino == status.st_ino, "is another file", path);
  need(close(file) == 0, "close", path);
}

static void compare(const char *path, int of_rank, int step) {
  const size_t size = size_of(of_rank, step);
  char *expected = bytes_of(of_rank, step), *found = calloc(1, size + 1);
  struct stat status;
  need(stat(path, &status) == 0, "stat", path);
  need(status.st_size == (off_t)size, "size", path);
  need(access(path, R_OK) == 0, "access", path);
  FILE *file = fopen(path, "rb");
  need(file != NULL, "fopen", path);
  need(fread(found, 1, size + 1, file) == size, "fread", path);
  need(memcmp(found, expected, size) == 0, "contents", path);
  fclose(file);
  free(expected);
  free(found);
}

static void write_steps(int first, int last) {
  char path[300];
  for (int step = first; step <= last; ++step) {
    char *bytes = bytes_of(rank, step);
    snprintf(path, sizeof path, "step.%d.%d", step, rank);
    write_file("write", path, bytes, size_of(rank, step));
    compare(path, rank, step);
    free(bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (step < first + 2) continue;
    snprintf(path, sizeof path, "step.%d.%d", step - 2, rank);
    need(unlink(path) == 0, "unlink", path);
    need(access(path, F_OK) != 0 && errno == ENOENT, "removed", path);
  }
}

static void loop(unsigned seed) {
  char path[300], text[32];
  snprintf(path, sizeof path, "closed.%d", rank);
  const int closed = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  need(closed >= 0, "open", path);
  static const char *ways[] = {"write", "stdio", "append", "rename"};
  srand(seed + (unsigned)rank);
  for (int step = 1;; ++step) {
    char *bytes = bytes_of(rank, step);
    snprintf(path, sizeof path, "step.%d.%d", step, rank);
    write_file(ways[rand() % 4], path, bytes, size_of(rank, step));
    free(bytes);
    const int length = snprintf(text, sizeof text, "%d\n", step);
    need(write(closed, text, (size_t)length) == length, "write", "closed");
    usleep((unsigned)rand() % 60000);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char *what = argc > 1 ? argv[1] : "";
  char path[300];
  snprintf(path, sizeof path, "restart.%d", rank);
  if (strcmp(what, "write") == 0 && argc == 4) {
    const int step = atoi(argv[3]);
    char *bytes = bytes_of(rank, step);
    write_file(argv[2], path, bytes, size_of(rank, step));
    MPI_Barrier(MPI_COMM_WORLD);
    compare(path, rank, step);
  } else if (strcmp(what, "steps") == 0 && argc == 4) {
    write_steps(atoi(argv[2]), atoi(argv[3]));
  } else if (strcmp(what, "loop") == 0 && argc == 3) {
    loop((unsigned)atoi(argv[2]));
  } else if (strcmp(what, "read") == 0 && argc == 4) {
    const int files = atoi(argv[3]);
    for (int each = rank; each < files; each += ranks) {
      snprintf(path, sizeof path, "restart.%d", each);
      compare(path, each, atoi(argv[2]));
    }
    snprintf(path, sizeof path, "restart.%d", files);
    need(open(path, O_RDONLY) < 0 && errno == ENOENT, "there is", path);
  } else if (strcmp(what, "crash") == 0 && (argc == 3 || argc == 4)) {
    const int step = atoi(argv[2]);
    char *bytes = bytes_of(rank, step);
    write_file(argc == 4 ? argv[3] : "write", path, bytes, size_of(rank, step));
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(path, sizeof path, "begun.%d", rank);
    const int file = open(path, O_WRONLY | O_CREAT, 0644);
    put(file, bytes, 1000, path);
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
  } else {
    need(0, "what?", what);
  }
  return MPI_Finalize();
}
