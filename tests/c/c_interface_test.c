/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Uses every call of glean.h, as a C99 program would, and reads the files back with PnetCDF. Runs on any number
 * of ranks. Argument: a directory for the files.
 */
#include <glean/glean.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expecting.h"

static void expect_no_file(const char *path) {
  FILE *file = fopen(path, "r");
  EXPECT(file == NULL);
  if (file != NULL) fclose(file);
}

enum { rows = 6, columns = 10, ghosts = 2 };

static double cell(uint64_t step, uint64_t row, uint64_t column) {
  return (double)(1000000 * step + 1000 * row + column);
}

static void a_uniform_grid_and_a_record_variable_arrive(glean_session *session, const char *path) {
  glean_output *out = NULL;
  glean_output_options options = {sizeof options, GLEAN_REPLACE};
  SESSION(glean_output_open(session, path, GLEAN_CDF5, &options, &out));
  if (out == NULL) return;

  const uint64_t shape[2] = {(uint64_t)(rows * ranks), columns};
  const double origin[2] = {0, 0}, spacing[2] = {0.5, 0.25};
  const uint64_t start[2] = {(uint64_t)(rows * rank), 0}, count[2] = {rows, columns};
  glean_uniform_grid mesh;
  memset(&mesh, 0, sizeof mesh);
  mesh.size = sizeof mesh;
  mesh.dimensions = 2;
  mesh.shape = shape;
  mesh.origin = origin;
  mesh.spacing = spacing;
  mesh.blocks = 1;
  mesh.block_start = start;
  mesh.block_count = count;
  glean_grid grid = {-1};
  OUT(glean_output_define_uniform_grid(out, &mesh, &grid));
  glean_variable dens = {-1}, pres = {-1}, flag = {-1};
  OUT(glean_output_define_grid_variable(out, "dens", GLEAN_FLOAT64, grid, NULL, &dens));
  glean_variable_options per_step = {sizeof per_step, GLEAN_FILL_OFF, 1, GLEAN_CELLS, 1};
  glean_dimension time = {-1}, along = {-1};
  OUT(glean_output_define_unlimited(out, "time", &time));
  OUT(glean_output_define_dimension(out, "along", (uint64_t)ranks, &along));
  const glean_dimension over[2] = {time, along};
  const uint64_t mine[1] = {(uint64_t)rank}, one[1] = {1};
  OUT(glean_output_define_variable(out, "flag", GLEAN_INT16, over, 2, mine, one, 1, NULL, &flag));
  OUT(glean_output_define_grid_variable(out, "pres", GLEAN_FLOAT32, grid, &per_step, &pres));
  OUT(glean_output_define_attribute(out, "title", GLEAN_TEXT, "C", 1));
  const float factors[2] = {1.5f, 2.5f};
  OUT(glean_output_define_variable_attribute(out, dens, "factors", GLEAN_FLOAT32, factors, 2));
  glean_variable found = {-7};
  OUT(glean_output_find_variable(out, "pres", &found));
  EXPECT(found.id == pres.id);
  EXPECT(glean_output_find_variable(out, "nothing", &found) == GLEAN_NOT_FOUND);
  EXPECT(found.id == pres.id);
  EXPECT(strstr(glean_output_message(out), "nothing") != NULL);
  OUT(glean_output_end_definitions(out));

  double data[rows * columns];
  double wide[rows + 2 * ghosts][columns + 2 * ghosts];
  for (uint64_t step = 0; step < 3; ++step) {
    OUT(glean_output_begin_step(out));
    for (int i = 0; i < rows + 2 * ghosts; ++i) {
      for (int j = 0; j < columns + 2 * ghosts; ++j) {
        const int inside = i >= ghosts && i < rows + ghosts && j >= ghosts && j < columns + ghosts;
        wide[i][j] = inside ? cell(step, start[0] + (uint64_t)(i - ghosts), (uint64_t)(j - ghosts)) : -1;
      }
    }
    const ptrdiff_t strides[2] = {columns + 2 * ghosts, 1};
    OUT(glean_output_put_box(out, pres, 2, start, count, GLEAN_FLOAT64, &wide[ghosts][ghosts], strides));
    const int32_t number = (int32_t)(100 * step) + rank;
    OUT(glean_output_put(out, flag, GLEAN_INT32, &number, 1));
    if (step == 0) {
      for (uint64_t i = 0; i < rows; ++i) {
        for (uint64_t j = 0; j < columns; ++j) data[i * columns + j] = cell(0, start[0] + i, j);
      }
      OUT(glean_output_put(out, dens, GLEAN_FLOAT64, data, rows * columns));
      memset(data, 0, sizeof data);
    }
    memset(wide, 0, sizeof wide);
    OUT(glean_output_end_step(out));
  }
  OUT(glean_output_wait(out, GLEAN_STAGED, -1));
  int reached = 0;
  OUT(glean_output_reached(out, GLEAN_STAGED, &reached));
  EXPECT(reached == 1);
  OUT(glean_output_close_at(out, GLEAN_DURABLE, 60));
  OUT(glean_output_reached(out, GLEAN_DURABLE, &reached));
  EXPECT(reached == 1);
  glean_output_free(out);

  int file = -1, id = -1;
  EXPECT(ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &file) == NC_NOERR);
  double *whole = malloc(sizeof(double) * (size_t)(rows * ranks * columns));
  EXPECT(ncmpi_inq_varid(file, "dens", &id) == NC_NOERR);
  EXPECT(ncmpi_get_var_double_all(file, id, whole) == NC_NOERR);
  int same = 1;
  for (uint64_t i = 0; i < shape[0]; ++i) {
    for (uint64_t j = 0; j < columns; ++j) same = same && whole[i * columns + j] == cell(0, i, j);
  }
  EXPECT(same);
  float read_factors[2] = {0, 0};
  EXPECT(ncmpi_get_att_float(file, id, "factors", read_factors) == NC_NOERR);
  EXPECT(read_factors[0] == 1.5f && read_factors[1] == 2.5f);
  EXPECT(ncmpi_inq_varid(file, "pres", &id) == NC_NOERR);
  for (MPI_Offset step = 0; step < 3; ++step) {
    const MPI_Offset from[3] = {step, 0, 0}, extent[3] = {1, (MPI_Offset)shape[0], columns};
    EXPECT(ncmpi_get_vara_double_all(file, id, from, extent, whole) == NC_NOERR);
    same = 1;
    for (uint64_t i = 0; i < shape[0]; ++i) {
      for (uint64_t j = 0; j < columns; ++j) {
        same = same && whole[i * columns + j] == (double)(float)cell((uint64_t)step, i, j);
      }
    }
    EXPECT(same);
  }
  EXPECT(ncmpi_inq_varid(file, "flag", &id) == NC_NOERR);
  const MPI_Offset where[2] = {2, ranks - 1};
  short flag_read = 0;
  EXPECT(ncmpi_get_var1_short_all(file, id, where, &flag_read) == NC_NOERR);
  EXPECT(flag_read == 200 + ranks - 1);
  free(whole);
  ncmpi_close(file);
}

