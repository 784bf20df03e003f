/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes what same_in_fortran.F90 writes. Arguments: a file, and its format.
 */
#include <glean/glean.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { nx = 5, ny = 4, nz = 3 };

static void checked(glean_status status, const char *message, const char *what) {
  if (status == GLEAN_OK) return;
  fprintf(stderr, "%s: %s\n", what, message);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define OUT(call) checked((call), "failed", #call)

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const uint64_t r = (uint64_t)rank, n = (uint64_t)ranks;

  char message[300] = "";
  glean_session *session = NULL;
  glean_output *out = NULL;
  checked(glean_session_open(MPI_COMM_WORLD, NULL, 0, &session, message, sizeof message), message, "glean_session_open");
  OUT(glean_output_open(session, argv[1], (glean_format)atoi(argv[2]), NULL, &out));
  glean_dimension x, y, letters, time;
  OUT(glean_output_define_dimension(out, "nx", nx, &x));
  OUT(glean_output_define_dimension(out, "ny", ny * n, &y));
  OUT(glean_output_define_dimension(out, "letters", 4, &letters));
  OUT(glean_output_define_unlimited(out, "time", &time));
  glean_variable field, flag, name, scalar, dens;
  const glean_variable_options filled = {sizeof filled, GLEAN_FILL_ON, 0};
  const glean_dimension of_field[] = {time, y, x}, of_flag[] = {time, y}, of_name[] = {y, letters};
  const uint64_t field_start[] = {ny * r, 0}, field_count[] = {ny, nx}, name_start[] = {ny * r, 0}, name_count[] = {1, 4};
  OUT(glean_output_define_variable(out, "field", GLEAN_FLOAT32, of_field, 3, field_start, field_count, 1, NULL, &field));
  OUT(glean_output_define_variable(out, "flag", GLEAN_INT16, of_flag, 2, field_start, field_count, 1, &filled, &flag));
  OUT(glean_output_define_variable(out, "name", GLEAN_TEXT, of_name, 2, name_start, name_count, 1, &filled, &name));
  OUT(glean_output_define_variable(out, "scalar", GLEAN_FLOAT64, NULL, 0, NULL, NULL, rank == 0 ? 1 : 0, NULL, &scalar));
  const uint64_t shape[] = {nz * n, ny, nx}, grid_start[] = {nz * r, 0, 0}, grid_count[] = {nz, ny, nx};
  const double origin[] = {2, 1, 0}, spacing[] = {0.125, 0.25, 0.5};
  const char *const names[] = {"gz", "gy", "gx"};
  const glean_uniform_grid mesh = {sizeof mesh, 3, shape, origin, spacing, 1, grid_start, grid_count, names};
  glean_grid grid;
  OUT(glean_output_define_uniform_grid(out, &mesh, &grid));
  OUT(glean_output_define_grid_variable(out, "dens", GLEAN_FLOAT64, grid, NULL, &dens));
  const char title[] = "the same in both";
  const int32_t sizes[] = {nx, ny, nz};
  const int16_t fill = -7;
  const double range[] = {0.5, 2.5};
  OUT(glean_output_define_attribute(out, "title", GLEAN_TEXT, title, strlen(title)));
  OUT(glean_output_define_attribute(out, "sizes", GLEAN_INT32, sizes, 3));
  OUT(glean_output_define_variable_attribute(out, flag, "_FillValue", GLEAN_INT16, &fill, 1));
  OUT(glean_output_define_variable_attribute(out, dens, "units", GLEAN_TEXT, "g/cm3", 5));
  OUT(glean_output_define_variable_attribute(out, dens, "range", GLEAN_FLOAT64, range, 2));

  for (int step = 1; step <= 3; ++step) {
    double values[ny][nx], cells[nz][ny][nx];
    OUT(glean_output_begin_step(out));
    for (int j = 0; j < ny; ++j) {
      for (int i = 0; i < nx; ++i) values[j][i] = 1000 * step + 100 * (ny * rank + j + 1) + i + 2;
    }
    OUT(glean_output_put(out, field, GLEAN_FLOAT64, values, nx * ny));
    const int32_t flags[] = {step, rank};
    const uint64_t flag_start[] = {ny * r + 1}, two[] = {2};
    OUT(glean_output_put_box(out, flag, 1, flag_start, two, GLEAN_INT32, flags, NULL));
    if (step == 1) {
      for (int k = 0; k < nz; ++k) {
        for (int j = 0; j < ny; ++j) {
          for (int i = 0; i < nx; ++i) cells[k][j][i] = i + 1 + 10 * (j + 1) + 100 * (nz * rank + k + 1);
        }
      }
      OUT(glean_output_put(out, dens, GLEAN_FLOAT64, cells, nx * ny * nz));
      char text[8];
      snprintf(text, sizeof text, "r%03d", rank % 1000);
      OUT(glean_output_put(out, name, GLEAN_TEXT, text, 4));
      const double half = 2.5;
      if (rank == 0) OUT(glean_output_put(out, scalar, GLEAN_FLOAT64, &half, 1));
    }
    OUT(glean_output_end_step(out));
  }
  OUT(glean_output_close(out));
  glean_output_free(out);
  checked(glean_session_close(session), glean_session_message(session), "glean_session_close");
  glean_session_free(session);
  MPI_Finalize();
  return 0;
}
