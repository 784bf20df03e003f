// SPDX-License-Identifier: BSD-3-Clause
//
// Random calls on a few files of each rank, and what each of them returns: the same with GLEAN as without it.
//
//   random SEED CALLS
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { names = 4, handles = 3 };

static uint64_t state;
static unsigned draw(unsigned below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % below;
}

static int rank;
static FILE *told;
static int open_files[handles] = {-1, -1, -1};
static FILE *streams[handles];

static const char *name(unsigned which) {
  static char text[2][64];
  static int next;
  next = !next;
  snprintf(text[next], sizeof text[next], which == 3 ? "other.%d" : "f%2$u.%1$d", rank, which);
  return text[next];
}

static void tell(const char *call, const char *path, long result) {
  fprintf(told, "%s %s = %ld%s%s\n", call, path, result, result < 0 ? " " : "", result < 0 ? strerror(errno) : "");
}

static unsigned sum_of(const unsigned char *bytes, long size) {
  unsigned sum = 17;
  for (long i = 0; i < size; ++i) sum = sum * 31 + bytes[i];
  return sum;
}

static void fill(unsigned char *bytes, unsigned size) {
  for (unsigned i = 0; i < size; ++i) bytes[i] = (unsigned char)draw(256);
}

static void open_one(unsigned handle) {
  static const int flags[] = {O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_CREAT, O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_TRUNC,
                              O_RDWR | O_TRUNC, O_WRONLY | O_APPEND | O_CREAT, O_RDWR | O_CREAT | O_EXCL, O_RDONLY | O_CREAT};
  const int chosen = flags[draw(sizeof flags / sizeof *flags)];
  const char *path = name(draw(names));
  open_files[handle] = draw(2) ? open(path, chosen, 0644) : openat(AT_FDCWD, path, chosen, 0600);
  tell("open", path, open_files[handle] < 0 ? -1 : chosen);
}

static void use(unsigned handle) {
  static unsigned char bytes[40000];
  const int file = open_files[handle];
  const unsigned size = 1 + draw(sizeof bytes - 1), what = draw(9);
  char where[32];
  snprintf(where, sizeof where, "#%u", handle);
  if (what == 0) fill(bytes, size), tell("write", where, write(file, bytes, size));
  else if (what == 1) fill(bytes, size), tell("pwrite", where, pwrite(file, bytes, size, draw(100000)));
  else if (what == 2) tell("lseek", where, lseek(file, draw(50000), draw(2) ? SEEK_SET : SEEK_END));
  else if (what == 3) {
    const long there = pread(file, bytes, size, draw(60000));
    tell("pread", where, there);
    if (there > 0) fprintf(told, "  %u\n", sum_of(bytes, there));
  } else if (what == 4) tell("ftruncate", where, ftruncate(file, draw(80000)));
  else if (what == 5) {
    struct stat status;
    fstat(file, &status);
    fprintf(told, "fstat %s = %ld\n", where, (long)status.st_size);
    void *map = status.st_size > 0 ? mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    fprintf(told, "mmap %s %d\n", where, map != MAP_FAILED);
    if (map != MAP_FAILED) memset((char *)map + draw((unsigned)status.st_size), 'm', 1), munmap(map, (size_t)status.st_size);
  } else if (what == 6) {
    const int other = dup(file);
    close(file);
    open_files[handle] = other;
  } else if (what == 7) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) _exit(write(file, "child", 5) == 5 ? 5 : 0);
    int result = 0;
    waitpid(child, &result, 0);
    tell("child", where, WEXITSTATUS(result));
  } else tell("close", where, close(file)), open_files[handle] = -1;
}

static void use_stream(unsigned handle) {
  static const char *modes[] = {"r", "r+", "w", "w+", "a", "a+", "wx"};
  char bytes[5000];
  if (streams[handle] == NULL) {
    const char *path = name(draw(names)), *mode = modes[draw(7)];
    streams[handle] = fopen(path, mode);
    tell(mode, path, streams[handle] == NULL ? -1 : 0);
    return;
  }
  const unsigned size = 1 + draw(sizeof bytes - 1), what = draw(4);
  if (what == 0) {
    fill((unsigned char *)bytes, size);
    fseek(streams[handle], draw(20000), SEEK_SET);
    const size_t written = fwrite(bytes, 1, size, streams[handle]);
    fprintf(told, "fwrite %zu %d\n", written, fflush(streams[handle]));
    clearerr(streams[handle]);
  } else if (what == 1) {
    fseek(streams[handle], draw(20000), SEEK_SET);
    const size_t there = fread(bytes, 1, size, streams[handle]);
    fprintf(told, "fread %zu %u\n", there, sum_of((unsigned char *)bytes, (long)there));
    clearerr(streams[handle]);
  } else if (what == 2) {
    const char *path = name(draw(names)), *mode = modes[draw(7)];
    streams[handle] = freopen(path, mode, streams[handle]);
    tell("freopen", path, streams[handle] == NULL ? -1 : 0);
  } else {
    fprintf(told, "fclose %d\n", fclose(streams[handle]));
    streams[handle] = NULL;
  }
}

static void look(const char *path) {
  struct stat status;
  const int result = draw(2) ? stat(path, &status) : lstat(path, &status);
  tell("stat", path, result < 0 ? result : (long)status.st_size);
  tell("access", path, access(path, R_OK | W_OK));
}

// Which of this rank's names the directory has, and how often.
static void list(void) {
  int found[names] = {0};
  DIR *entries = opendir(".");
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    for (unsigned i = 0; i < names; ++i) found[i] += strcmp(entry->d_name, name(i)) == 0;
  }
  closedir(entries);
  fprintf(told, "listed %d %d %d %d\n", found[0], found[1], found[2], found[3]);
}

static void close_all(void) {
  for (int i = 0; i < handles; ++i) {
    if (open_files[i] >= 0) close(open_files[i]);
    if (streams[i] != NULL) fclose(streams[i]);
    open_files[i] = -1;
    streams[i] = NULL;
  }
}

static void use_name(void) {
  const char *path = name(draw(names));
  const unsigned what = draw(6);
  if (what == 5) list();
  else if (what == 0) tell("unlink", path, draw(2) ? unlink(path) : remove(path));
  else if (what == 1) {
    const char *to = name(draw(names));
    if (path[0] == 'o') path = to;           // or it would be a file of its own under the name of the rule
    else if (to[0] == 'o') close_all();      // a file that leaves its container takes what it has then (docs/file-per-rank.md)
    tell("rename", path, rename(path, to));
    fprintf(told, "  to %s\n", to);
  } else if (what == 2) tell("truncate", path, truncate(path, draw(50000)));
  else look(path);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  state = strtoull(argv[1], NULL, 10) * 1000003u + (uint64_t)rank;
  char path[64];
  snprintf(path, sizeof path, "told.%d", rank);
  told = fopen(path, "a");
  fprintf(told, "-- %s\n", argv[1]);
  for (int call = atoi(argv[2]); call > 0; --call) {
    const unsigned handle = draw(handles), what = draw(10);
    if (what < 2) use_name();
    else if (what < 5) use_stream(handle);
    else if (open_files[handle] < 0) open_one(handle);
    else use(handle);
    if (draw(40) == 0) usleep(draw(150000));   // what is closed is gathered meanwhile
  }
  close_all();
  for (unsigned i = 0; i < names; ++i) look(name(i));
  list();
  fclose(told);
  return MPI_Finalize();
}
