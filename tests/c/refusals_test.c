/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the C interface refuses by itself, on one rank: all ranks are told, and nothing incomplete is published. Runs on any number of
 * ranks. Argument: a directory for the files.
 */
#include <glean/glean.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "expecting.h"

static int is_wrong(void) { return rank == ranks - 1; }

typedef struct output_parts {
  glean_output *out;
  glean_dimension x;
  glean_variable v;
} output_parts;

/* A call that the last rank makes with an argument that cannot be. */
typedef glean_status (*refused_call)(output_parts *parts);

static glean_status a_dimension_without_a_name(output_parts *parts) {
  glean_dimension made;
  return glean_output_define_dimension(parts->out, NULL, 3, &made);
}

static glean_status a_dimension_that_goes_nowhere(output_parts *parts) {
  return glean_output_define_dimension(parts->out, "y", 3, NULL);
}

static glean_status a_variable_of_no_type(output_parts *parts) {
  glean_variable made;
  return glean_output_define_variable(parts->out, "w", (glean_type)99, &parts->x, 1, NULL, NULL, 0, NULL, &made);
}

static glean_status a_variable_with_options_of_no_size(output_parts *parts) {
  glean_variable made;
  glean_variable_options options;
  memset(&options, 0, sizeof options);
  return glean_output_define_variable(parts->out, "w", GLEAN_INT8, &parts->x, 1, NULL, NULL, 0, &options, &made);
}

static glean_status a_grid_without_a_description(output_parts *parts) {
  glean_grid made;
  return glean_output_define_uniform_grid(parts->out, NULL, &made);
}

static glean_status an_attribute_without_values(output_parts *parts) {
  return glean_output_define_attribute(parts->out, "a", GLEAN_INT32, NULL, 2);
}

static glean_status an_attribute_of_no_variable(output_parts *parts) {
  const glean_variable none = {-1};
  return glean_output_define_variable_attribute(parts->out, none, "a", GLEAN_TEXT, "b", 1);
}

static glean_status a_put_without_data(output_parts *parts) { return glean_output_put(parts->out, parts->v, GLEAN_INT8, NULL, 1); }

static glean_status a_put_of_no_type(output_parts *parts) { return glean_output_put(parts->out, parts->v, (glean_type)99, "a", 1); }

static glean_status a_box_without_a_start(output_parts *parts) {
  const uint64_t one[1] = {1};
  return glean_output_put_box(parts->out, parts->v, 1, NULL, one, GLEAN_INT8, "a", NULL);
}

static glean_status a_box_without_data(output_parts *parts) {
  const uint64_t start[1] = {(uint64_t)rank}, one[1] = {1};
  return glean_output_put_box(parts->out, parts->v, 1, start, one, GLEAN_INT8, NULL, NULL);
}

static glean_status what_the_program_refuses(output_parts *parts) {
  EXPECT(glean_output_fail(parts->out, GLEAN_OK, "all is well") == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_output_fail(parts->out, GLEAN_IO, NULL) == GLEAN_INVALID_ARGUMENT);
  glean_output *out = parts->out;
  OUT(glean_output_fail(out, GLEAN_INVALID_ARGUMENT, "the field has not converged"));
  return GLEAN_INVALID_ARGUMENT;
}

static void open_parts(glean_session *session, const char *path, output_parts *parts) {
  SESSION(glean_output_open(session, path, GLEAN_CDF5, NULL, &parts->out));
  glean_output *out = parts->out;
  OUT(glean_output_define_dimension(out, "x", (uint64_t)ranks, &parts->x));
  const uint64_t mine[1] = {(uint64_t)rank}, one[1] = {1};
  OUT(glean_output_define_variable(out, "v", GLEAN_INT8, &parts->x, 1, mine, one, 1, NULL, &parts->v));
}

/* The first call in which the ranks meet tells all of them, with the rank and what it was refused. */
static void expect_told(glean_output *out, glean_status status, const char *why) {
  char of_rank[32];
  snprintf(of_rank, sizeof of_rank, "rank %d", ranks - 1);
  EXPECT(status == GLEAN_INVALID_ARGUMENT);
  const int is_told = strstr(glean_output_message(out), why) != NULL && strstr(glean_output_message(out), of_rank) != NULL;
  EXPECT(is_told);
  if (!is_told) fprintf(stderr, "  the message is: %s\n", glean_output_message(out));
}

