/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Meshes from C99: each is written as NetCDF, which PnetCDF reads, and the unstructured one also for VTK. Runs on any number of ranks.
 * Argument: a directory for the files.
 */
#include <glean/glean.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expecting.h"

static glean_output *opened(glean_session *session, const char *path, glean_format format) {
  glean_output *out = NULL;
  expect_ok(glean_output_open(session, path, format, NULL, &out), glean_session_message(session), "glean_output_open", __LINE__);
  if (out == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return out;
}

static void closed(glean_output *out) {
  OUT(glean_output_end_step(out));
  OUT(glean_output_close_at(out, GLEAN_DURABLE, 60));
  glean_output_free(out);
}

/* All of a variable, as PnetCDF reads it. */
static void read_back(const char *path, const char *name, double *values) {
  int file = -1, id = -1;
  EXPECT(ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &file) == NC_NOERR);
  EXPECT(ncmpi_inq_varid(file, name, &id) == NC_NOERR);
  EXPECT(ncmpi_get_var_double_all(file, id, values) == NC_NOERR);
  ncmpi_close(file);
}

static void a_rectilinear_grid_arrives(glean_session *session, const char *path) {
  glean_output *out = opened(session, path, GLEAN_CDF5);
  double *y = malloc(((size_t)ranks + 1) * sizeof *y);
  const double x[3] = {0, 1, 4};
  for (int i = 0; i <= ranks; ++i) y[i] = i * i;
  const size_t points[2] = {(size_t)ranks + 1, 3};
  const double *const coordinates[2] = {y, x};
  const uint64_t start[2] = {(uint64_t)rank, 0}, count[2] = {1, 2};
  glean_rectilinear_grid mesh;
  memset(&mesh, 0, sizeof mesh);
  mesh.size = sizeof mesh;
  mesh.dimensions = 2;
  mesh.points = points;
  mesh.coordinates = coordinates;
  mesh.blocks = 1;
  mesh.block_start = start;
  mesh.block_count = count;
  glean_grid grid = {-1};
  OUT(glean_output_define_rectilinear_grid(out, &mesh, &grid));
  OUT(glean_output_set_time(out, 1.5, "s"));
  glean_variable_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.centring = GLEAN_POINTS;
  options.components = 3;
  glean_variable velocity = {-1};
  OUT(glean_output_define_grid_variable(out, "velocity", GLEAN_FLOAT64, grid, &options, &velocity));
  OUT(glean_output_begin_step(out));
  double data[2 * 3 * 3];
  for (int i = 0; i < 18; ++i) data[i] = 9 * rank + i;
  OUT(glean_output_put(out, velocity, GLEAN_FLOAT64, data, 18));
  closed(out);

  double time = 0, bounds[4];
  double *all = malloc(((size_t)ranks + 1) * 9 * sizeof *all);
  read_back(path, "time", &time);
  read_back(path, "x_bounds", bounds);
  read_back(path, "velocity", all);
  EXPECT(time == 1.5 && bounds[0] == 0 && bounds[1] == 1 && bounds[2] == 1 && bounds[3] == 4);
  for (int i = 0; i < (ranks + 1) * 9; ++i) EXPECT(all[i] == i);
  free(all);
  free(y);
}

/* Points that are kept as x, then y, then z of all. */
static void a_curvilinear_grid_arrives(glean_session *session, const char *path) {
  glean_output *out = opened(session, path, GLEAN_CDF5);
  const uint64_t shape[2] = {(uint64_t)ranks, 1}, start[2] = {(uint64_t)rank, 0}, count[2] = {1, 1};
  const float xyz[12] = {0, 1, 0, 1, (float)rank, (float)rank, (float)rank + 1, (float)rank + 1, 5, 5, 5, 5};
  glean_curvilinear_grid mesh;
  memset(&mesh, 0, sizeof mesh);
  mesh.size = sizeof mesh;
  mesh.dimensions = 2;
  mesh.shape = shape;
  mesh.blocks = 1;
  mesh.block_start = start;
  mesh.block_count = count;
  glean_points points;
  memset(&points, 0, sizeof points);
  points.size = sizeof points;
  points.type = GLEAN_FLOAT32;
  points.first = xyz;
  points.count = 4;
  points.point_stride = 1;
  points.component_stride = 4;
  mesh.points = &points;
  glean_grid grid = {-1};
  OUT(glean_output_define_curvilinear_grid(out, &mesh, &grid));
  OUT(glean_output_begin_step(out));
  closed(out);

  double *y = malloc(((size_t)ranks + 1) * 2 * sizeof *y);
  read_back(path, "y_points", y);
  for (int i = 0; i <= ranks; ++i) EXPECT(y[2 * i] == i && y[2 * i + 1] == i);
  free(y);
}

