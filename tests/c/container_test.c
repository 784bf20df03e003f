/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every call of glean/container.h, on any number of ranks. Argument: a directory for the files.
 */
#include <glean/glean.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "expecting.h"

enum { parts = 3, part_bytes = 1000 };

#define TASK(call, handle, message) \
  do { \
    const glean_status status_ = (call); \
    expect_ok(status_, message(handle), #call, __LINE__); \
  } while (0)
#define FILE_OK(call) TASK(call, out, glean_task_file_message)
#define ALL_OK(call) TASK(call, all, glean_container_message)
#define IN_OK(call) TASK(call, in, glean_task_input_message)

static char content(int of_rank, int part, int byte) { return (char)(31 * of_rank + 7 * part + byte); }

static void name_of(int of_rank, int part, char *name, size_t bytes) { snprintf(name, bytes, "rank%d/part%d", of_rank, part); }

static void a_container_is_written(glean_session *session, const char *path) {
  char name[64], data[part_bytes];
  name_of(rank, 0, name, sizeof name);
  glean_container_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.chunk_bytes = 1500;
  options.block_bytes = 512;
  options.files = ranks > 1 ? 2 : 1;
  options.name = name;
  glean_task_file *out = NULL;
  SESSION(glean_container_create(session, path, &options, &out));
  if (out == NULL) return;
  uint64_t room = 0, position = 0;
  FILE_OK(glean_task_file_bytes_avail_in_block(out, &room));
  EXPECT(room == 4 * 512 - 64);
  for (int part = 0; part < parts; ++part) {
    name_of(rank, part, name, sizeof name);
    if (part > 0) FILE_OK(glean_task_file_begin_file(out, name));
    for (int i = 0; i < part_bytes; ++i) data[i] = content(rank, part, i);
    FILE_OK(glean_task_file_ensure_free_space(out, part_bytes));
    FILE_OK(glean_task_file_write(out, data, part_bytes));
  }
  FILE_OK(glean_task_file_position(out, &position));
  EXPECT(position == parts * part_bytes);
  EXPECT(glean_task_file_ensure_free_space(out, room + 1) == GLEAN_INVALID_ARGUMENT);
  EXPECT(strstr(glean_task_file_message(out), "do not fit") != NULL);
  FILE_OK(glean_task_file_wait(out, GLEAN_WRITTEN));
  FILE_OK(glean_task_file_close(out));
  FILE_OK(glean_task_file_wait(out, GLEAN_DURABLE));
  glean_task_file_free(out);
}

static void it_is_read(glean_session *session, const char *path) {
  char why[512] = "", data[part_bytes], name[64];
  glean_container *all = NULL;
  expect_ok(glean_container_open(session, path, &all, why, sizeof why), why, "glean_container_open", __LINE__);
  if (all == NULL) return;
  size_t tasks = 0, files = 0, done = 0;
  int is_complete = 0, at_end = 0;
  ALL_OK(glean_container_tasks(all, &tasks));
  ALL_OK(glean_container_files(all, &files));
  ALL_OK(glean_container_is_complete(all, &is_complete));
  EXPECT(tasks == (size_t)ranks && files == (size_t)(parts * ranks) && is_complete == 1);
  for (size_t i = 0; i < tasks; ++i) {
    glean_container_task_description task = {sizeof task, 0, 0, 0};
    ALL_OK(glean_container_task(all, i, &task));
    EXPECT(task.task == i && task.chunks == parts && task.bytes == parts * part_bytes);   /* one does not fit behind another */
  }
  for (int part = 0; part < parts; ++part) {
    glean_container_file_description file = {sizeof file, NULL, 0, 0, 0};
    ALL_OK(glean_container_file(all, (size_t)(parts * rank + part), &file));
    name_of(rank, part, name, sizeof name);
    EXPECT(strcmp(file.name, name) == 0 && file.task == (uint64_t)rank && file.bytes == part_bytes);
    EXPECT(file.begin == (uint64_t)(part * part_bytes));
    glean_task_input *in = NULL;
    ALL_OK(glean_container_open_file(all, name, &in));
    if (in == NULL) continue;
    IN_OK(glean_task_input_read(in, data, sizeof data, &done));
    IN_OK(glean_task_input_eof(in, &at_end));
    EXPECT(done == part_bytes && at_end == 1 && data[part_bytes - 1] == content(rank, part, part_bytes - 1));
    glean_task_input_free(in);
  }
  glean_task_input *in = NULL;
  ALL_OK(glean_container_open_task(all, (uint64_t)rank, &in));
  if (in != NULL) {
    uint64_t position = 0, bytes = 0, left = 0;
    IN_OK(glean_task_input_seek(in, part_bytes + 1));
    IN_OK(glean_task_input_seek_chunk(in, 2, 5));
    IN_OK(glean_task_input_position(in, &position));
    IN_OK(glean_task_input_bytes(in, &bytes));
    IN_OK(glean_task_input_bytes_avail_in_block(in, &left));
    EXPECT(position == 2 * part_bytes + 5 && bytes == parts * part_bytes && left == part_bytes - 5);
    IN_OK(glean_task_input_read(in, data, 1, &done));
    EXPECT(done == 1 && data[0] == content(rank, 2, 5));
    EXPECT(glean_task_input_seek(in, bytes + 1) == GLEAN_OUT_OF_RANGE);
    EXPECT(strstr(glean_task_input_message(in), "there is no byte") != NULL);
  }
  glean_task_input *missing = NULL;
  EXPECT(glean_container_open_task(all, 4711, &missing) == GLEAN_NOT_FOUND && missing == NULL);
  EXPECT(strstr(glean_container_message(all), "4711") != NULL);
  glean_container_free(all);   /* before what was opened of it */
  glean_task_input_free(in);
}

static void what_cannot_be_is_refused(glean_session *session, const char *path) {
  char why[512] = "";
  glean_task_file *out = NULL;
  glean_container_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.files = rank == ranks - 1 ? -2 : 1;
  EXPECT(glean_container_create(session, path, &options, &out) == GLEAN_INVALID_ARGUMENT && out == NULL);
  options.files = ranks + 1;
  EXPECT(glean_container_create(session, path, &options, &out) == GLEAN_INVALID_ARGUMENT && out == NULL);
  EXPECT(strstr(glean_session_message(session), "tasks cannot be in") != NULL);
  EXPECT(glean_container_create(session, NULL, NULL, &out) == GLEAN_INVALID_ARGUMENT);
  SESSION(glean_container_create(session, path, NULL, &out));
  if (rank == 0) EXPECT(glean_task_file_write(out, NULL, 1) == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_task_file_close(out) == GLEAN_INVALID_ARGUMENT);
  EXPECT(strstr(glean_task_file_message(out), "'data' is NULL") != NULL);
  glean_task_file_free(out);
  out = NULL;
  SESSION(glean_container_create(session, path, NULL, &out));
  FILE_OK(glean_task_file_fail(out, GLEAN_UNSUPPORTED, "of another shape"));
  EXPECT(glean_task_file_close(out) == GLEAN_UNSUPPORTED);
  glean_task_file_free(out);
  out = NULL;
  SESSION(glean_container_create(session, path, NULL, &out));   // it fails with what is wrong with that, too
  if (rank == 0) EXPECT(glean_task_file_fail(out, GLEAN_OK, "no failure") == GLEAN_INVALID_ARGUMENT);
  EXPECT(glean_task_file_close(out) == GLEAN_INVALID_ARGUMENT);
  EXPECT(strstr(glean_task_file_message(out), "GLEAN_OK") != NULL);
  glean_task_file_free(out);
  glean_container *all = NULL;
  EXPECT(glean_container_open(NULL, "nowhere.sion", &all, why, sizeof why) == GLEAN_NOT_FOUND && all == NULL);
  EXPECT(strstr(why, "nowhere.sion") != NULL);
  char text[4200];
  snprintf(text, sizeof text, "%s.%d.txt", path, rank);
  FILE *file = fopen(text, "w");
  EXPECT(file != NULL && fputs("a text\n", file) >= 0 && fclose(file) == 0);
  EXPECT(glean_container_open(session, text, &all, why, sizeof why) == GLEAN_INVALID_ARGUMENT && all == NULL);
  EXPECT(strstr(why, "it is not a container") != NULL);
  EXPECT(remove(text) == 0);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char path[4096], why[512] = "";
  snprintf(path, sizeof path, "%s/c_%d.sion", argc > 1 ? argv[1] : ".", ranks);
  glean_session *session = NULL;
  expect_ok(glean_session_open(MPI_COMM_WORLD, NULL, 0, &session, why, sizeof why), why, "glean_session_open", __LINE__);
  if (session == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  a_container_is_written(session, path);
  it_is_read(session, path);
  what_cannot_be_is_refused(session, path);
  SESSION(glean_session_close(session));
  glean_session_free(session);
  it_is_read(NULL, path);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d failures\n", all);
  MPI_Finalize();
  return all != 0;
}
