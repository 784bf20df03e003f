/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Containers of task-local files from C: each rank writes a stream of its own, and all streams are in one file, or in a few, of SIONlib's
 * format (docs/containers.md). Included by glean/glean.h, which programs include.
 *
 *   glean_task_file *out = NULL;
 *   glean_container_options options = {.size = sizeof options, .chunk_bytes = 1 << 20};
 *   glean_container_create(session, "restart.sion", &options, &out);
 *   glean_task_file_write(out, particles, bytes);     one copy; `particles` is free again
 *   glean_task_file_close(out);                       does not wait for the disk
 *   glean_task_file_free(out);
 *
 *   glean_container *all = NULL;
 *   glean_task_input *in = NULL;
 *   glean_container_open(session, "restart.sion", &all, why, sizeof why);
 *   glean_container_open_task(all, rank, &in);
 *   glean_task_input_read(in, particles, bytes, &done);
 */
#ifndef GLEAN_CONTAINER_H
#define GLEAN_CONTAINER_H

/* What this rank writes of a container; a container that is read; a task, or a logical file, of it. Owned by the program until given to the
 * matching _free call, in any order. */
typedef struct glean_task_file glean_task_file;
typedef struct glean_container glean_container;
typedef struct glean_task_input glean_task_input;

typedef struct glean_container_options {
  size_t size;            /* sizeof(glean_container_options) */
  uint64_t chunk_bytes;   /* of this rank: about what it writes, for it gets more chunks if it writes more; 0: 1 MiB */
  int files;              /* physical files, 32 at most; 0: 1; -1: one of each node */
  uint64_t block_bytes;   /* chunks are aligned to it; 0: the block of the file system */
  int tasks_per_writer;   /* SIONlib's collective mode: chunks of so many ranks in a row share blocks; 0: 1 */
  const char *name;       /* of the logical file that this rank begins with; NULL: it has none */
} glean_container_options;

typedef struct glean_container_task_description {
  size_t size;            /* sizeof(glean_container_task_description), set by the caller */
  uint64_t task;          /* the global rank that has written it */
  uint64_t chunks, bytes;
} glean_container_task_description;

/* A part of a task that has a name. The pointer lives as long as the container. */
typedef struct glean_container_file_description {
  size_t size;            /* sizeof(glean_container_file_description), set by the caller */
  const char *name;
  uint64_t task;
  uint64_t begin, bytes;  /* within the task */
} glean_container_file_description;

/* --- writing --------------------------------------------------------------------------------- */

/* A new container, of which each rank gets its own part. It appears under `path` when it is complete. `chunk_bytes` and `name` may differ
 * from rank to rank, nothing else. All that is wrong on any rank is told to all. `options` NULL: the defaults. A failure leaves its message
 * in the session. Collective. Blocks. */
GLEAN_CHECKED glean_status glean_container_create(glean_session *session, const char *path,
    const glean_container_options *options, glean_task_file **task_file);

/* What the last failed call with this handle said; "" when there was none. Valid until the next call with it. Local. */
GLEAN_API const char *glean_task_file_message(const glean_task_file *task_file);

/* What is written from now on is the logical file of that name, which is the only one of that name in the container: relative, without
 * "..". Local. */
GLEAN_CHECKED glean_status glean_task_file_begin_file(glean_task_file *task_file, const char *name);

/* Behind what this rank has written before. One memory copy, two for less than 64 KiB; waits only when the pool is full. `data` may be NULL
 * when `bytes` is 0. Local. */
GLEAN_CHECKED glean_status glean_task_file_write(glean_task_file *task_file, const void *data, size_t bytes);

/* For what a program or a language binding refuses by itself: as if a write of this rank had failed with `status` and `why`. Local. */
GLEAN_CHECKED glean_status glean_task_file_fail(glean_task_file *task_file, glean_status status, const char *why);

/* The next `bytes` bytes will be in one chunk. GLEAN_INVALID_ARGUMENT where they do not fit in any. Local. */
GLEAN_CHECKED glean_status glean_task_file_ensure_free_space(glean_task_file *task_file, uint64_t bytes);

/* For how many more bytes this chunk has room. Local. */
GLEAN_CHECKED glean_status glean_task_file_bytes_avail_in_block(glean_task_file *task_file, uint64_t *bytes);

/* How many bytes this rank has written. Local. */
GLEAN_CHECKED glean_status glean_task_file_position(glean_task_file *task_file, uint64_t *position);

