/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Restarting from C, on any number of ranks. Argument: a directory for the files.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "expecting.h"

static glean_session *session;

/* As a program leaves it that is killed at once. */
static void empty(const char *path) {
  FILE *file = fopen(path, "wb");
  EXPECT(file != NULL && fclose(file) == 0);
}

static void write_file(const char *path, double value) {
  glean_output *out = NULL;
  SESSION(glean_output_open(session, path, GLEAN_CDF5, NULL, &out));
  if (out == NULL) return;
  glean_dimension x = {-1};
  glean_variable v = {-1};
  const uint64_t mine[1] = {(uint64_t)rank}, one[1] = {1};
  OUT(glean_output_define_dimension(out, "x", (uint64_t)ranks, &x));
  OUT(glean_output_define_variable(out, "v", GLEAN_FLOAT64, &x, 1, mine, one, 1, NULL, &v));
  OUT(glean_output_begin_step(out));
  OUT(glean_output_put(out, v, GLEAN_FLOAT64, &value, 1));
  OUT(glean_output_end_step(out));
  OUT(glean_output_close(out));
  glean_output_free(out);
}

/* By all ranks together, each its number. */
static void all_read(glean_input *in, double expected) {
  const glean_variable v = {0};
  const uint64_t mine[1] = {(uint64_t)rank}, one[1] = {1}, two[1] = {2}, behind[1] = {(uint64_t)ranks - 1};
  double value = 0;
  EXPECT(glean_input_prefetch(in, v, 0, NULL, NULL) == GLEAN_OK);
  EXPECT(glean_input_prefetch(in, v, 0, mine, one) == GLEAN_OK);
  EXPECT(glean_input_prefetch(in, v, 0, behind, two) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_input_prefetch(in, v, 0, mine, NULL) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_input_read_all(in, v, 0, mine, one, GLEAN_FLOAT64, &value, 1) == GLEAN_OK && value == expected);
  /* What is wrong on one rank all are told. */
  const int is_last = rank == ranks - 1;
  EXPECT(glean_input_read_all(in, v, 0, is_last ? NULL : mine, one, GLEAN_FLOAT64, &value, 1) != GLEAN_OK);
  EXPECT(glean_input_read_all(in, v, 0, mine, one, GLEAN_FLOAT64, is_last ? NULL : &value, 1) != GLEAN_OK);
  EXPECT(strlen(glean_input_message(in)) > 0);
  EXPECT(glean_input_read_all(in, v, 0, mine, one, is_last ? (glean_type)99 : GLEAN_FLOAT64, &value, 1) != GLEAN_OK);
  EXPECT(glean_input_read_all(in, v, 0, mine, one, GLEAN_FLOAT64, &value, 1) == GLEAN_OK && value == expected);
}

/* Records of a file, each rank its number in each. */
static void records_are_added(const char *path) {
  glean_output *out = NULL;
  EXPECT(glean_output_append(session, path, &out) == GLEAN_NOT_FOUND && strstr(glean_session_message(session), "no such file") != NULL);
  EXPECT(out == NULL && glean_output_append(session, path, NULL) == GLEAN_INVALID_ARGUMENT);
  const uint64_t mine[1] = {(uint64_t)rank}, one[1] = {1};
  for (int record = 0; record < 2; ++record) {
    glean_variable v = {-1};
    const double value = 10 * record + rank;
    if (record == 0) {
      glean_dimension dimensions[2] = {{-1}, {-1}};
      SESSION(glean_output_open(session, path, GLEAN_CDF2, NULL, &out));
      OUT(glean_output_define_unlimited(out, "t", &dimensions[0]));
      OUT(glean_output_define_dimension(out, "x", (uint64_t)ranks, &dimensions[1]));
      OUT(glean_output_define_variable(out, "v", GLEAN_FLOAT64, dimensions, 2, mine, one, 1, NULL, &v));
    } else {
      SESSION(glean_output_append(session, path, &out));
      OUT(glean_output_find_variable(out, "v", &v));
    }
    OUT(glean_output_begin_step(out));
    OUT(glean_output_put_box(out, v, 1, mine, one, GLEAN_FLOAT64, &value, NULL));
    OUT(glean_output_end_step(out));
    OUT(glean_output_close(out));
    glean_output_free(out);
    out = NULL;
  }
  glean_input *in = NULL;
  uint64_t steps = 0;
  double value = 0;
  const glean_variable v = {0};
  SESSION(glean_input_open(session, path, NULL, &in));
  EXPECT(glean_input_steps(in, &steps) == GLEAN_OK && steps == 2);
  EXPECT(glean_input_read(in, v, 1, mine, one, GLEAN_FLOAT64, &value, 1) == GLEAN_OK && value == 10 + rank);
  glean_input_free(in);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char directory[600], pattern[700], first[700], second[700], history[700], message[500];
  snprintf(directory, sizeof directory, "%s/c_restart_%d", argc > 1 ? argv[1] : ".", ranks);
  snprintf(pattern, sizeof pattern, "%s_chk_*.nc", directory);
  snprintf(first, sizeof first, "%s_chk_1.nc", directory);
  snprintf(second, sizeof second, "%s_chk_2.nc", directory);
  snprintf(history, sizeof history, "%s_history.nc", directory);
  if (rank == 0) {
    remove(history);
    remove(first);
    remove(second);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (glean_session_open(MPI_COMM_WORLD, NULL, 0, &session, message, sizeof message) != GLEAN_OK) {
    fprintf(stderr, "%s\n", message);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  glean_input *in = NULL;
  EXPECT(glean_session_restart(session, pattern, -1, &in) == GLEAN_NOT_FOUND && in == NULL);
  EXPECT(strstr(glean_session_message(session), "no file matches") != NULL);
  EXPECT(glean_session_restart(session, NULL, -1, &in) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_session_restart(session, pattern, -1, rank == 0 ? NULL : &in) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_session_restart(NULL, pattern, -1, &in) == GLEAN_INVALID_ARGUMENT);
  write_file(first, 1.5);
  SESSION(glean_session_wait(session, GLEAN_DURABLE, -1));
  write_file(second, 2.5);
  SESSION(glean_session_restart(session, pattern, 60, &in));
  EXPECT(strcmp(glean_input_path(in), second) == 0);
  EXPECT(strcmp(glean_input_path(NULL), "") == 0);
  double value = 0;
  const uint64_t mine[1] = {(uint64_t)rank}, one[1] = {1};
  EXPECT(glean_input_read(in, (glean_variable){0}, 0, mine, one, GLEAN_FLOAT64, &value, 1) == GLEAN_OK);
  EXPECT(value == 2.5);
  all_read(in, 2.5);
  glean_input_free(in);
  in = NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) empty(first);
  if (rank == 0) empty(second);
  EXPECT(glean_session_restart(session, pattern, -1, &in) == GLEAN_IO && in == NULL);
  records_are_added(history);
  SESSION(glean_session_close(session));
  glean_session_free(session);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}
