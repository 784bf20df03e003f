/* SPDX-License-Identifier: BSD-3-Clause
 *
 * looker CALL PATH: looks at the file by a function of the C library. Exit code 0: it is there. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>
#include <wordexp.h>

static const char* path;
static int result = -1;

static int opened(int descriptor) {
  char text[32] = {0};
  return descriptor >= 0 && read(descriptor, text, sizeof text - 1) == 10 && strcmp(text, "all of it\n") == 0;
}

static int opened_stream(FILE* stream) { return stream != NULL && opened(fileno(stream)); }

static int is_listed(void) {
  char directory[4096];
  strncpy(directory, path, sizeof directory - 1);
  char* slash = strrchr(directory, '/');
  *slash = '\0';
  DIR* entries = opendir(directory);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    if (strcmp(entry->d_name, slash + 1) == 0) return 1;
  }
  return 0;
}

static int is_named(const struct dirent* entry) { return strcmp(entry->d_name, "a file.nc") == 0; }

static int is_scanned(void) {
  struct dirent** entries;
  return scandir(".", &entries, is_named, alphasort) == 1;
}

static int is_it(const char* name, const struct stat* status, int type) {
  (void)status;
  return type == FTW_F && strcmp(name, "./a file.nc") == 0;
}

static int is_it_too(const char* name, const struct stat* status, int type, struct FTW* where) {
  (void)where;
  return is_it(name, status, type);
}

/* As a process sees it that does not wait. */
static int is_there(void) { return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0; }

/* The name of a file that says that `path` is complete; it is removed when it is made. */
static const char* marker(const char* ending) {
  static char name[4200];
  snprintf(name, sizeof name, "%s%s", path, ending);
  return name;
}

static const char* marker_of_stem(void) {
  static char name[4200];
  snprintf(name, sizeof name, "%.*s_DONE", (int)strlen(path) - 3, path);
  return name;
}

static int is_marked(int made, const char* name) {
  const int there = made >= 0 && is_there();
  if (made >= 0) unlink(name);
  return there;
}

static int is_marked_by_stream(FILE* made, const char* name) { return is_marked(made == NULL ? -1 : 0, name); }

static int is_marked_by_rename(void) {
  char temporary[4300];
  snprintf(temporary, sizeof temporary, "%s.temporary", path);
  close(open(temporary, O_WRONLY | O_CREAT, 0600));
  return is_marked(rename(temporary, marker(".success")), marker(".success"));
}

/* Looking at the directory does not wait for the file. */
static int directory_is_there(void) {
  char directory[4096];
  struct stat status;
  strncpy(directory, path, sizeof directory - 1);
  *strrchr(directory, '/') = '\0';
  return stat(directory, &status) == 0 && access(directory, W_OK) == 0 && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
}

static void in_handler(int signal_number) {
  (void)signal_number;
  result = opened(open(path, O_RDONLY));
}

static int from_handler(void) {
  signal(SIGUSR1, in_handler);
  raise(SIGUSR1);
  return result;
}

static int from_child(void) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) _exit(opened(open(path, O_RDONLY)) ? 0 : 1);
  waitpid(child, &status, 0);
  return status == 0;
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  path = arguments[2];
  char other[4200];
  snprintf(other, sizeof other, "%s.other", path);
  struct stat status;
  struct stat64 status64;
  struct statx extended;
  struct statfs file_system;
  struct statvfs file_system_too;
  char resolved[PATH_MAX];
  glob_t found;
  wordexp_t words;