static void expect_no_file(const char *path) {
  FILE *file = fopen(path, "r");
  EXPECT(file == NULL);
  if (file != NULL) fclose(file);
}

static void a_definition_is_refused(glean_session *session, const char *path, refused_call refused, const char *why) {
  output_parts parts;
  open_parts(session, path, &parts);
  if (is_wrong()) EXPECT(refused(&parts) == GLEAN_INVALID_ARGUMENT);
  expect_told(parts.out, glean_output_end_definitions(parts.out), why);
  glean_output_free(parts.out);
  expect_no_file(path);
}

static void a_put_is_refused(glean_session *session, const char *path, refused_call refused, const char *why) {
  output_parts parts;
  open_parts(session, path, &parts);
  glean_output *out = parts.out;
  OUT(glean_output_begin_step(out));
  if (is_wrong()) EXPECT(refused(&parts) == GLEAN_INVALID_ARGUMENT);
  OUT(glean_output_put(out, parts.v, GLEAN_INT8, "a", 1));   /* what it puts then saves nothing */
  OUT(glean_output_end_step(out));
  expect_told(out, glean_output_close_at(out, GLEAN_DURABLE, 60), why);
  glean_output_free(out);
  expect_no_file(path);
}

static void a_question_that_is_refused_harms_nothing(glean_session *session, const char *path) {
  output_parts parts;
  open_parts(session, path, &parts);
  glean_output *out = parts.out;
  glean_variable found;
  EXPECT(glean_output_find_variable(out, NULL, &found) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_output_reached(out, GLEAN_DURABLE, NULL) == GLEAN_INVALID_ARGUMENT);
  OUT(glean_output_begin_step(out));
  OUT(glean_output_put(out, parts.v, GLEAN_INT8, "a", 1));
  OUT(glean_output_end_step(out));
  OUT(glean_output_close_at(out, GLEAN_DURABLE, 60));
  glean_output_free(out);
}

static void no_message_comes_without_a_trigger(glean_session *session) {
  size_t count = 1;
  glean_message message;
  memset(&message, 0, sizeof message);
  message.size = sizeof message;
  EXPECT(glean_poll_messages(session, &count) == GLEAN_OK && count == 0);
  EXPECT(glean_polled_message(session, 0, &message) == GLEAN_NOT_FOUND);
  EXPECT(strstr(glean_session_message(session), "no message") != NULL);
  EXPECT(glean_poll_messages(session, NULL) == GLEAN_INVALID_ARGUMENT);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) return 2;
  char path[4096];
  snprintf(path, sizeof path, "%s/c_refused_%d_%s.nc", argv[1], ranks, argv[2]);
  if (rank == 0) remove(path);
  glean_session *session = NULL;
  char message[256] = "";
  const glean_setting settings[2] = {{"pool.budget", "64 MiB"}, {"mode", argv[2]}};
  if (glean_session_open(MPI_COMM_WORLD, settings, 2, &session, message, sizeof message) != GLEAN_OK) {
    fprintf(stderr, "rank %d: no session: %s\n", rank, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  a_definition_is_refused(session, path, a_dimension_without_a_name, "'name' is NULL");
  a_definition_is_refused(session, path, a_dimension_that_goes_nowhere, "'dimension' is NULL");
  a_definition_is_refused(session, path, a_variable_of_no_type, "no type has the number 99");
  a_definition_is_refused(session, path, a_variable_with_options_of_no_size, "'options' has no size");
  a_definition_is_refused(session, path, a_grid_without_a_description, "'description' is NULL");
  a_definition_is_refused(session, path, an_attribute_without_values, "'values' is NULL");
  a_definition_is_refused(session, path, an_attribute_of_no_variable, "no such variable");
  a_put_is_refused(session, path, a_put_without_data, "'data' is NULL");
  a_put_is_refused(session, path, a_put_of_no_type, "no type has the number 99");
  a_put_is_refused(session, path, a_box_without_a_start, "'start' is NULL");
  a_put_is_refused(session, path, a_box_without_data, "'first' is NULL");
  a_definition_is_refused(session, path, what_the_program_refuses, "the field has not converged");
  a_put_is_refused(session, path, what_the_program_refuses, "the field has not converged");
  a_question_that_is_refused_harms_nothing(session, path);
  no_message_comes_without_a_trigger(session);
  if (glean_session_close(session) != GLEAN_OK) {
    ++failures;
    fprintf(stderr, "rank %d: %s\n", rank, glean_session_message(session));
  }
  glean_session_free(session);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d failures\n", failures);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
