/* SPDX-License-Identifier: BSD-3-Clause */
/* What the small programs of the corpus stand on.
 *
 * A case is a function that calls MPI-IO as a program would, writes files into its own directory, and says what the
 * calls return. The files and the text are then compared with those of a run without the library under test; nothing
 * is expected here. What the standard leaves open must therefore not show in either.
 */
#ifndef GLEAN_TESTS_TRANSPARENT_CASE_H
#define GLEAN_TESTS_TRANSPARENT_CASE_H

#include <mpi.h>
#include <stddef.h>

struct corpus_case {
  const char* name;
  const char* about;
  void (*run)(void);
  struct corpus_case* next;
};

void corpus_register(struct corpus_case* what);

#ifndef CASE_PREFIX /* of the names of all cases of a file */
#define CASE_PREFIX ""
#endif
/* CASE(name, "about") { … } defines a case and has it in the list. */
#define CASE(case_name, case_about)                                                             \
  static void case_name(void);                                                                  \
  static struct corpus_case case_name##_entry = {CASE_PREFIX #case_name, case_about,            \
                                                 case_name, NULL};                              \
  __attribute__((constructor)) static void case_name##_register(void) {                         \
    corpus_register(&case_name##_entry);                                                        \
  }                                                                                             \
  static void case_name(void)

extern int rank, ranks; /* in MPI_COMM_WORLD */

/* The path of a file of this case; valid until eight more calls. Local. */
const char* path(const char* name);

/* Adds a line to what this rank says; rank 0 prints all of it, in the order of the ranks, when the case ends. Local. */
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* Says where, and of which class, if a call failed. Returns the class. */
int called(int code, const char* call, int line);
#define CALL(call) called((call), #call, __LINE__)

/* Bytes that depend on the rank, on `tag` and on their place. */
void fill(void* buffer, size_t bytes, int tag);

/* Says what bytes there are: how many, a checksum, the first ones. */
void say_bytes(const char* what, const void* buffer, size_t bytes);
void say_count(const char* what, const MPI_Status* status); /* bytes that were moved */

/* Says size and bytes of a file as POSIX sees it, without MPI-IO. Local. */
void say_file(const char* name);

MPI_File open_file(MPI_Comm comm, const char* name, int amode);
MPI_File open_new(const char* name); /* on all ranks, to read and write */
MPI_File open_prefilled(const char* name); /* the same, with bytes in it: what lies in holes of views is then defined */
void close_file(MPI_File* file);
void barrier(void);
void sync_all(MPI_File file); /* sync, barrier, sync: the ranks see each other's bytes */
MPI_Datatype commit(MPI_Datatype type);

#endif