#define CALL(name, holds) \
  if (strcmp(arguments[1], name) == 0) return (holds) ? 0 : 1;
  CALL("open", opened(open(path, O_RDONLY)))
  CALL("open64", opened(open64(path, O_RDONLY)))
  CALL("openat", opened(openat(AT_FDCWD, path, O_RDONLY)))
  CALL("openat64", opened(openat64(AT_FDCWD, path, O_RDONLY)))
  CALL("fopen", opened_stream(fopen(path, "r")))
  CALL("fopen64", opened_stream(fopen64(path, "r")))
  CALL("freopen", opened_stream(freopen(path, "r", stdin)))
  CALL("opendir", is_listed())
  CALL("stat", stat(path, &status) == 0 && status.st_size == 10)
  CALL("stat64", stat64(path, &status64) == 0 && status64.st_size == 10)
  CALL("lstat", lstat(path, &status) == 0)
  CALL("lstat64", lstat64(path, &status64) == 0)
  CALL("fstatat", fstatat(AT_FDCWD, path, &status, 0) == 0)
  CALL("fstatat64", fstatat64(AT_FDCWD, path, &status64, 0) == 0)
  CALL("statx", statx(AT_FDCWD, path, 0, STATX_SIZE, &extended) == 0 && extended.stx_size == 10)
  CALL("access", access(path, R_OK) == 0)
  CALL("faccessat", faccessat(AT_FDCWD, path, R_OK, 0) == 0)
  CALL("eaccess", eaccess(path, R_OK) == 0)
  CALL("chmod", chmod(path, 0600) == 0)
  CALL("chown", chown(path, (uid_t)-1, (gid_t)-1) == 0)
  CALL("utimensat", utimensat(AT_FDCWD, path, NULL, 0) == 0)
  CALL("lchown", lchown(path, (uid_t)-1, (gid_t)-1) == 0)
  CALL("utime", utime(path, NULL) == 0)
  CALL("utimes", utimes(path, NULL) == 0)
  CALL("lutimes", lutimes(path, NULL) == 0)
  CALL("statfs", statfs(path, &file_system) == 0)
  CALL("statvfs", statvfs(path, &file_system_too) == 0)
  CALL("pathconf", pathconf(path, _PC_LINK_MAX) > 0)
  CALL("listxattr", listxattr(path, NULL, 0) >= 0)
  CALL("setxattr", setxattr(path, "user.looked", "x", 1, 0) == 0 || errno == ENOTSUP)
  CALL("removexattr", removexattr(path, "user.looked") == 0 || errno == ENODATA || errno == ENOTSUP)
  CALL("getxattr", getxattr(path, "user.looked", other, sizeof other) >= 0 || errno == ENODATA || errno == ENOTSUP)
  CALL("realpath", realpath(path, resolved) != NULL)
  CALL("canonicalize_file_name", canonicalize_file_name(path) != NULL)
  CALL("scandir", is_scanned())
  CALL("glob", glob(path, 0, NULL, &found) == 0 && found.gl_pathc == 1)
  CALL("wordexp", wordexp("*.nc", &words, 0) == 0 && words.we_wordc == 1 && strcmp(words.we_wordv[0], "a file.nc") == 0)
  CALL("ftw", ftw(".", is_it, 4) == 1)
  CALL("nftw", nftw(".", is_it_too, 4, FTW_PHYS) == 1)
  CALL("mkdir", mkdir(path, 0700) != 0)
  CALL("mkdirat", mkdirat(AT_FDCWD, path, 0700) != 0)
  CALL("mknod", mknod(path, S_IFREG | 0600, 0) != 0)
  CALL("mknodat", mknodat(AT_FDCWD, path, S_IFREG | 0600, 0) != 0)
  CALL("truncate", truncate(path, 3) == 0)
  CALL("truncate64", truncate64(path, 3) == 0)
  CALL("remove", remove(path) == 0)
  CALL("unlink", unlink(path) == 0)
  CALL("unlinkat", unlinkat(AT_FDCWD, path, 0) == 0)
  CALL("rename", rename(path, other) == 0)
  CALL("renameat", renameat(AT_FDCWD, path, AT_FDCWD, other) == 0)
  CALL("renameat2", renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_NOREPLACE) == 0)
  CALL("link", link(path, other) == 0)
  CALL("linkat", linkat(AT_FDCWD, path, AT_FDCWD, other, 0) == 0)
  /* They must not get in before the file that is about to be there. */
  CALL("creat", creat(path, 0600) >= 0 && unlink(path) == 0)
  CALL("symlink", symlink("nowhere", path) != 0)
  CALL("symlinkat", symlinkat("nowhere", AT_FDCWD, path) != 0)
  CALL("marker_open", is_marked(open(marker(".done"), O_WRONLY | O_CREAT, 0600), marker(".done")))
  CALL("marker_openat", is_marked(openat(AT_FDCWD, marker("-md5"), O_WRONLY | O_CREAT | O_TRUNC, 0600), marker("-md5")))
  CALL("marker_creat", is_marked(creat(marker(".sha256"), 0600), marker(".sha256")))
  CALL("marker_fopen", is_marked_by_stream(fopen(marker("_ok"), "w"), marker("_ok")))
  CALL("marker_of_stem", is_marked_by_stream(fopen(marker_of_stem(), "a"), marker_of_stem()))
  CALL("marker_mknod", is_marked(mknod(marker(".ready"), S_IFREG | 0600, 0), marker(".ready")))
  CALL("marker_rename", is_marked_by_rename())
  CALL("marker_symlink", is_marked(symlink("a file.nc", other), other))
  CALL("marker_link", is_marked(link(path, other), other))
  if (strcmp(arguments[1], "configured") == 0) return is_marked(open(marker(".flag"), O_WRONLY | O_CREAT, 0600), marker(".flag")) ? 0 : 1;
  CALL("directory", directory_is_there())
  CALL("handler", from_handler())
  CALL("fork", from_child())
  fprintf(stderr, "looker: no call %s\n", arguments[1]);
  return 2;
}
