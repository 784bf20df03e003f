/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes whose values come until an output is closed, from C, read with PnetCDF. Runs on any number of ranks. Argument: a directory
 * for the file.
 */
#include <glean/glean.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <string.h>

#include "expecting.h"

static void attributes_come_late(glean_session *session, const char *path) {
  glean_output *out = NULL;
  SESSION(glean_output_open(session, path, GLEAN_CDF2, NULL, &out));
  if (out == NULL) return;
  glean_dimension x = {-1};
  OUT(glean_output_define_dimension(out, "x", (uint64_t)ranks, &x));
  const uint64_t mine[1] = {(uint64_t)rank}, one[1] = {1};
  glean_variable v = {-1};
  OUT(glean_output_define_variable(out, "v", GLEAN_INT32, &x, 1, mine, one, 1, NULL, &v));
  const double first[2] = {-1, -1}, last[2] = {1.5, 2.5};
  OUT(glean_output_define_attribute(out, "state", GLEAN_TEXT, "under way", 9));
  OUT(glean_output_define_variable_attribute(out, v, "range", GLEAN_FLOAT64, first, 2));
  OUT(glean_output_allow_attribute_change(out, "state"));
  OUT(glean_output_allow_variable_attribute_change(out, v, "range"));
  OUT(glean_output_end_definitions(out));
  OUT(glean_output_begin_step(out));
  OUT(glean_output_put(out, v, GLEAN_INT32, &rank, 1));
  OUT(glean_output_end_step(out));
  OUT(glean_output_set_attribute(out, "state", GLEAN_TEXT, "done", 4));
  OUT(glean_output_set_variable_attribute(out, v, "range", GLEAN_FLOAT64, last, 2));
  OUT(glean_output_close_at(out, GLEAN_DURABLE, -1));
  EXPECT(glean_output_set_attribute(out, "state", GLEAN_TEXT, "late", 4) == GLEAN_INVALID_STATE);
  EXPECT(strstr(glean_output_message(out), "it is closed") != NULL);
  glean_output_free(out);

  int file = -1, variable = -1;
  char state[10] = "";
  double range[2] = {0, 0};
  EXPECT(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file) == NC_NOERR);
  EXPECT(ncmpi_get_att_text(file, NC_GLOBAL, "state", state) == NC_NOERR && strcmp(state, "done") == 0);
  EXPECT(ncmpi_inq_varid(file, "v", &variable) == NC_NOERR);
  EXPECT(ncmpi_get_att_double(file, variable, "range", range) == NC_NOERR && range[0] == 1.5 && range[1] == 2.5);
  EXPECT(ncmpi_close(file) == NC_NOERR);
}

static void what_cannot_be_is_refused(glean_session *session, const char *path) {
  glean_output *out = NULL;
  const double none = 0;
  const glean_variable no_variable = {-1};
  SESSION(glean_output_open(session, path, GLEAN_CDF2, NULL, &out));
  if (out == NULL) return;
  EXPECT(glean_output_allow_attribute_change(out, NULL) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_output_allow_attribute_change(out, "nothing") == GLEAN_NOT_FOUND);
  EXPECT(strstr(glean_output_message(out), "no attribute 'nothing' is defined") != NULL);
  EXPECT(glean_output_allow_variable_attribute_change(out, no_variable, "a") == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_output_set_attribute(out, "a", GLEAN_FLOAT64, NULL, 1) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_output_set_variable_attribute(out, no_variable, "a", GLEAN_FLOAT64, &none, 1) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_output_end_definitions(out) == GLEAN_INVALID_ARGUMENT);
  glean_output_free(out);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2) return 2;
  char path[4096], message[256] = "";
  snprintf(path, sizeof path, "%s/c_attributes_%d.nc", argv[1], ranks);
  glean_session *session = NULL;
  if (glean_session_open(MPI_COMM_WORLD, NULL, 0, &session, message, sizeof message) != GLEAN_OK) {
    fprintf(stderr, "rank %d: no session: %s\n", rank, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  attributes_come_late(session, path);
  what_cannot_be_is_refused(session, path);
  SESSION(glean_session_close(session));
  glean_session_free(session);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
