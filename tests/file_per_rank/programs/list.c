// SPDX-License-Identifier: BSD-3-Clause
//
// A program that lists directories by the calls of the C library. It knows nothing of GLEAN. Rank 0 prints "CALL NAME" for each name,
// in the order in which it gets them.
//
//   list look DIRECTORY            by every call
//   list write DIRECTORY           each rank writes DIRECTORY/restart.RANK first, which is there when all have
//   list use DIRECTORY             restart.1 and restart.2 are looked at, read, renamed and removed by the descriptor of the directory
//   list run COMMAND               rank 0 starts the command
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"   // readdir_r, of older programs

static void need(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void tell(const char *call, const char *name) { printf("%s %s\n", call, name); }

static void tell_entry(const char *call, const struct dirent *entry) {
  need(entry->d_ino != 0, "an entry has no number");
  if (strncmp(entry->d_name, "restart.", 8) == 0) need(entry->d_type == DT_REG, "an entry is no file");
  tell(call, entry->d_name);
}

static void by_streams(const char *directory) {
  DIR *stream = opendir(directory);
  need(stream != NULL, "opendir");
  errno = 0;
  for (struct dirent *entry; (entry = readdir(stream)) != NULL;) tell_entry("readdir", entry);
  need(errno == 0 && readdir(stream) == NULL && errno == 0, "the end of readdir");
  rewinddir(stream);
  for (struct dirent64 *entry; (entry = readdir64(stream)) != NULL;) tell("readdir64", entry->d_name);
  need(closedir(stream) == 0, "closedir");
  stream = fdopendir(open(directory, O_RDONLY | O_DIRECTORY));
  need(stream != NULL, "fdopendir");
  struct dirent space, *found = NULL;
  while (readdir_r(stream, &space, &found) == 0 && found != NULL) tell_entry("readdir_r", found);
  need(closedir(stream) == 0, "closedir");
}

// From each position on, the same names follow as at first.
static void by_positions(const char *directory) {
  enum { most = 100 };
  DIR *stream = opendir(directory);
  char names[most][256];
  long positions[most];
  int count = 0;
  for (;; ++count) {
    positions[count] = telldir(stream);
    const struct dirent *entry = readdir(stream);
    if (entry == NULL) break;
    need(count + 1 < most, "so many names");
    strcpy(names[count], entry->d_name);
    tell("telldir", entry->d_name);
  }
  for (int from = count; from >= 0; --from) {
    seekdir(stream, positions[from]);
    for (int at = from; at < count; ++at) {
      const struct dirent *entry = readdir(stream);
      need(entry != NULL && strcmp(entry->d_name, names[at]) == 0, "seekdir");
    }
    need(readdir(stream) == NULL, "the end after seekdir");
  }
  closedir(stream);
}

static int is_restart(const struct dirent *entry) { return strncmp(entry->d_name, "restart.", 8) == 0; }
static int is_restart64(const struct dirent64 *entry) { return strncmp(entry->d_name, "restart.", 8) == 0; }

static void by_scans(const char *directory) {
  struct dirent **entries = NULL;
  int count = scandir(directory, &entries, is_restart, alphasort);
  need(count >= 0, "scandir");
  for (int i = 0; i < count; free(entries[i++])) tell_entry("scandir", entries[i]);
  free(entries);
  struct dirent64 **entries64 = NULL;
  count = scandir64(directory, &entries64, is_restart64, versionsort64);
  for (int i = 0; i < count; free(entries64[i++])) tell("scandir64", entries64[i]->d_name);
  free(entries64);
  const int descriptor = open(directory, O_RDONLY | O_DIRECTORY);
  count = scandirat(descriptor, ".", &entries, NULL, NULL);
  for (int i = 0; i < count; free(entries[i++])) tell_entry("scandirat", entries[i]);
  free(entries);
  close(descriptor);
}

static void by_patterns(const char *directory) {
  static const char *const patterns[] = {"restart.*", "restart.0", "restart.nowhere"};
  char pattern[600];
  glob_t found;
  memset(&found, 0, sizeof found);
  for (int i = 0; i < 3; ++i) {
    snprintf(pattern, sizeof pattern, "%s/%s", directory, patterns[i]);
    const int result = glob(pattern, i == 0 ? 0 : GLOB_APPEND, NULL, &found);
    need(result == 0 || (i > 0 && result == GLOB_NOMATCH), "glob");
  }
  for (size_t i = 0; i < found.gl_pathc; ++i) tell("glob", found.gl_pathv[i] + strlen(directory) + 1);
  globfree(&found);
  snprintf(pattern, sizeof pattern, "%s*/restart.0", directory);   // the name is whole, and its directory is not
  need(glob(pattern, 0, NULL, &found) == 0, "glob of directories");
  tell("glob_directories", strrchr(found.gl_pathv[0], '/') + 1);
  globfree(&found);
  glob64_t found64;
  snprintf(pattern, sizeof pattern, "%s/restart.*", directory);
  need(glob64(pattern, 0, NULL, &found64) == 0, "glob64");
  for (size_t i = 0; i < found64.gl_pathc; ++i) tell("glob64", strrchr(found64.gl_pathv[i], '/') + 1);
  globfree64(&found64);
}

static void look(const char *directory) {
  by_streams(directory);
  by_positions(directory);
  by_scans(directory);
  by_patterns(directory);
}

static void use(const char *directory) {
  const int there = open(directory, O_RDONLY | O_DIRECTORY);
  char path[600], text[32] = "";
  struct stat status, of_path;
  need(fstatat(there, "restart.1", &status, 0) == 0 && S_ISREG(status.st_mode) && status.st_size == 10, "fstatat");
  snprintf(path, sizeof path, "%s/restart.1", directory);
  need(stat(path, &of_path) == 0 && of_path.st_ino == status.st_ino, "stat");
  struct statx more;
  need(statx(there, "restart.1", AT_SYMLINK_NOFOLLOW, STATX_SIZE, &more) == 0 && more.stx_size == 10, "statx");
  need(faccessat(there, "restart.1", R_OK, 0) == 0 && access(path, F_OK) == 0, "faccessat");
  const int file = openat(there, "restart.1", O_RDONLY);
  need(file >= 0 && read(file, text, sizeof text) == 10 && strcmp(text, "restart.1\n") == 0 && close(file) == 0, "openat");
  need(faccessat(there, "restart.9", F_OK, 0) != 0 && errno == ENOENT, "faccessat of nothing");
  need(renameat(there, "restart.1", there, "restart.7") == 0, "renameat");
  need(fstatat(there, "restart.1", &status, 0) != 0 && errno == ENOENT, "fstatat of what was renamed");
  need(fstatat(there, "restart.7", &status, 0) == 0, "fstatat of its new name");
  need(unlinkat(there, "restart.2", 0) == 0 && faccessat(there, "restart.2", F_OK, 0) != 0, "unlinkat");
  need(unlinkat(there, "restart.2", 0) != 0 && errno == ENOENT, "unlinkat of nothing");
  close(there);
  look(directory);
}

static void write_file(const char *directory, int rank) {
  char path[600];
  snprintf(path, sizeof path, "%s/restart.%d", directory, rank);
  FILE *file = fopen(path, "w");
  need(file != NULL && fprintf(file, "restart.%d\n", rank) > 0, path);
  MPI_Barrier(MPI_COMM_WORLD);   // all are open
  if (rank == 0) look(directory);
  MPI_Barrier(MPI_COMM_WORLD);
  need(fclose(file) == 0, "fclose");
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  need(argc == 3, "what?");
  if (strcmp(argv[1], "write") == 0) write_file(argv[2], rank);
  else if (rank == 0 && strcmp(argv[1], "look") == 0) look(argv[2]);
  else if (rank == 0 && strcmp(argv[1], "use") == 0) use(argv[2]);
  else if (rank == 0 && strcmp(argv[1], "run") == 0) need(fflush(stdout) == 0 && system(argv[2]) == 0, argv[2]);
  fflush(stdout);
  return MPI_Finalize();
}
