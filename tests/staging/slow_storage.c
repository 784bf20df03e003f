// SPDX-License-Identifier: BSD-3-Clause
//
// Preloaded into a stager: its storage takes a second to make a file durable, so that what is closed is not published for that long.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fsync(int file) {
  static int (*next)(int) = NULL;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "fsync");
  sleep(1);
  return next(file);
}