static void fill_tetrahedron(glean_unstructured_mesh *mesh, glean_points *points) {
  static const double xyz[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const uint8_t types[1] = {GLEAN_TETRA};
  static const int64_t connectivity[4] = {3, 2, 1, 0};
  memset(mesh, 0, sizeof *mesh);
  mesh->size = sizeof *mesh;
  memset(points, 0, sizeof *points);
  points->size = sizeof *points;
  points->type = GLEAN_FLOAT64;
  points->first = xyz;
  points->count = 4;
  mesh->points = points;
  mesh->cells = 1;
  mesh->types = types;
  mesh->connectivity = connectivity;
  mesh->connectivity_length = 4;
}

/* A tetrahedron on each rank, and what is wrong with one that has a point too few. */
static void an_unstructured_mesh_arrives(glean_session *session, const char *path, glean_format format) {
  glean_output *out = opened(session, path, format);
  glean_unstructured_mesh mesh;
  glean_points points;
  fill_tetrahedron(&mesh, &points);
  glean_grid grid = {-1};
  OUT(glean_output_define_unstructured_mesh(out, &mesh, &grid));
  glean_variable rank_of = {-1};
  OUT(glean_output_define_grid_variable(out, "rank", GLEAN_INT32, grid, NULL, &rank_of));
  OUT(glean_output_begin_step(out));
  const int32_t mine[1] = {rank};
  OUT(glean_output_put(out, rank_of, GLEAN_INT32, mine, 1));
  closed(out);
  if (format == GLEAN_VTK) {
    char line[32] = "";
    FILE *file = fopen(path, "rb");
    EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL && strcmp(line, "# vtk DataFile Version 3.0\n") == 0);
    if (file != NULL) fclose(file);
    return;
  }
  double *all = malloc((size_t)ranks * 4 * sizeof *all);
  read_back(path, "mesh_connectivity", all);
  for (int i = 0; i < 4 * ranks; ++i) EXPECT(all[i] == 4 * (i / 4) + 3 - i % 4);
  read_back(path, "rank", all);
  for (int i = 0; i < ranks; ++i) EXPECT(all[i] == i);
  free(all);
}

static void a_mesh_that_is_wrong_says_all(glean_session *session, const char *path) {
  glean_output *out = opened(session, path, GLEAN_VTK);
  glean_unstructured_mesh mesh;
  glean_points points;
  fill_tetrahedron(&mesh, &points);
  points.count = 3;
  mesh.connectivity_length = 3;
  glean_grid grid = {-1};
  EXPECT(glean_output_define_unstructured_mesh(out, &mesh, &grid) == GLEAN_INVALID_ARGUMENT);
  EXPECT(strstr(glean_output_message(out), "4 points by their offsets") != NULL);
  mesh.connectivity_length = 4;
  points.type = GLEAN_INT32;
  EXPECT(glean_output_define_unstructured_mesh(out, &mesh, &grid) == GLEAN_INVALID_ARGUMENT);
  points.type = GLEAN_FLOAT64;
  EXPECT(glean_output_define_unstructured_mesh(out, &mesh, &grid) == GLEAN_INVALID_ARGUMENT);
  EXPECT(strstr(glean_output_message(out), "cell 0 has point 3, and this rank has points 0 to 2") != NULL);
  glean_output_free(out);
}

/* As structures that an older or newer program has filled. */
static void points_start_with_their_size(glean_session *session, const char *path) {
  glean_output *out = opened(session, path, GLEAN_VTK);
  struct {
    glean_points known;
    long newer;
  } future;
  memset(&future, 0, sizeof future);
  glean_unstructured_mesh mesh;
  fill_tetrahedron(&mesh, &future.known);
  glean_grid grid = {-1};
  future.known.size = 0;
  EXPECT(glean_output_define_unstructured_mesh(out, &mesh, &grid) == GLEAN_INVALID_ARGUMENT);
  EXPECT(strstr(glean_output_message(out), "'points' has no size") != NULL);
  future.known.size = sizeof future;
  future.newer = 1;
  EXPECT(glean_output_define_unstructured_mesh(out, &mesh, &grid) == GLEAN_UNSUPPORTED);
  EXPECT(grid.id == -1);
  glean_output_free(out);

  out = opened(session, path, GLEAN_VTK);
  future.newer = 0;
  future.known.point_stride = 0;
  OUT(glean_output_define_unstructured_mesh(out, &mesh, &grid));
  OUT(glean_output_begin_step(out));
  closed(out);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2) return 2;
  char path[6][4096];
  for (int i = 0; i < 6; ++i) snprintf(path[i], sizeof path[i], "%s/c_mesh_%d_%d", argv[1], ranks, i);
  EXPECT(glean_lagrange_hexahedron_point(1, 1, 1, 2) == 26);
  glean_session *session = NULL;
  char message[256] = "";
  const glean_setting settings[1] = {{"pool.budget", "64 MiB"}};
  if (glean_session_open(MPI_COMM_WORLD, settings, 1, &session, message, sizeof message) != GLEAN_OK) {
    fprintf(stderr, "rank %d: no session: %s\n", rank, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  a_rectilinear_grid_arrives(session, path[0]);
  a_curvilinear_grid_arrives(session, path[1]);
  an_unstructured_mesh_arrives(session, path[2], GLEAN_CDF5);
  an_unstructured_mesh_arrives(session, path[3], GLEAN_VTK);
  a_mesh_that_is_wrong_says_all(session, path[4]);
  points_start_with_their_size(session, path[5]);
  if (glean_session_close(session) != GLEAN_OK) ++failures;
  glean_session_free(session);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d failures\n", failures);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
