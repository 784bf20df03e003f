/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that compute and a rank that writes, from C: without a writer, and with one.
 *
 *   writer_test DIRECTORY */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "glean/glean.h"

static int failures = 0, rank = 0, ranks = 1;

static void expect(int holds, const char *what, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, line, what);
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

static glean_session *session_of_mode(const char *mode) {
  const glean_setting settings[2] = {{"pool.budget", "16 MiB"}, {"mode", mode}};
  glean_session *session = NULL;
  char message[512] = "";
  if (glean_session_open(MPI_COMM_WORLD, settings, 2, &session, message, sizeof message) != GLEAN_OK) {
    fprintf(stderr, "rank %d: no session: %s\n", rank, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return session;
}

static void no_rank_is_set_aside_to_capture(void) {
  glean_session *session = session_of_mode("threaded");
  int is_writer = -1;
  MPI_Comm comm = MPI_COMM_NULL;
  EXPECT(glean_session_is_writer(session, &is_writer) == GLEAN_OK);
  EXPECT(glean_session_comm(session, &comm) == GLEAN_OK);
  EXPECT(is_writer == 0 && comm == MPI_COMM_WORLD);
  EXPECT(glean_session_is_writer(session, NULL) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_session_comm(session, NULL) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_session_close(session) == GLEAN_OK);
  glean_session_free(session);
}

static void the_last_rank_is_set_aside_to_write(const char *path) {
  glean_session *session = session_of_mode("dedicated");
  glean_output *out = NULL;
  int is_writer = -1;
  MPI_Comm comm = MPI_COMM_SELF;
  if (rank < ranks - 1) { /* which a program cannot know */
    EXPECT(glean_output_open(session, path, GLEAN_CDF5, NULL, &out) == GLEAN_INVALID_STATE);
    EXPECT(strstr(glean_session_message(session), "glean_session_is_writer") != NULL);
  }
  EXPECT(glean_session_is_writer(session, &is_writer) == GLEAN_OK);
  EXPECT(glean_session_comm(session, &comm) == GLEAN_OK);
  EXPECT(is_writer == (rank == ranks - 1));
  if (is_writer) {
    FILE *file = fopen(path, "rb");
    EXPECT(file != NULL); /* the others have closed the session */
    if (file != NULL) fclose(file);
    EXPECT(comm == MPI_COMM_NULL);
    EXPECT(glean_output_open(session, path, GLEAN_CDF5, NULL, &out) == GLEAN_INVALID_STATE);
    EXPECT(strstr(glean_session_message(session), "set aside to write") != NULL);
  } else {
    int size = 0;
    MPI_Comm_size(comm, &size);
    EXPECT(size == ranks - 1);
    EXPECT(glean_output_open(session, path, GLEAN_CDF5, NULL, &out) == GLEAN_OK);
    EXPECT(glean_output_close(out) == GLEAN_OK);
    glean_output_free(out);
    EXPECT(glean_session_close(session) == GLEAN_OK);
  }
  glean_session_free(session);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2) return 2;
  char path[4096];
  snprintf(path, sizeof path, "%s/c_writer.nc", argv[1]);
  if (rank == 0) remove(path);
  MPI_Barrier(MPI_COMM_WORLD);
  no_rank_is_set_aside_to_capture();
  the_last_rank_is_set_aside_to_write(path);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d failures\n", failures);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
