/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is loaded before GLEAN, and counts calls as tracers do: GLEAN's own calls must not come here, and then back as another library's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile long calls;

int stat(const char* path, struct stat* status) {
  int (*next)(const char*, struct stat*) = (int (*)(const char*, struct stat*))dlsym(RTLD_NEXT, "stat");
  const int result = next(path, status);
  ++calls;
  return result;
}

int access(const char* path, int mode) {
  int (*next)(const char*, int) = (int (*)(const char*, int))dlsym(RTLD_NEXT, "access");
  const int result = next(path, mode);
  ++calls;
  return result;
}
