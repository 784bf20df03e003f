/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GLEAN from C: the same abilities as glean/glean.hpp. docs/api.md puts the calls of both side by side.
 *
 *   glean_session *session = NULL;
 *   char why[512];
 *   if (glean_session_open(MPI_COMM_WORLD, NULL, 0, &session, why, sizeof why) != GLEAN_OK) ...
 *   glean_output *out = NULL;
 *   glean_output_open(session, "chk_0001.nc", GLEAN_CDF5, NULL, &out);
 *   glean_uniform_grid mesh = {.size = sizeof mesh, .dimensions = 3, .shape = shape, ...};
 *   glean_grid grid;
 *   glean_output_define_uniform_grid(out, &mesh, &grid);
 *   glean_variable dens;
 *   glean_output_define_grid_variable(out, "dens", GLEAN_FLOAT64, grid, NULL, &dens);
 *   glean_output_begin_step(out);
 *   glean_output_put(out, dens, GLEAN_FLOAT64, density, elements);   one copy; `density` is free again
 *   glean_output_end_step(out);
 *   glean_output_close(out);                                         does not wait for the disk
 *   glean_output_free(out);
 *   ...                                                              compute
 *   glean_session_wait(session, GLEAN_DURABLE, -1);
 *   glean_session_close(session);
 *   glean_session_free(session);
 *
 * Every call says whether it is Local (no other rank is needed) or Collective (all ranks of the session call
 * it in the same order), and whether it Blocks. All return a status. A collective call fails on every rank or
 * on none. What a call gives back through pointers is set only when it succeeds. A failed call leaves its
 * message in the handle that it was called with. A definition or put that fails on one rank makes the output fail: the other
 * ranks are told at their next collective call, and nothing incomplete is published, whatever the rank does after it.
 * Handles are not thread-safe: one thread of a rank at a time.
 *
 * Pointers must not be NULL unless the comment says so. Structures that can grow start with their size, which
 * the caller sets to sizeof; members that are zero have their default.
 */
#ifndef GLEAN_GLEAN_H
#define GLEAN_GLEAN_H

#include <mpi.h>

/* The version of this header; glean_version() says that of the library. */
#ifndef GLEAN_VERSION_MAJOR
#define GLEAN_VERSION_MAJOR 0
#define GLEAN_VERSION_MINOR 1
#define GLEAN_VERSION_PATCH 0
#endif
#include <stddef.h>
#include <stdint.h>

#include "glean/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GLEAN_API __attribute__((visibility("default")))
#define GLEAN_CHECKED __attribute__((visibility("default"), warn_unused_result))
#else
#define GLEAN_API
#define GLEAN_CHECKED
#endif

/* --- values ---------------------------------------------------------------------------------- */

typedef enum glean_status {
  GLEAN_OK = 0,
  GLEAN_INVALID_ARGUMENT, /* a shape, type, name or selection that cannot be */
  GLEAN_INVALID_STATE,    /* a call at the wrong time, such as a put outside a step */
  GLEAN_INVALID_CONFIG,   /* an unknown key or a value that cannot be */
  GLEAN_OVERLAP,          /* two puts of one step cover the same element */
  GLEAN_OUT_OF_RANGE,     /* a value that the external type cannot hold */
  GLEAN_TIMEOUT,          /* a deadline passed; the message names the ranks and calls that are missing */
  GLEAN_NO_SPACE,         /* the file system or the shared memory is full */
  GLEAN_PERMISSION,       /* the file or directory cannot be written */
  GLEAN_EXISTS,           /* the file is there and was not to be replaced */
  GLEAN_NOT_FOUND,        /* no such directory, file or variable */
  GLEAN_IO,               /* the storage failed */
  GLEAN_UNSUPPORTED,      /* this library or machine cannot do it */
  GLEAN_NO_MEMORY,        /* this process has no memory left */
  GLEAN_INTERNAL          /* a defect of the library; please report the message */
} glean_status;

/* How safe captured data is. Each level includes the ones before it. */
typedef enum glean_level {
  GLEAN_CAPTURED, /* the application's buffer can be reused */
  GLEAN_STAGED,   /* held outside the application's process (the node's pool and journal) */
  GLEAN_WRITTEN,  /* handed to the file system */
  GLEAN_DURABLE   /* fsynced, and published under the final name if the output is closed */
} glean_level;

/* NetCDF classic, 64-bit offset, 64-bit data; NumPy's format: one variable, little-endian, no attributes; HDF5: names with '/' are in
   groups; VTK's HDF5 files and its legacy files: one grid and one step. Those behind NetCDF are not in the modes passthrough and
   collective. */
