// SPDX-License-Identifier: BSD-3-Clause
//
// Preloaded into a stager: as long as the file HELD is there, its storage takes a second for each request of data that goes below the
// directory HELD_BELOW, but not for headers, with which files are opened. With SYNC_HELD it synchronizes nothing there for so long.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { header_bytes_max = 32768, looks_per_second = 100 };

static int is_below(int file) {
  char link[64], path[4096];
  const char* directory = getenv("HELD_BELOW");
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t bytes = readlink(link, path, sizeof path - 1);
  if (bytes < 0 || directory == NULL) return 0;
  path[bytes] = '\0';
  return strncmp(path, directory, strlen(directory)) == 0;
}

static void wait_while_held(int seconds) {
  const char* held = getenv("HELD");
  if (held == NULL) return;
  for (int looks = seconds * looks_per_second; looks > 0 && access(held, F_OK) == 0; --looks) usleep(1000000 / looks_per_second);
}

__attribute__((visibility("default"))) ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t offset) {
  static ssize_t (*next)(int, const void*, size_t, off64_t) = NULL;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "pwrite64");
  if (bytes > header_bytes_max && is_below(file)) wait_while_held(1);
  return next(file, data, bytes, offset);
}

__attribute__((visibility("default"))) ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  return pwrite64(file, data, bytes, offset);
}

__attribute__((visibility("default"))) ssize_t pwritev64(int file, const struct iovec* segments, int count, off64_t offset) {
  static ssize_t (*next)(int, const struct iovec*, int, off64_t) = NULL;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "pwritev64");
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += segments[i].iov_len;
  if (bytes > header_bytes_max && is_below(file)) wait_while_held(1);
  return next(file, segments, count, offset);
}

__attribute__((visibility("default"))) ssize_t pwritev(int file, const struct iovec* segments, int count, off_t offset) {
  return pwritev64(file, segments, count, offset);
}

__attribute__((visibility("default"))) int fsync(int file) {
  static int (*next)(int) = NULL;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "fsync");
  if (getenv("SYNC_HELD") != NULL && is_below(file)) wait_while_held(60);
  return next(file);
}

// Writes go through the calls above.
__attribute__((visibility("default"))) int io_uring_queue_init(unsigned entries, void* ring, unsigned flags) {
  (void)entries, (void)ring, (void)flags;
  return -38;   // ENOSYS
}