static void an_amr_grid_arrives(glean_session *session, const char *path) {
  glean_output *out = NULL;
  SESSION(glean_output_open(session, path, GLEAN_CDF2, NULL, &out));
  if (out == NULL) return;

  /* 1, 2, 0, 1 blocks on ranks 0, 1, 2, 3. */
  const size_t blocks = (size_t)((rank + 1) % 3);
  uint64_t first = 0, total = 0;
  for (int r = 0; r < ranks; ++r) {
    if (r < rank) first += (uint64_t)((r + 1) % 3);
    total += (uint64_t)((r + 1) % 3);
  }
  const uint64_t cells[3] = {4, 4, 4};
  const int level[2] = {1, 2};
  const int64_t parent[2] = {-1, 0};
  const double lower[6] = {0, 0, 0, 0, 0, 0}, upper[6] = {1, 1, 1, 0.5, 0.5, 0.5};
  glean_amr_grid mesh;
  memset(&mesh, 0, sizeof mesh);
  mesh.size = sizeof mesh;
  mesh.dimensions = 3;
  mesh.cells_per_block = cells;
  mesh.blocks_total = total;
  mesh.first_block = first;
  mesh.blocks = blocks;
  mesh.level = blocks == 0 ? NULL : level;
  mesh.parent = blocks == 0 ? NULL : parent;
  mesh.lower = blocks == 0 ? NULL : lower;
  mesh.upper = blocks == 0 ? NULL : upper;
  glean_grid grid = {-1};
  OUT(glean_output_define_amr_grid(out, &mesh, &grid));
  glean_variable dens = {-1};
  OUT(glean_output_define_grid_variable(out, "dens", GLEAN_FLOAT64, grid, NULL, &dens));
  OUT(glean_output_begin_step(out));
  double data[2 * 64];
  for (size_t i = 0; i < 128; ++i) data[i] = (double)rank + (double)i / 1000;
  OUT(glean_output_put(out, dens, GLEAN_FLOAT64, blocks == 0 ? NULL : data, blocks * 64));
  OUT(glean_output_end_step(out));
  OUT(glean_output_close(out));
  OUT(glean_output_wait(out, GLEAN_DURABLE, 60));
  glean_output_free(out);

  int file = -1, id = -1;
  EXPECT(ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &file) == NC_NOERR);
  EXPECT(ncmpi_inq_varid(file, "dens", &id) == NC_NOERR);
  if (blocks > 0) {
    double read[64];
    const MPI_Offset from[4] = {(MPI_Offset)(first + blocks - 1), 0, 0, 0}, extent[4] = {1, 4, 4, 4};
    EXPECT(ncmpi_get_vara_double_all(file, id, from, extent, read) == NC_NOERR);
    EXPECT(memcmp(read, data + 64 * (blocks - 1), sizeof read) == 0);
    EXPECT(ncmpi_inq_varid(file, "lrefine", &id) == NC_NOERR);
    int refinement = 0;
    EXPECT(ncmpi_get_var1_int_all(file, id, from, &refinement) == NC_NOERR);
    EXPECT(refinement == level[blocks - 1]);
  }
  ncmpi_close(file);
}

