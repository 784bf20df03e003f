/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading files from C. Included by glean/glean.h, which programs include.
 */
#ifndef GLEAN_INPUT_H
#define GLEAN_INPUT_H

typedef struct glean_input_options {
  size_t size;            /* sizeof(glean_input_options) */
  glean_reading reading;  /* default GLEAN_READ_PUBLISHED */
  double seconds;         /* to wait at most; <= 0, the default: the configured deadline, anew whenever the drain
                             makes progress */
} glean_input_options;

/* A variable of a file. The pointers live as long as the input. */
typedef struct glean_variable_description {
  size_t size;            /* sizeof(glean_variable_description), set by the caller */
  const char *name;
  glean_type external;
  int per_step;           /* not 0: a record variable */
  size_t dimensions;      /* without the record dimension */
  const uint64_t *shape;  /* [dimensions] of one step, slowest first */
  size_t names;           /* of dimensions; one more of a record variable, with that of the record dimension in front */
  const char *const *dimension_names;   /* [names] */
} glean_variable_description;

/* An attribute of a file or variable. The pointer lives as long as the input. */
typedef struct glean_attribute_description {
  size_t size;            /* sizeof(glean_attribute_description), set by the caller */
  const char *name;
  glean_type external;
  size_t elements;
} glean_attribute_description;

/* Opens a file for reading on this rank, as it is now: steps that are put later need another call. If it is an
 * output of this session, waits for what the options ask for, so that nothing older is ever read than what this
 * rank has put. GLEAN_READ_PUBLISHED: GLEAN_INVALID_STATE while this rank has not closed the output.
 * GLEAN_READ_WRITTEN: what all ranks have put in the steps that this rank has ended; costs one fsync by the
 * drain. Not for open outputs of the modes `passthrough` and `staged`. GLEAN_TIMEOUT names the ranks that are missing; an
 * output that has failed says so. A path that is no output of this session is opened as it is; in mode `staged` through
 * the stagers, if it is not on this host. `options` NULL: the defaults. A failure leaves its message in the session.
 * Local. Blocks. */
GLEAN_CHECKED glean_status glean_input_open(glean_session *session, const char *path,
    const glean_input_options *options, glean_input **input);

/* Opens the newest complete file whose path matches a shell pattern, such as "run/chk_*.nc", the same on all ranks;
 * glean_input_path says which one. Newest is the one that was modified last, of equal times the one with the highest
 * number in its name. Outputs of this session that are closed and match are waited for, for `seconds`, or if < 0 the
 * deadline. What cannot be opened, was cut short or was not finished is passed over, with a line in the log.
 * GLEAN_NOT_FOUND if no file matches: the program starts from scratch. GLEAN_IO if some match and none is complete, or a
 * rank cannot open the one that was chosen. A failure leaves its message in the session. Collective. Blocks. */
GLEAN_CHECKED glean_status glean_session_restart(glean_session *session, const char *pattern, double seconds,
    glean_input **input);

/* The path as it was opened: what glean_input_open was given, or glean_session_restart has found. "" for NULL. Valid as
 * long as the input. Local. */
GLEAN_API const char *glean_input_path(const glean_input *input);

/* What the last failed call with this input said; "" when there was none. Valid until the next call with this
 * handle. Local. */
GLEAN_API const char *glean_input_message(const glean_input *input);

/* Records that the file holds. Local. */
GLEAN_CHECKED glean_status glean_input_steps(glean_input *input, uint64_t *steps);

/* Number of variables. Their handles are {0}, {1}, ... in the order of the file. Local. */
GLEAN_CHECKED glean_status glean_input_variables(glean_input *input, size_t *count);

/* Fills as much of `description` as its size says. Local. */
GLEAN_CHECKED glean_status glean_input_describe(glean_input *input, glean_variable variable,
    glean_variable_description *description);

/* GLEAN_NOT_FOUND when nothing has this name. Local. */
GLEAN_CHECKED glean_status glean_input_find_variable(glean_input *input, const char *name,
    glean_variable *variable);

/* Reads a box of a variable, row-major; `data` has room for `elements`, which is what the box has. `start` and
 * `count` have as many members as the variable has dimensions; both NULL: all of the variable, or of a step of
 * it. `step` is ignored unless the variable is per step. `memory` may differ from the external type; a value
 * that it cannot hold gives GLEAN_OUT_OF_RANGE when the others have been read. Elements that no rank has put have
 * any value. GLEAN_NOT_FOUND for a step that is not there. Local. Blocks for storage. */
GLEAN_CHECKED glean_status glean_input_read(glean_input *input, glean_variable variable, uint64_t step,
    const uint64_t *start, const uint64_t *count, glean_type memory, void *data, size_t elements);

/* The same by all ranks of the session together: all name the same variable and step of the same path, each a box of its
 * own, which may be empty. On several nodes whose rows lie between each other in the file each part of it is read from the
 * storage once, in large aligned pieces, and handed to the ranks. What goes wrong on one rank is returned on all.
 * Collective. Blocks. */
GLEAN_CHECKED glean_status glean_input_read_all(glean_input *input, glean_variable variable, uint64_t step,
    const uint64_t *start, const uint64_t *count, glean_type memory, void *data, size_t elements);

/* Begins to fetch into the node's memory what reading such a box takes from the storage, in the background: the next
 * step, say, while the program works on this one, or the first variables of the next file. `start` and `count` as above.
 * A step that is not there needs nothing. Local, does not wait. */
GLEAN_CHECKED glean_status glean_input_prefetch(glean_input *input, glean_variable variable, uint64_t step,
    const uint64_t *start, const uint64_t *count);

/* Number of attributes of a variable, or with {-1} of the file. Local. */
GLEAN_CHECKED glean_status glean_input_attributes(glean_input *input, glean_variable variable, size_t *count);

/* Attribute number `index` of them, from 0, in the order of the file: fills as much of `description` as its size says.
 * GLEAN_NOT_FOUND when there are not as many. Local. */
GLEAN_CHECKED glean_status glean_input_describe_attribute(glean_input *input, glean_variable variable, size_t index,
    glean_attribute_description *description);

/* An attribute of the file. `count`: how many elements it has; they are read into `values` if there is `room` for
 * all. `values` NULL only with a room of 0. GLEAN_NOT_FOUND when there is none. Local. */
GLEAN_CHECKED glean_status glean_input_attribute(glean_input *input, const char *name, glean_type memory,
    void *values, size_t room, size_t *count);

/* An attribute of a variable. Otherwise as above. Local. */
GLEAN_CHECKED glean_status glean_input_variable_attribute(glean_input *input, glean_variable variable,
    const char *name, glean_type memory, void *values, size_t room, size_t *count);

/* Closes the file and gives the handle back. NULL is allowed. Local. */
GLEAN_API void glean_input_free(glean_input *input);

#endif