/* Waits until what all ranks have written so far is at `level`: before glean_task_file_close GLEAN_DURABLE means on the storage, and after
 * it complete, under its name. Collective. Blocks. */
GLEAN_CHECKED glean_status glean_task_file_wait(glean_task_file *task_file, glean_level level);

/* No more writes: the container is completed and published in the background. What goes wrong later is told by glean_task_file_wait,
 * glean_session_wait or glean_session_close. If a rank has failed, nothing is published, and all are told. Collective. Blocks for the other
 * ranks. */
GLEAN_CHECKED glean_status glean_task_file_close(glean_task_file *task_file);

/* Gives the handle back. Without glean_task_file_close before, the container is abandoned. NULL is allowed. Local. */
GLEAN_API void glean_task_file_free(glean_task_file *task_file);

/* --- reading --------------------------------------------------------------------------------- */

/* Opens a container for reading on this rank. One that this session has closed is waited for. `session` NULL: for a program without a
 * session, or without MPI. A failure leaves its message in `message` of `message_bytes` bytes, which may be NULL. Local. Blocks. */
GLEAN_CHECKED glean_status glean_container_open(glean_session *session, const char *path, glean_container **container,
    char *message, size_t message_bytes);

/* What the last failed call with this container said; "" when there was none. Local. */
GLEAN_API const char *glean_container_message(const glean_container *container);

/* How many tasks it has. Local. */
GLEAN_CHECKED glean_status glean_container_tasks(glean_container *container, size_t *count);

/* Task number `index` of them, from 0, by ascending ranks: fills as much of `description` as its size says. Local. */
GLEAN_CHECKED glean_status glean_container_task(glean_container *container, size_t index,
    glean_container_task_description *description);

/* How many logical files it has; a task without names is one, "task.00012". Local. */
GLEAN_CHECKED glean_status glean_container_files(glean_container *container, size_t *count);

/* Logical file number `index` of them, from 0: fills as much of `description` as its size says. Local. */
GLEAN_CHECKED glean_status glean_container_file(glean_container *container, size_t index,
    glean_container_file_description *description);

/* Whether it was closed: 1, or 0. Of one that was cut off each task has what is in its whole chunks. Local. */
GLEAN_CHECKED glean_status glean_container_is_complete(glean_container *container, int *is_complete);

/* A task, by the global rank that has written it, from its first byte on. GLEAN_NOT_FOUND. Local. */
GLEAN_CHECKED glean_status glean_container_open_task(glean_container *container, uint64_t task, glean_task_input **input);

/* A logical file, from its first byte on. GLEAN_NOT_FOUND. Local. */
GLEAN_CHECKED glean_status glean_container_open_file(glean_container *container, const char *name, glean_task_input **input);

/* Gives the handle back. NULL is allowed. Local. */
GLEAN_API void glean_container_free(glean_container *container);

/* What the last failed call with this handle said; "" when there was none. Local. */
GLEAN_API const char *glean_task_input_message(const glean_task_input *input);

/* Reads what follows. `done`: how many bytes, fewer than `bytes` only at the end. Local. Blocks for storage. */
GLEAN_CHECKED glean_status glean_task_input_read(glean_task_input *input, void *data, size_t bytes, size_t *done);

/* Goes to a byte. GLEAN_OUT_OF_RANGE behind the end. Local. */
GLEAN_CHECKED glean_status glean_task_input_seek(glean_task_input *input, uint64_t position);

/* Goes to byte `position` of a chunk. GLEAN_OUT_OF_RANGE where it has no such byte. Local. */
GLEAN_CHECKED glean_status glean_task_input_seek_chunk(glean_task_input *input, uint64_t chunk, uint64_t position);

/* Where it is, from 0. Local. */
GLEAN_CHECKED glean_status glean_task_input_position(glean_task_input *input, uint64_t *position);

/* How many bytes there are in all. Local. */
GLEAN_CHECKED glean_status glean_task_input_bytes(glean_task_input *input, uint64_t *bytes);

/* 1 at the end, else 0. Local. */
GLEAN_CHECKED glean_status glean_task_input_eof(glean_task_input *input, int *is_at_end);

/* How many bytes follow in the same chunk; 0 only at the end. Local. */
GLEAN_CHECKED glean_status glean_task_input_bytes_avail_in_block(glean_task_input *input, uint64_t *bytes);

/* Gives the handle back. NULL is allowed. Local. */
GLEAN_API void glean_task_input_free(glean_task_input *input);

#endif