typedef enum glean_format { GLEAN_CDF1, GLEAN_CDF2, GLEAN_CDF5, GLEAN_NPY, GLEAN_HDF5, GLEAN_VTKHDF, GLEAN_VTK } glean_format;

/* What becomes of elements that no rank puts. */
typedef enum glean_fill { GLEAN_FILL_OFF, GLEAN_FILL_ON } glean_fill;

/* What to do with a file that is there already. */
typedef enum glean_existing { GLEAN_REPLACE, GLEAN_REFUSE } glean_existing;

/* What has become of an output. */
typedef enum glean_output_state {
  GLEAN_OUTPUT_OPEN,      /* this rank has not closed it */
  GLEAN_OUTPUT_DRAINING,  /* this rank has; other ranks or the drain have not done their part yet */
  GLEAN_OUTPUT_PUBLISHED, /* complete, durable and under its final name */
  GLEAN_OUTPUT_FAILED,    /* it will not be published */
  GLEAN_OUTPUT_ABANDONED, /* given up by this rank */
  GLEAN_OUTPUT_DROPPED    /* all its steps were dropped because the pool was full: there is no file */
} glean_output_state;

/* What must be so before a file of this session can be read. */
typedef enum glean_reading {
  GLEAN_READ_PUBLISHED, /* the output is closed by all ranks, complete, durable and under its final name */
  GLEAN_READ_WRITTEN    /* the steps that this rank has ended are in the file, open or not */
} glean_reading;

/* --- handles --------------------------------------------------------------------------------- */

/* Owned by the program until given to the matching _free call. Outputs are freed before their session. */
typedef struct glean_session glean_session;
typedef struct glean_output glean_output;
typedef struct glean_input glean_input;

/* Small values that belong to the output or input that made them; nothing is to be freed. */
typedef struct glean_dimension { int id; } glean_dimension;
typedef struct glean_variable { int id; } glean_variable;
typedef struct glean_grid { int id; } glean_grid;

/* --- structures ------------------------------------------------------------------------------ */

/* A key of the configuration file and its value. */
typedef struct glean_setting {
  const char *key;
  const char *value;
} glean_setting;

typedef struct glean_output_options {
  size_t size;             /* sizeof(glean_output_options) */
  glean_existing existing; /* default GLEAN_REPLACE */
} glean_output_options;

typedef struct glean_variable_options {
  size_t size;     /* sizeof(glean_variable_options) */
  glean_fill fill; /* default GLEAN_FILL_OFF */
  int per_step;    /* not 0: a record variable, every step adds a record; on a grid `time` is defined where no dimension is unlimited */
  glean_centring centring; /* of a variable on a grid; default GLEAN_CELLS */
  int components;  /* of a variable on a grid: 3 of a vector, 9 of a tensor; 0, the default, is 1; if more than 1, its last dimension */
} glean_variable_options;

/* What this rank has seen since the session began. */
typedef struct glean_statistics {
  size_t size;                    /* sizeof(glean_statistics), set by the caller */
  double blocked_seconds;         /* inside calls of this library */
  uint64_t captured_bytes;        /* taken by puts of this rank */
  uint64_t puts;
  uint64_t pool_budget_bytes;     /* of the node */
  uint64_t pool_high_water_bytes;
  uint64_t steps_dropped;         /* of all outputs, because the pool was full */
  uint64_t spilled_bytes;         /* of what was captured by this rank: on the way through its spill file */
  uint64_t synchronous_bytes;     /* written by this rank itself */
} glean_statistics;

/* An output as this rank sees it. */
typedef struct glean_output_status {
  size_t size;              /* sizeof(glean_output_status), set by the caller */
  const char *path;         /* as the program named it */
  glean_output_state state;
  uint64_t steps_ended;     /* by this rank */
  uint64_t steps_staged;    /* ended by all ranks */
  uint64_t steps_written;
  uint64_t steps_durable;   /* of an open or draining output: as far as a rank has asked for it */
  const char *error;        /* why it has failed; "" unless it has */
  uint64_t steps_dropped;   /* begun by this rank, and left out because the pool was full */
} glean_output_status;

/* What a trigger, or an analysis of the user's own, tells the program (docs/analysis.md). */
typedef struct glean_message {
  size_t size;              /* sizeof(glean_message), set by the caller */
  const char *text;
  const char *output;       /* as the program named it */
  uint64_t step;
} glean_message;

/* --- library --------------------------------------------------------------------------------- */

/* "1.2.3"; never freed. Local. */
GLEAN_API const char *glean_version(void);