static void calls_that_must_fail_do(glean_session *session, const char *path) {
  glean_output *out = NULL;
  EXPECT(glean_session_wait(NULL, GLEAN_DURABLE, -1) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_output_put(NULL, (glean_variable){0}, GLEAN_INT8, NULL, 0) == GLEAN_INVALID_ARGUMENT);
  EXPECT(strcmp(glean_session_message(NULL), "") == 0 && strcmp(glean_output_message(NULL), "") == 0);
  glean_session_free(NULL);
  glean_output_free(NULL);

  /* Wrong on the last rank only, and yet no rank waits for ever. */
  const char *name = rank == ranks - 1 ? NULL : path;
  const glean_status opened = glean_output_open(session, name, GLEAN_CDF5, NULL, &out);
  EXPECT(opened == GLEAN_INVALID_ARGUMENT);
  EXPECT(out == NULL);
  EXPECT(strlen(glean_session_message(session)) > 0);
  glean_output_options unsized = {0, GLEAN_REPLACE};
  EXPECT(glean_output_open(session, path, GLEAN_CDF5, &unsized, &out) == GLEAN_INVALID_ARGUMENT);
  EXPECT(strstr(glean_session_message(session), "size") != NULL);
  EXPECT(glean_output_open(session, path, (glean_format)17, NULL, &out) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_output_open(session, "/no/such/directory/x.nc", GLEAN_CDF5, NULL, &out) != GLEAN_OK);
  EXPECT(out == NULL);
  struct {
    glean_output_options known;
    long newer;
  } future = {{sizeof future, GLEAN_REPLACE}, 1};
  EXPECT(glean_output_open(session, path, GLEAN_CDF5, &future.known, &out) == GLEAN_UNSUPPORTED);

  SESSION(glean_output_open(session, path, GLEAN_CDF5, NULL, &out));
  if (out == NULL) return;
  glean_variable variable = {-3};
  glean_dimension dimension = {-4};
  EXPECT(glean_output_define_dimension(out, NULL, 3, &dimension) == GLEAN_INVALID_ARGUMENT);
  EXPECT(dimension.id == -4);
  EXPECT(strstr(glean_output_message(out), "name") != NULL);
  OUT(glean_output_define_dimension(out, "x", (uint64_t)ranks, &dimension));
  EXPECT(glean_output_define_variable(out, "v", GLEAN_INT8, &dimension, 1, NULL, NULL, 1, NULL, &variable) ==
         GLEAN_INVALID_ARGUMENT);
  EXPECT(variable.id == -3);
  EXPECT(glean_output_begin_step(out) == GLEAN_INVALID_ARGUMENT);   /* one of its definitions has failed */
  glean_output_free(out);

  SESSION(glean_output_open(session, path, GLEAN_CDF5, NULL, &out));
  OUT(glean_output_define_dimension(out, "x", (uint64_t)ranks, &dimension));
  const uint64_t mine[1] = {(uint64_t)rank}, one[1] = {1};
  OUT(glean_output_define_variable(out, "v", GLEAN_INT8, &dimension, 1, mine, one, 1, NULL, &variable));
  OUT(glean_output_begin_step(out));
  EXPECT(glean_output_put(out, variable, GLEAN_INT8, NULL, 1) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_output_put(out, variable, GLEAN_INT8, "ab", 2) == GLEAN_INVALID_ARGUMENT);
  const uint64_t outside[1] = {(uint64_t)ranks};
  EXPECT(glean_output_put_box(out, variable, 1, outside, one, GLEAN_INT8, "a", NULL) == GLEAN_INVALID_ARGUMENT);
  OUT(glean_output_end_step(out));
  /* What could not be put is missing, so the output is not published, and close or wait says why. */
  glean_status failed = glean_output_close(out);
  if (failed == GLEAN_OK) failed = glean_output_wait(out, GLEAN_DURABLE, 60);
  EXPECT(failed == GLEAN_INVALID_ARGUMENT);
  EXPECT(strstr(glean_output_message(out), "'data' is NULL") != NULL);
  glean_output_free(out);
  expect_no_file(path);
}

