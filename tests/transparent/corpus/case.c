// SPDX-License-Identifier: BSD-3-Clause
#include "case.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int rank, ranks;

static struct corpus_case* cases;
static const char* directory;
static const char* case_name;
static char* text;
static size_t text_bytes, text_room;

void corpus_register(struct corpus_case* what) {
  struct corpus_case** place = &cases;
  while (*place && strcmp((*place)->name, what->name) < 0) place = &(*place)->next;
  what->next = *place;
  *place = what;
}

const char* path(const char* name) {
  static char paths[8][1024];
  static unsigned next;
  char* result = paths[next++ % 8];
  snprintf(result, sizeof paths[0], "%s/%s/%s", directory, case_name, name);
  return result;
}

static void append(const char* bytes, size_t count) {
  if (text_bytes + count > text_room) {
    text_room = 2 * (text_bytes + count);
    text = realloc(text, text_room);
    if (!text) abort();
  }
  memcpy(text + text_bytes, bytes, count);
  text_bytes += count;
}

void say(const char* format, ...) {
  char line[2048];
  const int start = snprintf(line, sizeof line, "[%d] ", rank);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line + start, sizeof line - (size_t)start, format, arguments);
  va_end(arguments);
  append(line, strlen(line));
  append("\n", 1);
}

int called(int code, const char* call, int line) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) {
    MPI_Error_class(code, &class);
    say("line %d: %.60s: error class %d", line, call, class);
  }
  return class;
}

void fill(void* buffer, size_t bytes, int tag) {
  unsigned char* byte = buffer;
  uint32_t state = (uint32_t)(rank + 1) * 2654435761U ^ (uint32_t)tag * 40503U;
  for (size_t i = 0; i < bytes; ++i) {
    state = state * 1664525U + 1013904223U;
    byte[i] = (unsigned char)(state >> 24);
  }
}

static uint64_t checksum(uint64_t sum, const unsigned char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) sum = (sum ^ bytes[i]) * 1099511628211U;
  return sum;
}

void say_bytes(const char* what, const void* buffer, size_t bytes) {
  char first[64] = "";
  const unsigned char* byte = buffer;
  for (size_t i = 0; i < bytes && i < 12; ++i) snprintf(first + 2 * i, 3, "%02x", byte[i]);
  say("%s: %zu bytes, %016llx, %s", what, bytes, (unsigned long long)checksum(14695981039346656037U, byte, bytes), first);
}

void say_count(const char* what, const MPI_Status* status) {
  int bytes = 0;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  say("%s: %d bytes moved", what, bytes);
}

void say_file(const char* name) {
  FILE* file = fopen(path(name), "rb");
  if (!file) {
    say("%s: %s", name, strerror(errno));
    return;
  }
  static unsigned char bytes[1 << 16];
  uint64_t sum = 14695981039346656037U;
  long long size = 0;
  for (size_t count; (count = fread(bytes, 1, sizeof bytes, file)) > 0; size += (long long)count) {
    sum = checksum(sum, bytes, count);
  }
  fclose(file);
  struct stat status;
  stat(path(name), &status);
  say("%s: %lld bytes (stat: %lld), %016llx", name, size, (long long)status.st_size, (unsigned long long)sum);
}

MPI_File open_file(MPI_Comm comm, const char* name, int amode) {
  MPI_File file = MPI_FILE_NULL;
  int class = MPI_SUCCESS;
  const int code = MPI_File_open(comm, path(name), amode, MPI_INFO_NULL, &file);
  if (code != MPI_SUCCESS) {
    MPI_Error_class(code, &class);
    say("open %s: error class %d", name, class);
  }
  return file;
}

MPI_File open_new(const char* name) {
  return open_file(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
}

MPI_File open_prefilled(const char* name) {
  MPI_File file = open_new(name);
  static unsigned char bytes[1 << 15];
  if (rank == 0) {
    fill(bytes, sizeof bytes, 1000);
    CALL(MPI_File_write_at(file, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  sync_all(file);
  return file;
}

void close_file(MPI_File* file) { CALL(MPI_File_close(file)); }

void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

void sync_all(MPI_File file) {
  CALL(MPI_File_sync(file));
  barrier();
  CALL(MPI_File_sync(file));
}

MPI_Datatype commit(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

// Rank 0 prints what all of them said.
static void print_text(void) {
  if (rank != 0) {
    MPI_Send(text, (int)text_bytes, MPI_BYTE, 0, 99, MPI_COMM_WORLD);
  } else {
    printf("== %s\n", case_name);
    fwrite(text, 1, text_bytes, stdout);
    for (int from = 1; from < ranks; ++from) {
      MPI_Status status;
      int bytes;
      MPI_Probe(from, 99, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      char* other = malloc((size_t)bytes + 1);
      MPI_Recv(other, bytes, MPI_BYTE, from, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      fwrite(other, 1, (size_t)bytes, stdout);
      free(other);
    }
    fflush(stdout);
  }
  text_bytes = 0;
}

static int chosen(const char* name, int count, char** names) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(names[i], name) == 0) return 1;
  }
  return count == 0;
}

// case_program --list | DIRECTORY [CASE…]
int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "--list") == 0) {
    for (const struct corpus_case* each = cases; each; each = each->next) printf("%s\t%s\n", each->name, each->about);
    return 0;
  }
  if (argc < 2) {
    fprintf(stderr, "usage: %s --list | DIRECTORY [CASE...]\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  directory = argv[1];
  append("", 0);
  for (const struct corpus_case* each = cases; each; each = each->next) {
    if (!chosen(each->name, argc - 2, argv + 2)) continue;
    case_name = each->name;
    if (rank == 0) mkdir(path(""), 0777);
    barrier();
    each->run();
    barrier();
    print_text();
  }
  if (rank == 0) printf("== end\n");
  MPI_Finalize();
  return 0;
}