/* "invalid argument", "no space", ...; never NULL, never freed. Local. */
GLEAN_API const char *glean_status_name(glean_status status);

/* --- session --------------------------------------------------------------------------------- */

/* Joins the ranks of `comm` (duplicated; any thread level) into a session. `settings` (NULL when there are
 * none) go before environment and file. There is no handle to ask when this fails, so the message goes into
 * `message`, cut to `message_bytes` and always terminated (NULL: not wanted). Collective. Blocks: the pool's
 * memory is touched once. */
GLEAN_CHECKED glean_status glean_session_open(MPI_Comm comm, const glean_setting *settings,
    size_t setting_count, glean_session **session, char *message, size_t message_bytes);

/* Whether this rank was set aside to write, as the last one of each node is in mode `dedicated` (`is_writer` is 1, else 0). There
 * glean_session_open returns when the other ranks have closed the session, and the program ends. Local. */
GLEAN_CHECKED glean_status glean_session_is_writer(glean_session *session, int *is_writer);

/* The ranks that compute: `comm` as it was given, or in mode `dedicated` a communicator of all ranks but the writers,
 * which remains until MPI_Finalize (MPI_COMM_NULL on a writer). What other calls say of all ranks is of these.
 * Local. */
GLEAN_CHECKED glean_status glean_session_comm(glean_session *session, MPI_Comm *comm);

/* Waits until everything put so far into any output is at `level`. `seconds` < 0: the configured deadline.
 * Collective. Blocks. */
GLEAN_CHECKED glean_status glean_session_wait(glean_session *session, glean_level level, double seconds);

/* Waits for the drain of closed outputs, prints and writes the report, frees the pool. The handle remains for
 * its message. Collective. Blocks. */
GLEAN_CHECKED glean_status glean_session_close(glean_session *session);

/* Gives the handle back. Closes first what was not closed, with errors written to the log. NULL is allowed.
 * Collective unless closed. */
GLEAN_API void glean_session_free(glean_session *session);

/* Fills as much of `statistics` as its size says. Local. */
GLEAN_CHECKED glean_status glean_session_statistics(glean_session *session, glean_statistics *statistics);

/* Looks at the outputs whose definitions have ended, oldest first: what became of those that are finished (the
 * last 256, those that failed before others), then those that are not. As this rank sees it now. `count`: how
 * many there are for glean_session_output. Also after glean_session_close. Local. */
GLEAN_CHECKED glean_status glean_session_outputs(glean_session *session, size_t *count);

/* Fills as much of `status` as its size says with output `index` of those that glean_session_outputs has looked
 * at. The texts live until it looks again. GLEAN_NOT_FOUND when there are not so many. Local. */
GLEAN_CHECKED glean_status glean_session_output(glean_session *session, size_t index, glean_output_status *status);

/* What has been told since this rank asked last, in that order: of what the drain of its node has seen, so other nodes may hear something
 * else. None in the modes that have no drain on the node, nor from stagers. `count`: how many there are for glean_polled_message. Local. */
GLEAN_CHECKED glean_status glean_poll_messages(glean_session *session, size_t *count);

/* Fills as much of `message` as its size says with message `index` of those. The texts live until it asks again. GLEAN_NOT_FOUND when there
 * are not so many. Local. */
GLEAN_CHECKED glean_status glean_polled_message(glean_session *session, size_t index, glean_message *message);

/* What the last failed call with this session said; "" when there was none. Valid until the next call with
 * this handle. Local. */
GLEAN_API const char *glean_session_message(const glean_session *session);

/* --- output ---------------------------------------------------------------------------------- */

/* Opens a new output. The file appears under `path` when it is complete. `options` NULL: the defaults. A
 * failure leaves its message in the session. Collective. */
GLEAN_CHECKED glean_status glean_output_open(glean_session *session, const char *path, glean_format format,
    const glean_output_options *options, glean_output **output);

/* Adds steps to a NetCDF file (CDF-1, CDF-2, CDF-5) that is there. Its definitions are the file's: glean_output_find_variable() finds
 * what glean_output_put_box() takes, of which each rank may put any box of a record, and glean_output_begin_step() begins the record
 * behind the last one. A reader sees the old file or one with more whole steps; a kill, or an output that fails, leaves the old one, or
 * those steps for which glean_output_wait() for GLEAN_DURABLE has returned. What is not per step does not change. GLEAN_NOT_FOUND where
 * there is no such file, GLEAN_UNSUPPORTED for other formats and in the modes passthrough, collective and staged. A failure leaves its
 * message in the session. Collective. Blocks. */