static void an_abandoned_output_leaves_nothing(glean_session *session, const char *path) {
  glean_output *out = NULL;
  SESSION(glean_output_open(session, path, GLEAN_CDF5, NULL, &out));
  glean_output_free(out);
  SESSION(glean_session_wait(session, GLEAN_DURABLE, 60));
  expect_no_file(path);
}

#define IN(call) \
  do { \
    const glean_status status_ = (call); \
    expect_ok(status_, glean_input_message(in), #call, __LINE__); \
  } while (0)

static glean_output_state state_of(glean_session *session, const char *path) {
  size_t count = 0;
  SESSION(glean_session_outputs(session, &count));
  for (size_t i = count; i > 0; --i) {
    glean_output_status status;
    memset(&status, 0, sizeof status);
    status.size = sizeof status;
    SESSION(glean_session_output(session, i - 1, &status));
    if (strcmp(status.path, path) == 0) return status.state;
  }
  return (glean_output_state)-1;
}

static void the_attributes_are_listed(glean_input *in, glean_variable v) {
  const glean_variable of_file = {-1};
  size_t count = 0;
  glean_attribute_description title, pair;
  memset(&title, 0, sizeof title);
  EXPECT(glean_input_describe_attribute(in, of_file, 0, &title) == GLEAN_INVALID_ARGUMENT);
  title.size = sizeof title;
  pair = title;
  IN(glean_input_attributes(in, of_file, &count));
  EXPECT(count == 1);
  IN(glean_input_describe_attribute(in, of_file, 0, &title));
  EXPECT(strcmp(title.name, "title") == 0 && title.external == GLEAN_TEXT && title.elements == 1);
  IN(glean_input_attributes(in, v, &count));
  EXPECT(count == 1);
  IN(glean_input_describe_attribute(in, v, 0, &pair));
  EXPECT(strcmp(pair.name, "pair") == 0 && pair.external == GLEAN_FLOAT64 && pair.elements == 2);
  EXPECT(strcmp(title.name, "title") == 0);   /* it lives as long as the input */
  EXPECT(glean_input_describe_attribute(in, v, 1, &pair) == GLEAN_NOT_FOUND);
  EXPECT(strstr(glean_input_message(in), "number 1") != NULL);
  EXPECT(glean_input_attributes(in, (glean_variable){9}, &count) == GLEAN_NOT_FOUND && count == 1);
}

static void what_was_put_is_read(glean_session *session, const char *path) {
  glean_output *out = NULL;
  SESSION(glean_output_open(session, path, GLEAN_CDF5, NULL, &out));
  if (out == NULL) return;
  glean_dimension over[2] = {{-1}, {-1}};
  OUT(glean_output_define_unlimited(out, "time", &over[0]));
  OUT(glean_output_define_dimension(out, "x", (uint64_t)(4 * ranks), &over[1]));
  const uint64_t mine[1] = {(uint64_t)(4 * rank)}, four[1] = {4};
  glean_variable v = {-1};
  OUT(glean_output_define_variable(out, "v", GLEAN_FLOAT32, over, 2, mine, four, 1, NULL, &v));
  OUT(glean_output_define_attribute(out, "title", GLEAN_TEXT, "C", 1));
  const double pair[2] = {1.5, 2.5};
  OUT(glean_output_define_variable_attribute(out, v, "pair", GLEAN_FLOAT64, pair, 2));
  for (int step = 0; step < 2; ++step) {
    double data[4];
    for (int i = 0; i < 4; ++i) data[i] = 100 * step + 4 * rank + i;
    OUT(glean_output_begin_step(out));
    OUT(glean_output_put(out, v, GLEAN_FLOAT64, data, 4));
    OUT(glean_output_end_step(out));
  }
  EXPECT(state_of(session, path) == GLEAN_OUTPUT_OPEN);

  glean_input *in = NULL;
  EXPECT(glean_input_open(session, path, NULL, &in) == GLEAN_INVALID_STATE);
  EXPECT(strstr(glean_session_message(session), "has not closed it") != NULL);
  glean_input_options options = {sizeof options, (glean_reading)17, 0};
  EXPECT(glean_input_open(session, path, &options, &in) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_input_open(session, NULL, NULL, &in) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_input_open(session, path, NULL, NULL) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_input_open(session, "/no/such/file.nc", NULL, &in) == GLEAN_NOT_FOUND);
  EXPECT(in == NULL);
  options.reading = GLEAN_READ_WRITTEN;
  options.seconds = 60;
  for (int time = 0; time < 2; ++time) {
    SESSION(glean_input_open(session, path, time == 0 ? &options : NULL, &in));
    if (in == NULL) return;
    uint64_t steps = 0;
    IN(glean_input_steps(in, &steps));
    EXPECT(steps == 2);
    size_t count = 0;
    IN(glean_input_variables(in, &count));
    EXPECT(count == 1);
    glean_variable found = {-7};
    IN(glean_input_find_variable(in, "v", &found));
    EXPECT(found.id == 0);
    EXPECT(glean_input_find_variable(in, "nothing", &found) == GLEAN_NOT_FOUND && found.id == 0);
    EXPECT(strstr(glean_input_message(in), "nothing") != NULL);
    glean_variable_description description;
    memset(&description, 0, sizeof description);
    EXPECT(glean_input_describe(in, found, &description) == GLEAN_INVALID_ARGUMENT);
    description.size = sizeof description;
    EXPECT(glean_input_describe(in, (glean_variable){9}, &description) == GLEAN_NOT_FOUND);
    IN(glean_input_describe(in, found, &description));
    EXPECT(strcmp(description.name, "v") == 0 && description.external == GLEAN_FLOAT32 && description.per_step);
    EXPECT(description.dimensions == 1 && description.shape[0] == (uint64_t)(4 * ranks));
    EXPECT(description.names == 2 && strcmp(description.dimension_names[0], "time") == 0);
    EXPECT(description.names == 2 && strcmp(description.dimension_names[1], "x") == 0);
    the_attributes_are_listed(in, found);
    for (uint64_t step = 0; step < 2; ++step) {
      int32_t *whole = malloc(sizeof(int32_t) * (size_t)(4 * ranks));
      IN(glean_input_read(in, found, step, NULL, NULL, GLEAN_INT32, whole, (size_t)(4 * ranks)));
      int same = 1;
      for (int i = 0; i < 4 * ranks; ++i) same = same && whole[i] == 100 * (int)step + i;
      EXPECT(same);
      free(whole);
      float last[2] = {0, 0};
      const uint64_t start[1] = {(uint64_t)(4 * ranks - 2)}, two[1] = {2};
      IN(glean_input_read(in, found, step, start, two, GLEAN_FLOAT32, last, 2));
      EXPECT(last[1] == (float)(100 * (int)step + 4 * ranks - 1));
      EXPECT(glean_input_read(in, found, step, start, NULL, GLEAN_FLOAT32, last, 2) == GLEAN_INVALID_ARGUMENT);
      EXPECT(glean_input_read(in, found, step, start, two, GLEAN_FLOAT32, NULL, 2) == GLEAN_INVALID_ARGUMENT);
      EXPECT(glean_input_read(in, found, step + 2, start, two, GLEAN_FLOAT32, last, 2) == GLEAN_NOT_FOUND);
    }
    char title = 0;
    float read_pair[2] = {0, 0};
    IN(glean_input_attribute(in, "title", GLEAN_TEXT, &title, 1, &count));
    EXPECT(title == 'C' && count == 1);
    IN(glean_input_variable_attribute(in, found, "pair", GLEAN_FLOAT32, NULL, 0, &count));
    EXPECT(count == 2);
    IN(glean_input_variable_attribute(in, found, "pair", GLEAN_FLOAT32, read_pair, 2, &count));
    EXPECT(read_pair[0] == 1.5f && read_pair[1] == 2.5f);
    EXPECT(glean_input_attribute(in, "pair", GLEAN_FLOAT32, read_pair, 2, &count) == GLEAN_NOT_FOUND);
    EXPECT(glean_input_variable_attribute(in, (glean_variable){-1}, "title", GLEAN_TEXT, &title, 1, &count) ==
           GLEAN_NOT_FOUND);
    glean_input_free(in);
    in = NULL;
    if (time == 0) {
      OUT(glean_output_close(out));
      EXPECT(state_of(session, path) != GLEAN_OUTPUT_OPEN);
    }
  }
  EXPECT(state_of(session, path) == GLEAN_OUTPUT_PUBLISHED);
  glean_output_status status;
  EXPECT(glean_session_output(session, 4711, &status) == GLEAN_NOT_FOUND);
  EXPECT(glean_input_steps(NULL, NULL) == GLEAN_INVALID_ARGUMENT);
  EXPECT(strcmp(glean_input_message(NULL), "") == 0);
  glean_input_free(NULL);
  glean_output_free(out);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2) return 2;
  char path[5][4096];
  for (int i = 0; i < 5; ++i) snprintf(path[i], sizeof path[i], "%s/c_%d_%d.nc", argv[1], ranks, i);
  for (int i = 0; rank == 0 && i < 5; ++i) remove(path[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  int of[3] = {-1, -1, -1};
  EXPECT(sscanf(glean_version(), "%d.%d.%d", of, of + 1, of + 2) == 3 && of[0] == GLEAN_VERSION_MAJOR && of[1] == GLEAN_VERSION_MINOR);
  EXPECT(strcmp(glean_status_name((glean_status)4711), "unknown status") == 0);

  glean_session *session = NULL;
  char message[256] = "";
  const glean_setting wrong[1] = {{"pool.budgett", "64 MiB"}};
  EXPECT(glean_session_open(MPI_COMM_WORLD, wrong, 1, &session, message, sizeof message) != GLEAN_OK);
  EXPECT(session == NULL);
  EXPECT(strstr(message, "pool.budget") != NULL);
  char tiny[4] = "xyz";
  EXPECT(glean_session_open(MPI_COMM_WORLD, wrong, 1, &session, tiny, sizeof tiny) != GLEAN_OK);
  EXPECT(tiny[3] == '\0' && strlen(tiny) == 3);
  const glean_setting settings[1] = {{"pool.budget", "64 MiB"}};
  if (glean_session_open(MPI_COMM_WORLD, settings, 1, &session, message, sizeof message) != GLEAN_OK) {
    fprintf(stderr, "rank %d: no session: %s\n", rank, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  a_uniform_grid_and_a_record_variable_arrive(session, path[0]);
  an_amr_grid_arrives(session, path[1]);
  calls_that_must_fail_do(session, path[2]);
  an_abandoned_output_leaves_nothing(session, path[3]);
  what_was_put_is_read(session, path[4]);

  glean_statistics statistics;
  memset(&statistics, 0, sizeof statistics);
  EXPECT(glean_session_statistics(session, &statistics) == GLEAN_INVALID_ARGUMENT);
  statistics.size = sizeof statistics;
  SESSION(glean_session_statistics(session, &statistics));
  EXPECT(statistics.puts >= 7 && statistics.blocked_seconds > 0);
  EXPECT(statistics.pool_budget_bytes == (uint64_t)64 << 20);
  EXPECT(statistics.pool_high_water_bytes > 0 && statistics.size == sizeof statistics);
  SESSION(glean_session_close(session));
  glean_session_free(session);

  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d failures\n", failures);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
