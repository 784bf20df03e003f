/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is loaded after GLEAN and before the MPI library, and notes how files are opened, a line for each rank that opens one, in the file that
 * OPENS names: the path, and the hints in the order of their names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { hints_max = 64 };

static int by_text(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

static void note(const char* path, MPI_Info info) {
  char line[8192];
  char* hints[hints_max];
  int count = 0;
  if (info != MPI_INFO_NULL) PMPI_Info_get_nkeys(info, &count);
  if (count > hints_max) count = hints_max;
  for (int i = 0; i < count; ++i) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    PMPI_Info_get_nthkey(info, i, key);
    PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    if (asprintf(&hints[i], " %s=%s", key, value) < 0) abort();
  }
  qsort(hints, (size_t)count, sizeof *hints, by_text);
  size_t length = (size_t)snprintf(line, sizeof line, "%s", path);
  for (int i = 0; i < count; ++i) {
    length += (size_t)snprintf(line + length, sizeof line - length, "%s", hints[i]);
    free(hints[i]);
  }
  line[length++] = '\n';
  const int log = open(getenv("OPENS"), O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (log < 0 || write(log, line, length) != (ssize_t)length) abort();
  close(log);
}

static int original(MPI_Comm comm, const char* path, int amode, MPI_Info info, MPI_File* file) {
  int (*next)(MPI_Comm, const char*, int, MPI_Info, MPI_File*) =
      (int (*)(MPI_Comm, const char*, int, MPI_Info, MPI_File*))dlsym(RTLD_NEXT, "PMPI_File_open");
  return next(comm, path, amode, info, file);
}

/* GLEAN's calls. */
int PMPI_File_open(MPI_Comm comm, const char* path, int amode, MPI_Info info, MPI_File* file) {
  note(path, info);
  return original(comm, path, amode, info, file);
}

/* Those of libraries that know nothing of GLEAN. */
int MPI_File_open(MPI_Comm comm, const char* path, int amode, MPI_Info info, MPI_File* file) {
  note(path, info);
  return original(comm, path, amode, info, file);
}