GLEAN_CHECKED glean_status glean_output_append(glean_session *session, const char *path, glean_output **output);

/* What the last failed call with this output said; "" when there was none. Valid until the next call with
 * this handle. Local. */
GLEAN_API const char *glean_output_message(const glean_output *output);

/* Definitions: before the first begin_step, the same on every rank but for the blocks. If one fails, the output becomes no
 * file, also where the program goes on: end_definitions tells all ranks, and messages of later calls say so, too. */

/* Local. */
GLEAN_CHECKED glean_status glean_output_define_dimension(glean_output *output, const char *name,
    uint64_t length, glean_dimension *dimension);

/* The record dimension; at most one. Local. */
GLEAN_CHECKED glean_status glean_output_define_unlimited(glean_output *output, const char *name,
    glean_dimension *dimension);

/* Local. */
GLEAN_CHECKED glean_status glean_output_define_uniform_grid(glean_output *output,
    const glean_uniform_grid *description, glean_grid *grid);

/* Local. */
GLEAN_CHECKED glean_status glean_output_define_amr_grid(glean_output *output,
    const glean_amr_grid *description, glean_grid *grid);

/* Local. */
GLEAN_CHECKED glean_status glean_output_define_rectilinear_grid(glean_output *output,
    const glean_rectilinear_grid *description, glean_grid *grid);

/* Local. */
GLEAN_CHECKED glean_status glean_output_define_curvilinear_grid(glean_output *output,
    const glean_curvilinear_grid *description, glean_grid *grid);

/* Local. */
GLEAN_CHECKED glean_status glean_output_define_unstructured_mesh(glean_output *output,
    const glean_unstructured_mesh *description, glean_grid *grid);

/* Where a Lagrange hexahedron has the point that is the i-th along x, the j-th along y and the k-th along z, 0 to `order` each. Local. */
GLEAN_API size_t glean_lagrange_hexahedron_point(size_t i, size_t j, size_t k, size_t order);

/* An array over a grid: its shape and this rank's blocks are the grid's (docs/meshes.md). With `per_step` the record
 * dimension comes in front; where there is none yet, one called `time` is defined. `options` NULL: the defaults. Local. */
GLEAN_CHECKED glean_status glean_output_define_grid_variable(glean_output *output, const char *name,
    glean_type external, glean_grid grid, const glean_variable_options *options, glean_variable *variable);

/* An array over dimensions, slowest first (an unlimited one only in front, which makes it a record variable).
 * `block_start` and `block_count`: [blocks][dimensions without the unlimited one], what this rank will put;
 * NULL when there are none. `dimensions` NULL with a count of 0: a scalar, whose block has no indices: the rank that puts it
 * gives `blocks` 1 and NULL for both, the others `blocks` 0. So is one with the unlimited dimension only, of each step.
 * `options` NULL: the defaults. Local. */
GLEAN_CHECKED glean_status glean_output_define_variable(glean_output *output, const char *name,
    glean_type external, const glean_dimension *dimensions, size_t dimension_count,
    const uint64_t *block_start, const uint64_t *block_count, size_t blocks,
    const glean_variable_options *options, glean_variable *variable);

/* An attribute of the file. `values` NULL only with a count of 0. Text is GLEAN_TEXT with its length.
 * Local. */
GLEAN_CHECKED glean_status glean_output_define_attribute(glean_output *output, const char *name,
    glean_type type, const void *values, size_t count);

/* An attribute of a variable. `_FillValue` sets its fill value. Otherwise as above. Local. */
GLEAN_CHECKED glean_status glean_output_define_variable_attribute(glean_output *output,
    glean_variable variable, const char *name, glean_type type, const void *values, size_t count);

/* The attribute's values may change after the definitions: glean_output_set_attribute gives them, of the type and number that it is defined
 * with, text at most as long. Where the format has attributes: NetCDF and HDF5, VTKHDF. Local. */
GLEAN_CHECKED glean_status glean_output_allow_attribute_change(glean_output *output, const char *name);

/* Of a variable. `_FillValue` does not change. Otherwise as above. Local. */
GLEAN_CHECKED glean_status glean_output_allow_variable_attribute_change(glean_output *output, glean_variable variable,
    const char *name);

/* The time of the next step, until it is set again; that of rank 0 counts. All ranks set it for the first time
 * before definitions end, with the same unit. `unit` NULL: none is named. Local. */
GLEAN_CHECKED glean_status glean_output_set_time(glean_output *output, double time, const char *unit);

/* Creates the file with its metadata. The first begin_step calls it if the program has not. Collective.
 * Blocks for one small file operation of rank 0. */
GLEAN_CHECKED glean_status glean_output_end_definitions(glean_output *output);

/* Starts the next step: record 0, 1, 2, ... of the record variables. Local, but Collective the first time. */
GLEAN_CHECKED glean_status glean_output_begin_step(glean_output *output);

/* Puts all of this rank's blocks of a variable, one after the other, each row-major. One memory copy; Blocks
 * only when the pool is full, at most for `pool.deadline`. `memory` may differ from the external type: values
 * are converted on their way to the file. `data` may be NULL when `elements` is 0. Local. */
GLEAN_CHECKED glean_status glean_output_put(glean_output *output, glean_variable variable, glean_type memory,
    const void *data, size_t elements);

/* Puts one box, which lies inside one of this rank's blocks, from an array in memory whose neighbours in
 * dimension d are `strides[d]` elements apart, so that ghost cells and interleaved variables need no packing.
 * `first` is the element that belongs to `start`. `dimensions`: length of `start`, `count` and `strides`;
 * it must be the variable's, without the record dimension. `strides` NULL: the box is contiguous. Local, as
 * glean_output_put. */
GLEAN_CHECKED glean_status glean_output_put_box(glean_output *output, glean_variable variable,
    size_t dimensions, const uint64_t *start, const uint64_t *count, glean_type memory, const void *first,
    const ptrdiff_t *strides);

/* For what a program or a language binding refuses by itself, an array of another shape for example: the output goes on as
 * if a definition or put of this rank had failed with `status` and `why`. Local. */
GLEAN_CHECKED glean_status glean_output_fail(glean_output *output, glean_status status, const char *why);

/* Ends this rank's part of the step; the drain starts on it when all ranks have. Local. */
GLEAN_CHECKED glean_status glean_output_end_step(glean_output *output);

/* The value of an attribute that may change, known late: the time that the run took, the last residual. From the end of the definitions
 * until the output is closed, in a step or between steps, as often as the program likes; the last values go into the file when it is
 * closed. All ranks call it with the same values, or rank 0 alone: those of rank 0 count. Of an output of several files each has a first
 * rank, which counts. Shorter text is padded with zero bytes, which readers leave out. The file of a job that was killed before it closed
 * the output has the values of the definition. Local. */
GLEAN_CHECKED glean_status glean_output_set_attribute(glean_output *output, const char *name, glean_type type,
    const void *values, size_t count);

/* Of a variable. Otherwise as above. Local. */
GLEAN_CHECKED glean_status glean_output_set_variable_attribute(glean_output *output, glean_variable variable,
    const char *name, glean_type type, const void *values, size_t count);

/* GLEAN_NOT_FOUND when nothing has this name. Local. */
GLEAN_CHECKED glean_status glean_output_find_variable(glean_output *output, const char *name,
    glean_variable *variable);

/* Waits until everything put so far is at `level` on every rank. Returns what the drain met: overlapping
 * puts, values out of range, a full disk. `seconds` < 0: the configured deadline. On an open output
 * GLEAN_DURABLE means fsynced; it is published once it is closed and complete. Collective. Blocks. */
GLEAN_CHECKED glean_status glean_output_wait(glean_output *output, glean_level level, double seconds);

/* Whether everything that this rank has put so far is at `level`, as far as its node knows: `*reached` is 1 or 0; it is 0 of an
 * output that has failed. It asks the drain for what it takes. Local; does not wait. */
GLEAN_CHECKED glean_status glean_output_reached(glean_output *output, glean_level level, int *reached);

/* No more steps: the file is completed, made durable and published in the background. The handle remains for
 * glean_output_wait and glean_output_message. Errors that come later reach every rank at the next
 * glean_output_open, glean_session_wait or glean_session_close, or at glean_output_wait. Collective; does not
 * wait for the drain. */
GLEAN_CHECKED glean_status glean_output_close(glean_output *output);

/* glean_output_close, and glean_output_wait: with GLEAN_DURABLE it returns when the file is complete, under its name, on
 * storage. Collective. Blocks. */
GLEAN_CHECKED glean_status glean_output_close_at(glean_output *output, glean_level level, double seconds);

/* Gives the handle back. Without glean_output_close before, the output is abandoned: nothing is published.
 * NULL is allowed. Local. */
GLEAN_API void glean_output_free(glean_output *output);

/* --- input: glean/input.h ---------------------------------------------------------------------- */

#include "glean/input.h"

/* --- containers of task-local files: glean/container.h ------------------------------------------ */

#include "glean/container.h"

#ifdef __cplusplus
}
#endif

#endif /* GLEAN_GLEAN_H */
